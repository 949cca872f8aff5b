// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_delta, for all bytes, that it yields the requested number of values in
// non-empty pieces, or a fault; that offered pieces do not change; that it stops at the end of the
// page's bytes; and that it makes progress while the window has bytes and pieces are taken.
//
// The values themselves are not checked. as_prefix_sum, which is proved separately, is replaced by
// a stage that holds one piece, so that pieces back up within fewer cycles.

`default_nettype none

module as_parquet_delta_proof (
    input logic         clk_i,
    input logic         start_i,
    input logic [  4:0] count_i,
    input logic [  8:0] bytes_i,
    input logic         window_valid_i,
    input logic         ahead_ready_i,
    input logic [143:0] ahead_i,
    input logic         ready_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start, window_held_q = 1'b0, window_ready, move, idle, empty, valid;
  logic [4:0] owed_q = '0;
  logic [8:0] left_q = '0;
  logic [6:0] take;
  logic [7:0] ahead, fault;
  logic [511:0] data;
  logic [3:0] count;
  // A page has at least one value.
  assign start        = rst_n && start_i && !started_q && count_i != '0;
  assign window_ready = started_q && (window_valid_i || window_held_q);

  as_parquet_delta i_delta (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (1'b0),
      .start_i       (start),
      .count_i       ({27'd0, count_i}),
      .idle_o        (idle),
      .empty_o       (empty),
      .fault_o       (fault),
      .window_ready_i(window_ready),
      .window_i      ('0),
      .left_i        ({23'd0, left_q}),
      .take_o        (take),
      .move_o        (move),
      .ahead_o       (ahead),
      .ahead_ready_i,
      .ahead_i,
      .valid_o       (valid),
      .ready_i,
      .data_o        (data),
      .count_o       (count)
  );

  logic kept;
  as_stream_rules #(
      .Width(4)
  ) i_pieces (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i,
      .data_i (count),
      .kept_o (kept)
  );

  logic [4:0] waited_q = '0;
  logic [1:0] short_q = '0;
  always_ff @(posedge clk_i) begin
    window_held_q <= window_ready && !move;
    short_q       <= {short_q[0], window_ready && move && left_q < 9'(take)};
    if (start) begin
      started_q <= 1'b1;
      owed_q    <= count_i;
      left_q    <= bytes_i;
    end else begin
      if (valid && ready_i) owed_q <= owed_q - 5'(count);
      if (window_ready && move) left_q <= left_q < 9'(take) ? '0 : left_q - 9'(take);
    end
    waited_q <= !started_q || (idle && empty) || fault != '0 || move || (valid && ready_i) || !window_ready || !ready_i ? '0 : waited_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      if (fault == '0) begin
        if (valid) assert (count != '0 && count <= 4'd8 && 5'(count) <= owed_q);
        if (started_q && idle && empty) assert (owed_q == '0);
      end
      // Only the last group of a page may be longer than the bytes left; whether its values are
      // there is known a cycle later.
      assert (!short_q[1] || idle || fault != '0);
      assert (waited_q < 5'd7);
    end
  end

endmodule

`default_nettype wire
