// SPDX-License-Identifier: Apache-2.0
// Bench wrapper of as_parquet_delta: the decoder and the window that feeds it. Not part of a
// circuit.

`default_nettype none

module as_parquet_delta_bench #(
    parameter int unsigned Width = 64,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(512 / Width)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [ 5:0] offset_i,
    input  logic [31:0] length_i,
    input  logic [31:0] count_i,
    output logic        idle_o,
    output logic        empty_o,
    output logic [ 7:0] fault_o,
    output logic [31:0] left_o,

    input  logic         beat_valid_i,
    output logic         beat_ready_o,
    input  logic [511:0] beat_i,

    output logic         valid_o,
    input  logic         ready_i,
    output logic [511:0] data_o,
    output logic [CountBits-1:0] count_o
);

  logic window_idle, window_ready, move, ahead_ready;
  logic [511:0] window;
  logic [6:0] take;
  logic [7:0] ahead;
  logic [143:0] ahead_bytes;
  logic start_q;

  always_ff @(posedge clk_i) start_q <= start_i;

  as_stream_window #(
      .Bytes(64),
      .AheadBytes(18)
  ) i_window (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i,
      .offset_i,
      .length_i,
      .finish_i     (1'b0),
      .idle_o       (window_idle),
      .beat_valid_i,
      .beat_ready_o,
      .beat_i,
      .ready_o      (window_ready),
      .window_o     (window),
      .left_o,
      .take_i       (take),
      .move_i       (move),
      .ahead_i      (ahead),
      .ahead_ready_o(ahead_ready),
      .ahead_o      (ahead_bytes)
  );

  as_parquet_delta #(
      .Width(Width)
  ) i_delta (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i       (start_q),
      .count_i,
      .idle_o,
      .empty_o,
      .fault_o,
      .window_ready_i(window_ready),
      .window_i      (window),
      .left_i        (left_o),
      .take_o        (take),
      .move_o        (move),
      .ahead_o       (ahead),
      .ahead_ready_i (ahead_ready),
      .ahead_i       (ahead_bytes),
      .valid_o,
      .ready_i,
      .data_o,
      .count_o
  );

  logic unused;
  assign unused = window_idle;

endmodule

`default_nettype wire
