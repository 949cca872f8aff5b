// SPDX-License-Identifier: Apache-2.0
// Unaligned access to a message that arrives in aligned beats: the stream reader of the
// object-structure paper, Sect. 5.3.5, as wide as a beat instead of 4 bytes.
//
// After `start` the window shows the next Bytes bytes of the message, lane 0 first. Each cycle the
// user takes 0 to Bytes of them, with `take_i` while `ready_o` and `move_i` are high; the window
// advances by that number in the next cycle, at most to the end of the message. Bytes past the end
// are unspecified. `move_i` may come late in the cycle, `take_i` should not. `finish_i` gives up
// the rest: the remaining beats are discarded, and the window becomes `idle_o`, free for the next
// message.
//
// `ahead_o` shows bytes that are `ahead_i` further on, at most two windows, using the offered beat;
// `ahead_ready_o`: all of these bytes that the message has are here.
//
// Latency: the first beat of a message is visible two cycles after it was accepted, others one.
// Throughput: Bytes bytes per cycle. `beat_ready_o` depends on `take_i` within the cycle; put an
// as_fifo before it.
//
// Layer: stream.

`include "as_assertions.svh"

`default_nettype none

module as_stream_window #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned LengthBits = 32,
    parameter int unsigned AheadBytes = 1,
    localparam int unsigned OffsetBits = $clog2(Bytes),
    localparam int unsigned TakeBits = as_stream_pkg::count_bits(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,
    // Resets all state, for users that own the beats too.
    input logic clr_i = 1'b0,

    input  logic                  start_i,
    input  logic [OffsetBits-1:0] offset_i,
    input  logic [LengthBits-1:0] length_i,
    input  logic                  finish_i,
    output logic                  idle_o,

    input  logic               beat_valid_i,
    output logic               beat_ready_o,
    input  logic [Bytes*8-1:0] beat_i,

    output logic                  ready_o,
    output logic [   Bytes*8-1:0] window_o,
    output logic [LengthBits-1:0] left_o,
    input  logic [  TakeBits-1:0] take_i,
    input  logic                  move_i = 1'b1,

    input  logic [    TakeBits:0] ahead_i = '0,
    output logic                  ahead_ready_o,
    output logic [AheadBytes*8-1:0] ahead_o
);

  localparam int unsigned BeatCountBits = LengthBits - OffsetBits + 1;

  logic                     active_q;
  logic                     finish_q;
  logic                     first_valid_q;
  logic                     second_valid_q;
  logic [      Bytes*8-1:0] first_q;
  logic [      Bytes*8-1:0] second_q;
  logic [   OffsetBits-1:0] offset_q;
  logic [   LengthBits-1:0] left_q;
  logic [BeatCountBits-1:0] beats_left_q;
  // The same as beats_left_q == 0.
  logic                     all_here_q;

  logic [OffsetBits+1:0] sum;
  logic                  shift;
  // Beats enter at the back and move to the front from there, also the first of a message: the
  // front has a single source.
  logic                  pull;
  logic                  accept;
  logic [LengthBits:0]   span;

  assign idle_o   = !active_q;
  assign left_o   = left_q;
  // All that the message still has, or more than a window of it, is here and in place.
  assign ready_o  = active_q && !finish_q && (first_valid_q ? second_valid_q || all_here_q : all_here_q && !second_valid_q);

  as_funnel #(
      .Unit  (8),
      .In    (2 * Bytes),
      .Out   (Bytes),
      .AtBits(OffsetBits)
  ) i_window (
      .data_i({second_q, first_q}),
      .at_i  (offset_q),
      .data_o(window_o)
  );

  assign sum          = (OffsetBits + 2)'(offset_q) + (OffsetBits + 2)'(take_i);
  assign shift        = ready_o && move_i && sum >= (OffsetBits + 2)'(Bytes);
  assign pull         = second_valid_q && (!first_valid_q || shift);
  assign beat_ready_o = active_q && !all_here_q && (finish_q || !second_valid_q || pull);
  assign accept       = beat_valid_i && beat_ready_o;
  assign span         = (LengthBits + 1)'(length_i) + (LengthBits + 1)'(offset_i) + (LengthBits + 1)'(Bytes - 1);

  logic [TakeBits:0] ahead_at;
  assign ahead_at      = (TakeBits + 1)'(offset_q) + ahead_i;
  as_funnel #(
      .Unit  (8),
      .In    (3 * Bytes),
      .Out   (AheadBytes),
      .AtBits(TakeBits + 1)
  ) i_ahead (
      .data_i({beat_i, second_q, first_q}),
      .at_i  (ahead_at),
      .data_o(ahead_o)
  );
  assign ahead_ready_o = ready_o && (all_here_q || 32'(ahead_at) <= (beat_valid_i ? 3 : 2) * Bytes - AheadBytes);

  // A message ends in a full beat.
  logic unused;
  assign unused = ^span[OffsetBits-1:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q       <= 1'b0;
      finish_q       <= 1'b0;
      first_valid_q  <= 1'b0;
      second_valid_q <= 1'b0;
      offset_q       <= '0;
      left_q         <= '0;
      beats_left_q   <= '0;
      all_here_q     <= 1'b1;
    end else if (clr_i) begin
      active_q <= 1'b0;
    end else if (!active_q) begin
      if (start_i) begin
        active_q       <= 1'b1;
        finish_q       <= 1'b0;
        first_valid_q  <= 1'b0;
        second_valid_q <= 1'b0;
        offset_q       <= offset_i;
        left_q         <= length_i;
        // An empty message has no beats, wherever it would begin.
        beats_left_q   <= length_i == '0 ? '0 : span[LengthBits:OffsetBits];
        all_here_q     <= length_i == '0;
      end
    end else begin
      if (accept) begin
        beats_left_q <= beats_left_q - 1'b1;
        all_here_q   <= beats_left_q == BeatCountBits'(1);
      end
      if (finish_i) finish_q <= 1'b1;
      if (finish_q && all_here_q) active_q <= 1'b0;
      if (ready_o && move_i) begin
        offset_q <= sum[OffsetBits-1:0];
        left_q   <= left_q < LengthBits'(take_i) ? '0 : left_q - LengthBits'(take_i);
      end
      if (pull || shift) first_valid_q <= pull;
      if (accept || pull) second_valid_q <= accept;
    end
  end

  always_ff @(posedge clk_i) begin
    if (pull) first_q <= second_q;
    if (accept) second_q <= beat_i;
  end

  `AS_POWER_OF_TWO(bytes, Bytes)

endmodule

`default_nettype wire
