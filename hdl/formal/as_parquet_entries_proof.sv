// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_entries that steps of entries come out in order, none lost or invented,
// that each entry is the one loaded at its index, and that offered steps do not change; that it
// takes a word each cycle while words are missing, no more than the page has, and reports a cycle
// later if there were too few bytes; and that it makes progress.
//
// Words have two entries. Tracks one arbitrary entry, from the page on, and one arbitrary step of
// indices.

`default_nettype none

module as_parquet_entries_proof (
    input logic       clk_i,
    input logic       clear_i,
    input logic       begin_i,
    input logic [2:0] entries_i,
    input logic       window_ready_i,
    input logic [3:0] window_i,
    input logic [7:0] left_i,
    input logic       look_valid_i,
    input logic [3:0] look_i,
    input logic [1:0] look_count_i,
    input logic       ready_i,
    input logic [1:0] entry_i,
    input logic       pick_i
);

  localparam int unsigned Width = 256;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A dictionary of 0 to 4 entries is loaded once, then indices are looked up. Nothing is checked
  // after a fault.
  logic begun_q = 1'b0, loaded_q = 1'b0, bad_q = 1'b0;
  logic [2:0] entries_q = '0;
  logic start, load, done, bad, move;
  logic [6:0] take;
  assign start = rst_n && begin_i && !begun_q && entries_i <= 3'd4;
  assign load  = begun_q && !loaded_q && !bad_q;

  // Indices: up to two, within the dictionary.
  logic look_valid, look_ready, look_there, empty, valid;
  logic [5:0] look;
  logic [1:0] look_count, count;
  logic [2*Width-1:0] data;
  as_stream_source #(
      .Width(6)
  ) i_look (
      .clk_i,
      .rst_ni (loaded_q && !bad_q && look_there && !clear_i),
      .valid_i(look_valid_i),
      .data_i ({look_count_i, look_i}),
      .ready_i(look_ready),
      .valid_o(look_valid),
      .data_o (look)
  );
  assign look_count = look[5:4];
  assign look_there = look_count != '0 && look_count != 2'd3 && {1'b0, look[1:0]} < entries_q && (look_count == 2'd1 || {1'b0, look[3:2]} < entries_q);

  as_parquet_entries #(
      .Width(Width),
      .Entries(4),
      .Look(2)
  ) i_entries (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (clear_i),
      .begin_i       (start),
      .load_i        (load),
      .entries_i     ({29'd0, entries_q}),
      .done_o        (done),
      .bad_o         (bad),
      .window_ready_i,
      .window_i      ({254'd0, window_i[3:2], 254'd0, window_i[1:0]}),
      .left_i        ({24'd0, left_i}),
      .take_o        (take),
      .move_o        (move),
      .look_valid_i  (look_valid),
      .look_ready_o  (look_ready),
      .look_i        (look[3:0]),
      .look_count_i  ({2'd0, look_count}),
      .empty_o       (empty),
      .valid_o       (valid),
      .ready_i,
      .data_o        (data),
      .count_o       (count)
  );

  logic kept;
  as_stream_rules #(
      .Width(2 * Width + 2)
  ) i_steps (
      .clk_i,
      .rst_ni (rst_n && !clear_i),
      .valid_i(valid),
      .ready_i,
      .data_i ({count, data}),
      .kept_o (kept)
  );

  // The tracked entry: its index and its value.
  logic [1:0] entry_q, number_q;
  logic [2:0] words_q = '0;
  logic short_q = 1'b0;
  // Steps inside; how many are before the tracked one, and the position of the tracked entry in it.
  logic [1:0] inside_q = '0, before_q = '0, waited_q = '0, count_q;
  logic [1:0] at_q;
  logic follow_q = 1'b0;
  logic in, out;
  logic [7:0] need;
  assign in   = look_valid && look_ready;
  assign out  = valid && ready_i;
  assign need = entries_q - {words_q[1:0], 1'b0} > 3'd1 ? 8'd64 : 8'd32;

  always_ff @(posedge clk_i) begin
    if (start) begin
      begun_q   <= 1'b1;
      entries_q <= entries_i;
      entry_q   <= entry_i;
    end
    if (load && done) loaded_q <= 1'b1;
    if (bad) bad_q <= 1'b1;
    short_q <= load && move && left_i < need;
    if (load && move) begin
      words_q <= words_q + 3'd1;
      if (entry_q[1] == words_q[0]) number_q <= entry_q[0] ? window_i[3:2] : window_i[1:0];
    end
    inside_q <= inside_q + 2'(in) - 2'(out);
    waited_q <= valid || inside_q == '0 ? '0 : waited_q + 2'd1;
    if (in && pick_i && !follow_q) begin
      follow_q <= 1'b1;
      before_q <= inside_q - 2'(out);
      count_q  <= look_count;
      at_q     <= {look_count == 2'd2 && look[3:2] == entry_q, look[1:0] == entry_q};
    end else if (follow_q && out) begin
      before_q <= before_q - 2'd1;
      if (before_q == '0) follow_q <= 1'b0;
    end
    if (clear_i) begin
      inside_q <= '0;
      waited_q <= '0;
      follow_q <= 1'b0;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      // Loading.
      assert (move == (load && window_ready_i && !done) && take == 7'd64);
      if (begun_q) assert (done == ({words_q, 1'b0} >= {1'b0, entries_q}) && words_q <= 3'd2);
      if (begun_q) assert (bad == short_q);
      // Lookups.
      assert (empty == (inside_q == '0) && (!valid || inside_q != '0));
      if (follow_q && valid && before_q == '0) begin
        assert (count == count_q);
        if (at_q[0]) assert (data[0+:2] == number_q);
        if (at_q[1]) assert (data[Width+:2] == number_q);
      end
      // A step comes out two cycles after it came in, and while steps are taken none waits.
      assert (waited_q < 2'd2 && (!ready_i || look_ready));
    end
  end

endmodule

`default_nettype wire
