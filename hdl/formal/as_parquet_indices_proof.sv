// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_indices that it yields the requested number of indices in non-empty steps,
// or a fault; that it stops with a fault one cycle after it took bytes that are not there; and that
// it makes progress while the window has bytes and steps advance.

`default_nettype none

module as_parquet_indices_proof (
    input logic        clk_i,
    input logic        start_i,
    input logic [ 4:0] count_i,
    input logic [ 5:0] bytes_i,
    input logic        window_valid_i,
    input logic [71:0] window_i,
    input logic        move_i
);

  localparam int unsigned Bits = 16;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start;
  logic [4:0] owed_q = '0;
  logic [6:0] left_q = '0;
  // A page has at least one index.
  assign start = rst_n && start_i && !started_q && count_i != '0;

  logic window_ready, move, idle, empty, valid;
  logic [71:0] window;
  logic [6:0] take;
  logic [7:0] fault;
  logic [8*Bits-1:0] data;
  logic [3:0] count;
  as_stream_source #(
      .Width(72)
  ) i_window (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(window_valid_i),
      .data_i (window_i),
      .ready_i(move && take != '0),
      .valid_o(window_ready),
      .data_o (window)
  );

  as_parquet_indices #(
      .Look(8),
      .Bits(Bits)
  ) i_indices (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (1'b0),
      .start_i       (start),
      .count_i       ({27'd0, count_i}),
      .idle_o        (idle),
      .empty_o       (empty),
      .fault_o       (fault),
      .window_ready_i(window_ready),
      .window_i      ({56'd0, window}),
      .left_i        ({25'd0, left_q}),
      .take_o        (take),
      .move_o        (move),
      .move_i,
      .valid_o       (valid),
      .data_o        (data),
      .count_o       (count)
  );

  // An offered step waits for the next advance.
  logic kept;
  as_stream_rules #(
      .Width(8 * Bits + 4)
  ) i_steps (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(move_i),
      .data_i ({count, data}),
      .kept_o (kept)
  );

  // Cycles in which the window had bytes and steps advanced, since the last progress; other cycles
  // in between do not reset the count.
  logic [3:0] waited_q = '0;
  always_ff @(posedge clk_i) begin
    if (start) begin
      started_q <= 1'b1;
      owed_q    <= count_i;
      left_q    <= {1'b0, bytes_i};
    end else begin
      if (valid && move_i) owed_q <= owed_q - 5'(count);
      if (window_ready && move) left_q <= left_q < take ? '0 : left_q - take;
    end
    if (start || !started_q || (idle && empty) || (window_ready && move) || (valid && move_i)) waited_q <= '0;
    else if (window_ready && move_i) waited_q <= waited_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      if (fault == '0) begin
        if (valid) assert (count != '0 && count <= 4'd8 && 5'(count) <= owed_q);
        if (started_q && idle && empty) assert (owed_q == '0);
      end
      // It looks at the head of a run before taking it, and a run of one index takes five moves: up
      // to four cycles pass without an index.
      assert (waited_q < 4'd5);
    end
  end

endmodule

`default_nettype wire
