// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_snappy, for all bytes, that offered beats stay (unchanged, by the proof of
// as_arrow_pack), are never more than the page has, and are the complete page if it ends without a
// fault; that taking more bytes than there are ends in a fault; and that it takes or makes bytes
// every few cycles while the window has bytes and beats are taken.

`default_nettype none

module as_parquet_snappy_proof (
    input logic         clk_i,
    input logic         start_i,
    input logic [  7:0] bytes_i,
    input logic [  7:0] stored_i,
    input logic [  7:0] left_i,
    input logic         window_valid_i,
    input logic [511:0] window_i,
    input logic         ready_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start;
  // Levels are part of the page, before and after decompression.
  assign start = rst_n && start_i && !started_q && stored_i <= left_i && stored_i <= bytes_i;

  logic window_ready, idle, valid, move;
  logic [511:0] window, data;
  logic [6:0] take;
  logic [7:0] fault;
  as_stream_source #(
      .Width(512)
  ) i_window (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(window_valid_i),
      .data_i (window_i),
      .ready_i(move && take != '0),
      .valid_o(window_ready),
      .data_o (window)
  );

  as_parquet_snappy #(
      .HistoryBytes(256)
  ) i_snappy (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (1'b0),
      .start_i       (start),
      .bytes_i       ({24'd0, bytes_i}),
      .stored_i      ({24'd0, stored_i}),
      .left_i        ({24'd0, left_i}),
      .idle_o        (idle),
      .fault_o       (fault),
      .window_ready_i(window_ready),
      .window_i      (window),
      .take_o        (take),
      .move_o        (move),
      .valid_o       (valid),
      .ready_i,
      .data_o        (data)
  );

  logic kept;
  as_stream_rules #(
      .Width(1)
  ) i_beats (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i,
      .data_i (1'b0),
      .kept_o (kept)
  );

  // Bytes left in the window, beats still to come, cycles without progress, and cycles since it is
  // idle.
  logic [7:0] left_q = '0;
  logic over_q = 1'b0;
  logic [7:0] took;
  // A window reaches at most to the end of its message.
  assign took = !move ? '0 : 8'(take) < left_q ? 8'(take) : left_q;
  logic [2:0] owed_q = '0;
  logic [2:0] waited_q = '0;
  logic [2:0] rested_q = '0;
  logic [7:0] at_q = '0;
  always_ff @(posedge clk_i) begin
    if (start) begin
      started_q <= 1'b1;
      left_q    <= left_i;
      owed_q    <= 3'((9'(bytes_i) + 9'd63) >> 6);
    end else begin
      left_q <= left_q - took;
      over_q <= over_q || (move && 8'(take) > left_q);
      if (valid && ready_i) owed_q <= owed_q - 3'd1;
    end
    at_q     <= i_snappy.at_q;
    waited_q <= !started_q || idle || (move && take != '0) || i_snappy.at_q != at_q || !window_ready || !ready_i ? '0 : waited_q + 1'b1;
    rested_q <= !started_q || !idle || valid ? '0 : rested_q == '1 ? '1 : rested_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      assert (!move || take == '0 || window_ready);
      if (valid) assert (started_q && owed_q != '0);
      // Two cycles of the packer after the last byte.
      if (rested_q > 3'd3 && fault == '0) assert (owed_q == '0 && left_q == '0 && !over_q);
      // A step of a copy waits one cycle for the previous step; the gap between elements and the
      // way through the packer are two cycles each.
      assert (waited_q < 3'd6);
    end
  end

endmodule

`default_nettype wire
