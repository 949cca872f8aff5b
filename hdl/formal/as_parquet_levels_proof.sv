// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_levels that offered tokens do not change unless a fault withdraws them, are
// never empty, and cover all levels when it is idle again without a fault; that taking more bytes
// than there are is reported in the next cycle; and that it makes progress while the window has
// bytes and tokens are taken.

`default_nettype none

module as_parquet_levels_proof (
    input logic        clk_i,
    input logic        start_i,
    input logic [ 8:0] count_i,
    input logic [ 5:0] bytes_i,
    input logic        window_valid_i,
    input logic [63:0] window_i,
    input logic        ready_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start;
  logic [8:0] count_q = '0;
  logic [6:0] left_q = '0;
  assign start = rst_n && start_i && !started_q;

  logic window_ready, move, idle, valid;
  logic [63:0] window;
  logic [6:0] take;
  logic [7:0] fault;
  logic [31:0] ones;
  logic [96:0] token;
  as_stream_source #(
      .Width(64)
  ) i_window (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(window_valid_i),
      .data_i (window_i),
      .ready_i(move),
      .valid_o(window_ready),
      .data_o (window)
  );

  as_parquet_levels i_levels (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (1'b0),
      .start_i       (start),
      .count_i       ({23'd0, count_i}),
      .bytes_i       ({26'd0, bytes_i}),
      .idle_o        (idle),
      .fault_o       (fault),
      .valid_count_o (ones),
      .window_ready_i(window_ready),
      .window_i      (window),
      .take_o        (take),
      .move_o        (move),
      .token_valid_o (valid),
      .token_ready_i (ready_i),
      .token_o       (token)
  );

  logic kept;
  as_stream_rules #(
      .Width(97)
  ) i_token (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(ready_i),
      .data_i (token),
      .kept_o (kept)
  );

  logic [8:0] seen_q = '0;
  logic [2:0] waited_q = '0;
  logic beyond_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (start) begin
      started_q <= 1'b1;
      count_q   <= count_i;
      left_q    <= {1'b0, bytes_i};
    end
    if (rst_n && valid && ready_i) seen_q <= seen_q + token[72:64];
    if (rst_n && move) left_q <= left_q - take;
    beyond_q <= rst_n && move && take > left_q;
    waited_q <= idle || move || (valid && ready_i) || !window_ready || !ready_i ? '0 : waited_q == '1 ? '1 : waited_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept || fault != '0);
      if (valid) assert (token[95:64] != '0 && token[95:73] == '0 && token[72:64] <= count_q - seen_q);
      // A token of a packed run has at most 64 levels.
      if (valid && !token[96]) assert (token[72:64] <= 9'd64);
      if (beyond_q) assert (fault != '0);
      if (started_q && idle && fault == '0) assert (seen_q == count_q && left_q == '0 && ones <= 32'(count_q));
      assert (waited_q < 3'd4);
    end
  end

endmodule

`default_nettype wire
