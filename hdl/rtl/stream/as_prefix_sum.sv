// SPDX-License-Identifier: Apache-2.0
// Running sums over a stream of up to Lanes numbers per transfer: offsets from lengths, values from
// differences.
//
// Lane i of the output is the sum of all numbers since the last transfer with `clear_i`, inclusive,
// up to and including lane i of this one. Sums wrap at Width bits. Lanes from `count_i` on are not
// summed and are unspecified on output.
//
// The sum over lanes is a Kogge-Stone network with a register after every level; only the last
// addition, to the base, is in a loop. No combinational path is longer than one addition. Latency:
// clog2(Lanes) + 2. Throughput: one transfer per cycle.
//
// Layer: stream.

`include "as_assertions.svh"

`default_nettype none

module as_prefix_sum #(
    parameter  int unsigned Width     = 32,
    parameter  int unsigned Lanes     = 8,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [Lanes*Width-1:0] data_i,
    input  logic [  CountBits-1:0] count_i,
    input  logic                   clear_i,
    input  logic                   last_i,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o,
    output logic                   last_o,
    // The pipeline is empty.
    output logic                   empty_o
);

  localparam int unsigned Levels = $clog2(Lanes);

  // Stage 0 holds the masked numbers, stage k the sums over 2^k lanes.
  logic [      Levels:0] valid_q;
  logic [Lanes*Width-1:0] data_q[Levels+1];
  logic [  CountBits-1:0] count_q[Levels+1];
  logic [      Levels:0] clear_q;
  logic [      Levels:0] last_q;
  logic                   out_valid_q;
  logic [Lanes*Width-1:0] out_q;
  logic [  CountBits-1:0] out_count_q;
  logic                   out_last_q;
  logic [      Width-1:0] base_q;
  logic [      Width-1:0] base;

  // A stage advances when it is empty or the next one advances: when a later stage is empty, or the
  // end is taken.
  logic [Levels+1:0] move;
  assign move[Levels+1] = !out_valid_q || ready_i;
  for (genvar k = 0; k <= Levels; k++) begin : gen_move
    assign move[k] = !(&valid_q[Levels:k]) || !out_valid_q || ready_i;
  end

  assign ready_o = move[0];
  assign valid_o = out_valid_q;
  assign data_o  = out_q;
  assign count_o = out_count_q;
  assign last_o  = out_last_q;
  assign empty_o = valid_q == '0 && !out_valid_q;
  assign base    = clear_q[Levels] ? '0 : base_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q     <= '0;
      out_valid_q <= 1'b0;
    end else if (clr_i) begin
      valid_q     <= '0;
      out_valid_q <= 1'b0;
    end else begin
      if (move[0]) valid_q[0] <= valid_i;
      for (int unsigned k = 1; k <= Levels; k++) begin
        if (move[k]) valid_q[k] <= valid_q[k-1];
      end
      if (move[Levels+1]) out_valid_q <= valid_q[Levels];
    end
  end

  always_ff @(posedge clk_i) begin
    if (move[0]) begin
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        data_q[0][lane*Width+:Width] <= CountBits'(lane) < count_i ? data_i[lane*Width+:Width] : '0;
      end
      count_q[0] <= count_i;
      clear_q[0] <= clear_i;
      last_q[0]  <= last_i;
    end
    for (int unsigned k = 1; k <= Levels; k++) begin
      if (move[k]) begin
        for (int unsigned lane = 0; lane < Lanes; lane++) begin
          if (lane >= 32'd1 << (k - 1)) begin
            data_q[k][lane*Width+:Width] <= data_q[k-1][lane*Width+:Width] +
                                            data_q[k-1][(lane-(32'd1<<(k-1)))*Width+:Width];
          end else begin
            data_q[k][lane*Width+:Width] <= data_q[k-1][lane*Width+:Width];
          end
        end
        count_q[k] <= count_q[k-1];
        clear_q[k] <= clear_q[k-1];
        last_q[k]  <= last_q[k-1];
      end
    end
    if (move[Levels+1] && valid_q[Levels]) begin
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        out_q[lane*Width+:Width] <= base + data_q[Levels][lane*Width+:Width];
      end
      base_q      <= base + data_q[Levels][(Lanes-1)*Width+:Width];
      out_count_q <= count_q[Levels];
      out_last_q  <= last_q[Levels];
    end
  end

  `AS_STREAM_STABLE(output, valid_o, ready_i, {last_o, count_o, data_o}, clr_i)

endmodule

`default_nettype wire
