// SPDX-License-Identifier: Apache-2.0
// Unpacks Lanes numbers of 0 to Width bits each, packed without gaps, lowest bit first, to Lanes
// numbers of Width bits.
//
// The upper half of the numbers is moved to its place first, then the upper quarter of each half,
// and so on: clog2(Lanes) shifts by multiples of the width, with a register after each, instead of
// a choice of Width places for every bit. `user_i` travels along.
//
// The pipeline advances while `move_i` is high. Latency: clog2(Lanes) + 1 moves. Throughput: Lanes
// numbers per move.
//
// Layer: parquet.

`default_nettype none

module as_bit_unpack #(
    parameter  int unsigned Width     = 64,
    parameter  int unsigned Lanes     = 8,
    parameter  int unsigned UserBits  = 1,
    localparam int unsigned ShiftBits = as_stream_pkg::count_bits(Width)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic move_i,

    input  logic                   valid_i,
    input  logic [Lanes*Width-1:0] data_i,
    input  logic [  ShiftBits-1:0] width_i,
    input  logic [   UserBits-1:0] user_i,

    output logic                   valid_o,
    output logic [Lanes*Width-1:0] data_o,
    output logic [   UserBits-1:0] user_o,
    output logic                   empty_o
);

  localparam int unsigned Levels = $clog2(Lanes);

  // Before level k the data is in 2^k groups of Lanes / 2^k numbers.
  logic [       Levels:0] valid_q;
  logic [Lanes*Width-1:0] data_q [Levels+1];
  logic [  ShiftBits-1:0] width_q[Levels];
  logic [   UserBits-1:0] user_q [Levels+1];
  logic [Lanes*Width-1:0] spread [Levels+1];
  // Of the last level.
  logic [      Width-1:0] mask_q;

  assign spread[0] = data_i;
  for (genvar k = 1; k <= Levels; k++) begin : gen_level
    localparam int unsigned Group = Lanes >> (k - 1);
    localparam int unsigned Half = Group / 2;
    for (genvar g = 0; g < Lanes / Group; g++) begin : gen_group
      logic [Group*Width-1:0] group;
      assign group = data_q[k-1][g*Group*Width+:Group*Width];
      // The lower numbers stay; their upper bits are masked at the end.
      assign spread[k][g*Group*Width+:Half*Width] = group[Half*Width-1:0];
      as_funnel #(
          .Unit  (Half),
          .In    (2 * Width),
          .Out   (Width),
          .AtBits(ShiftBits)
      ) i_funnel (
          .data_i(group),
          .at_i  (width_q[k-1]),
          .data_o(spread[k][(g*Group+Half)*Width+:Half*Width])
      );
    end
  end

  always_comb begin
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      data_o[lane*Width+:Width] = data_q[Levels][lane*Width+:Width] & mask_q;
    end
  end

  assign valid_o = valid_q[Levels];
  assign user_o  = user_q[Levels];
  assign empty_o = valid_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clr_i) valid_q <= '0;
    else if (move_i) valid_q <= (Levels + 1)'({valid_q, valid_i});
  end

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      data_q[0]  <= data_i;
      width_q[0] <= width_i;
      user_q[0]  <= user_i;
      for (int unsigned k = 1; k <= Levels; k++) begin
        data_q[k] <= spread[k];
        user_q[k] <= user_q[k-1];
      end
      for (int unsigned k = 1; k < Levels; k++) width_q[k] <= width_q[k-1];
      for (int unsigned b = 0; b < Width; b++) mask_q[b] <= ShiftBits'(b) < width_q[Levels-1];
    end
  end

  logic unused;
  assign unused = ^spread[0];

endmodule

`default_nettype wire
