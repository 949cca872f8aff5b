// SPDX-License-Identifier: Apache-2.0
// Packs pieces for many buffers into full beats of each: one packer for all columns of a kind.
//
// A piece is up to PieceGranules granules for one buffer. The partial beat of each buffer waits in
// a RAM with one row per buffer, so that another column costs a row and no logic. `flush_i` sends
// out what is left, padded with zeros, and the padding counts as granules; no piece may come with
// it; `clr_i` resets all state. With Lead, each buffer begins with a granule of zeros: the first
// offset.
//
// Latency: 1 cycle. Throughput: one piece per cycle. `ready_o` depends on `ready_i` within the
// cycle.
//
// Layer: json.

`include "as_assertions.svh"

`default_nettype none

module as_json_pack #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned GranuleBits = 8,
    parameter int unsigned PieceGranules = 16,
    parameter int unsigned Buffers = 1,
    parameter bit Lead = 1'b0,
    localparam int unsigned BeatBits = Bytes * 8,
    localparam int unsigned Slots = BeatBits / GranuleBits,
    localparam int unsigned FillBits = $clog2(Slots),
    localparam int unsigned BufferBits = as_stream_pkg::index_bits(Buffers)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                                 valid_i,
    output logic                                 ready_o,
    input  logic [                          7:0] buffer_i,
    // Zero after the counted granules.
    input  logic [PieceGranules*GranuleBits-1:0] data_i,
    input  logic [                          7:0] count_i,
    // Level: high until idle_o.
    input  logic                                 flush_i,
    output logic                                 idle_o,

    output logic                valid_o,
    input  logic                ready_i,
    output logic [         7:0] buffer_o,
    output logic [        31:0] beat_o,
    output logic [BeatBits-1:0] data_o
);

  logic [BeatBits-1:0] part[Buffers];
  logic [FillBits-1:0] fill[Buffers];
  logic [        31:0] beats[Buffers];
  logic [ Buffers-1:0] touched_q;
  logic [BufferBits:0] flush_q;
  logic                valid_q;

  logic [BufferBits-1:0] buffer;
  logic [BeatBits-1:0] part_now;
  logic [FillBits-1:0] fill_now;
  logic [31:0] beats_now;
  logic [BeatBits*2-1:0] placed;
  logic [FillBits+1:0] sum;
  logic step, flushing, take, emit, full;

  // `valid_i` arrives late in the cycle: only `flush_i` selects whose turn it is.
  assign flushing  = flush_i && flush_q != (BufferBits + 1)'(Buffers);
  assign buffer    = flush_i ? flush_q[BufferBits-1:0] : BufferBits'(buffer_i);
  assign part_now  = touched_q[buffer] ? part[buffer] : '0;
  assign fill_now  = touched_q[buffer] ? fill[buffer] : FillBits'(Lead);
  assign beats_now = touched_q[buffer] ? beats[buffer] : '0;

  assign step    = !valid_q || ready_i;
  assign ready_o = step;
  assign take    = valid_i && step;
  assign sum     = (FillBits + 2)'(fill_now) + (FillBits + 2)'(count_i);
  assign placed  = (BeatBits * 2)'(data_i) << (32'(fill_now) * GranuleBits) | (BeatBits * 2)'(part_now);
  assign full    = sum >= (FillBits + 2)'(Slots);
  assign emit    = take ? full : flushing && touched_q[buffer] && fill_now != '0;
  assign idle_o  = !valid_q && flush_q == (BufferBits + 1)'(Buffers);
  assign valid_o = valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      touched_q <= '0;
      valid_q   <= 1'b0;
      flush_q   <= '0;
    end else if (clr_i) begin
      touched_q <= '0;
      valid_q   <= 1'b0;
      flush_q   <= '0;
    end else begin
      if (step) valid_q <= emit;
      if (take) touched_q[buffer] <= 1'b1;
      if (step && flushing) flush_q <= flush_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      part[buffer]  <= full ? placed[BeatBits*2-1:BeatBits] : placed[BeatBits-1:0];
      fill[buffer]  <= FillBits'(sum);
      beats[buffer] <= beats_now + 32'(full);
    end
    if (step) begin
      data_o   <= flush_i ? part_now : placed[BeatBits-1:0];
      buffer_o <= 8'(buffer);
      beat_o   <= beats_now;
    end
  end

  `AS_STREAM_STABLE(output, valid_o, ready_i, {buffer_o, beat_o, data_o}, clr_i)

endmodule

`default_nettype wire
