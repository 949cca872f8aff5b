// SPDX-License-Identifier: Apache-2.0
// Packs pieces of a few granules each into full beats, without gaps, as a memory writer needs them.
//
// A piece brings `count_i` granules of GranuleBytes, from lane 0; lanes beyond are zero. `skip_i`
// granules of zeros come before it; both together are at most a beat. `last_i` closes the sequence:
// the rest goes out as a beat whose strobes mark its bytes.
//
// Latency: 1 cycle. Throughput: one piece per cycle (a last piece that overflows takes two).
// `ready_o` depends on `ready_i` within the cycle.
//
// Layer: stream.

`include "as_assertions.svh"

`default_nettype none

module as_stream_packer #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned GranuleBytes = 4,
    parameter int unsigned SkipBits = 1,
    localparam int unsigned Slots = Bytes / GranuleBytes,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(2 * Slots)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [  Bytes*8-1:0] data_i,
    input  logic [CountBits-1:0] count_i,
    input  logic [ SkipBits-1:0] skip_i,
    input  logic                 last_i,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [Bytes*8-1:0] data_o,
    output logic [  Bytes-1:0] strobe_o
);

  if (Slots == 1) begin : gen_whole
    // Every piece is a beat.
    logic               valid_q;
    logic [Bytes*8-1:0] data_q;
    logic               unused;

    assign unused      = ^{last_i, skip_i};
    assign ready_o     = !valid_q || ready_i;
    assign valid_o     = valid_q;
    assign data_o      = data_q;
    assign strobe_o    = '1;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else if (clr_i) valid_q <= 1'b0;
      else if (ready_o) valid_q <= valid_i && count_i != '0;
    end

    always_ff @(posedge clk_i) begin
      if (ready_o) data_q <= data_i;
    end
  end else begin : gen_packed
    logic [  Bytes*8-1:0] hold_q;
    logic [  CountBits-1:0] fill_q;
    logic                 flush_q;
    logic                 valid_q;
    logic [  Bytes*8-1:0] data_q;
    logic [    Bytes-1:0] strobe_q;

    logic                 step;
    logic                 take;
    logic                 full;
    logic                 emit;
    logic [  CountBits-1:0] sum;
    logic [Bytes*2*8-1:0] placed;

    assign step    = !valid_q || ready_i;
    assign ready_o = step && !flush_q;
    assign take    = valid_i && ready_o;

    assign sum    = fill_q + (take ? count_i + CountBits'(skip_i) : '0);
    assign placed = {{Bytes * 8{1'b0}}, hold_q} |
                    (take ? {{Bytes * 8{1'b0}}, data_i} << ((32'(fill_q) + 32'(skip_i)) * (GranuleBytes * 8)) : '0);
    assign full   = sum >= CountBits'(Slots);
    assign emit   = full || ((flush_q || (take && last_i)) && sum != '0);

    assign valid_o  = valid_q;
    assign data_o   = data_q;
    assign strobe_o = strobe_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        fill_q  <= '0;
        flush_q <= 1'b0;
        valid_q <= 1'b0;
        hold_q  <= '0;
      end else if (clr_i) begin
        fill_q  <= '0;
        flush_q <= 1'b0;
        valid_q <= 1'b0;
        hold_q  <= '0;
      end else if (step) begin
        valid_q <= emit;
        hold_q  <= full ? placed[Bytes*2*8-1:Bytes*8] : emit ? '0 : placed[Bytes*8-1:0];
        fill_q  <= full ? sum - CountBits'(Slots) : emit ? '0 : sum;
        flush_q <= take && last_i && full && sum != CountBits'(Slots);
      end
    end

    always_ff @(posedge clk_i) begin
      if (step) begin
        data_q <= placed[Bytes*8-1:0];
        for (int unsigned slot = 0; slot < Slots; slot++) begin
          strobe_q[slot*GranuleBytes+:GranuleBytes] <= {GranuleBytes{CountBits'(slot) < sum}};
        end
      end
    end
  end

  `AS_STREAM_STABLE(output, valid_o, ready_i, {strobe_o, data_o}, clr_i)

endmodule

`default_nettype wire
