// SPDX-License-Identifier: Apache-2.0
// Writes Arrow's 32-bit offsets from lengths, up to Lanes per cycle: the leading zero, then the
// running sums.
//
// `overflow_o` is high, until `clr_i`, once a sum exceeds 31 bits; later offsets are invalid.
// Lengths are not negative and below 2^31. `last_i` ends the buffer and may come with no length.
// The next message begins with its own zero.
//
// Latency: clog2(Lanes) + 4 cycles. Throughput: one piece per cycle, plus one cycle for the leading
// zero.
//
// Layer: arrow.

`include "as_assertions.svh"

`default_nettype none

module as_arrow_offsets #(
    parameter  int unsigned Lanes     = 8,
    parameter  int unsigned Bytes     = 64,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                 valid_i,
    output logic                 ready_o,
    input  logic [ Lanes*32-1:0] length_i,
    input  logic [CountBits-1:0] count_i,
    input  logic                 last_i,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [Bytes*8-1:0] data_o,
    output logic [  Bytes-1:0] strobe_o,
    output logic               last_o,
    output logic               overflow_o
);

  // Lanes of lengths below 2^31 over one sum below 2^31 stay below 2^(32 + clog2(Lanes)).
  localparam int unsigned Width = 33 + $clog2(Lanes);

  logic                   begun_q;
  logic                   overflow_q;
  logic                   sum_in_valid;
  logic                   sum_in_ready;
  logic [Lanes*Width-1:0] sum_in;
  logic                   sum_valid;
  logic                   sum_ready;
  logic [Lanes*Width-1:0] sum;
  logic [  CountBits-1:0] sum_count;
  logic                   sum_last;
  logic [   Lanes*32-1:0] offset;
  logic                   over;
  logic                   sum_empty;

  assign sum_in_valid = !begun_q || valid_i;
  assign ready_o      = begun_q && sum_in_ready;

  always_comb begin
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      sum_in[lane*Width+:Width] = begun_q ? Width'(length_i[lane*32+:32]) : '0;
    end
  end

  as_prefix_sum #(
      .Width(Width),
      .Lanes(Lanes)
  ) i_sum (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(sum_in_valid),
      .ready_o(sum_in_ready),
      .data_i (sum_in),
      .count_i(begun_q ? count_i : CountBits'(1)),
      .clear_i(!begun_q),
      .last_i (begun_q && last_i),
      .valid_o(sum_valid),
      .ready_i(sum_ready),
      .data_o (sum),
      .count_o(sum_count),
      .last_o (sum_last),
      .empty_o(sum_empty)
  );

  always_comb begin
    over = 1'b0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      offset[lane*32+:32] = sum[lane*Width+:32];
      if (CountBits'(lane) < sum_count && sum[lane*Width+31+:Width-31] != '0) over = 1'b1;
    end
  end

  assign overflow_o = overflow_q;

  logic unused;
  assign unused = sum_empty;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q    <= 1'b0;
      overflow_q <= 1'b0;
    end else if (clr_i) begin
      begun_q    <= 1'b0;
      overflow_q <= 1'b0;
    end else begin
      if (!begun_q) begun_q <= sum_in_ready;
      else if (valid_i && sum_in_ready && last_i) begun_q <= 1'b0;
      if (sum_valid && over) overflow_q <= 1'b1;
    end
  end

  as_arrow_values #(
      .ElementBits(32),
      .Lanes(Lanes),
      .Bytes(Bytes)
  ) i_values (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(sum_valid),
      .ready_o(sum_ready),
      .data_i (offset),
      .count_i(sum_count),
      .last_i (sum_last),
      .valid_o,
      .ready_i,
      .data_o,
      .strobe_o,
      .last_o
  );

  `AS_STREAM_STABLE(output, valid_o, ready_i, {last_o, strobe_o, data_o}, clr_i)

endmodule

`default_nettype wire
