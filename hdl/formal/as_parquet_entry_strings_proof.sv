// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_entry_strings that one length comes out per index, in order, none lost or
// invented, the one that was loaded, followed by that number of bytes; that offered lengths and
// bytes do not change; that it takes exactly the requested entries from the page, or reports them
// as bad; and that it makes progress. The values of the bytes are not checked.
//
// Tracks one arbitrary entry, from the page on, and one arbitrary index.

`default_nettype none

module as_parquet_entry_strings_proof (
    input logic       clk_i,
    input logic       begin_i,
    input logic [1:0] entries_i,
    input logic [8:0] bytes_i,
    input logic       window_valid_i,
    input logic [4:0] length_i,
    input logic       look_valid_i,
    input logic [1:0] look_i,
    input logic [1:0] look_count_i,
    input logic       ready_i,
    input logic       bytes_ready_i,
    input logic       entry_i,
    input logic       pick_i,
    input logic       lane_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A dictionary of 0 to 2 entries is loaded once, then indices are looked up. Nothing is checked
  // after a fault.
  logic begun_q = 1'b0, loaded_q = 1'b0, bad_q = 1'b0;
  logic [1:0] entries_q = '0;
  logic [8:0] left_q = '0;
  logic start, load, done, bad, window_ready, move;
  logic [6:0] take;
  // Lengths around those that fill a window or a line: 0, 1, 60, 61, 64, 65, 124, 125, the same
  // plus 128, or far too large.
  logic [8:0] length;
  assign start = rst_n && begin_i && !begun_q && entries_i != 2'd3;
  assign load  = begun_q && !loaded_q && !bad_q;
  as_stream_source #(
      .Width(9)
  ) i_window (
      .clk_i,
      .rst_ni (load),
      .valid_i(window_valid_i),
      .data_i ({length_i[4:2], {4{length_i[1]}}, 1'b0, length_i[0]}),
      .ready_i(move || !load),
      .valid_o(window_ready),
      .data_o (length)
  );

  // Indices: up to two, within the dictionary.
  logic look_valid, look_ready, look_there, empty, valid, bytes_valid;
  logic [3:0] look;
  logic [1:0] look_count;
  logic [31:0] length_out;
  logic [6:0] bytes_count;
  logic [511:0] bytes;
  as_stream_source #(
      .Width(4)
  ) i_look (
      .clk_i,
      .rst_ni (loaded_q && look_there),
      .valid_i(look_valid_i),
      .data_i ({look_count_i, look_i}),
      .ready_i(look_ready),
      .valid_o(look_valid),
      .data_o (look)
  );
  assign look_count = look[3:2];
  assign look_there = look_count != '0 && look_count != 2'd3 && {1'b0, look[0]} < entries_q && (look_count == 2'd1 || {1'b0, look[1]} < entries_q);

  as_parquet_entry_strings #(
      .Entries(2),
      .EntryBytes(256)
  ) i_entries (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (!rst_n),
      .begin_i       (start),
      .load_i        (load),
      .entries_i     ({30'd0, entries_q}),
      .done_o        (done),
      .bad_o         (bad),
      .window_ready_i(window_ready),
      .window_i      ({480'd0, length[8], 23'd0, length[7:0]}),
      .left_i        ({23'd0, left_q}),
      .take_o        (take),
      .move_o        (move),
      .look_valid_i  (look_valid),
      .look_ready_o  (look_ready),
      .look_i        ({6'd0, look[1:0]}),
      .look_count_i  ({2'd0, look_count}),
      .empty_o       (empty),
      .valid_o       (valid),
      .ready_i,
      .length_o      (length_out),
      .bytes_valid_o (bytes_valid),
      .bytes_ready_i,
      .bytes_o       (bytes),
      .bytes_count_o (bytes_count)
  );

  logic kept, bytes_kept;
  as_stream_rules #(
      .Width(32)
  ) i_lengths (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i,
      .data_i (length_out),
      .kept_o (kept)
  );
  as_stream_rules #(
      .Width(7)
  ) i_bytes (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(bytes_valid),
      .ready_i(bytes_ready_i),
      .data_i (bytes_count),
      .kept_o (bytes_kept)
  );

  // Loading: the entry that is taken, its bytes still to come, the bytes of all; the tracked entry.
  logic [1:0] entry_number_q = '0;
  logic [7:0] string_q = '0, whole, part, length_q;
  logic [9:0] size_q = '0;
  logic entry_q;
  logic wrong;
  assign whole = string_q == '0 ? length[7:0] : string_q;
  always_comb begin
    part = whole > 8'd64 ? 8'd64 : whole;
    if (string_q == '0 && part > 8'd60) part = 8'd60;
  end
  assign wrong = string_q == '0 && (length[8] || left_q < 9'd4 || length > left_q - 9'd4 || size_q + 10'(length) > 10'd256);

  // Lookups: indices of steps that were taken and whose lengths are still to come (of a step that
  // is still offered some may be out already); how many are before the tracked one. Bytes still to
  // come for the lengths.
  logic signed [4:0] owed_q = '0;
  logic [4:0] before_q = '0;
  logic [11:0] bytes_owed_q = '0;
  logic follow_q = 1'b0, same_q = 1'b0, offered_q = 1'b0, out;
  logic [2:0] waited_q = '0;
  logic goes_on;
  assign out = valid && ready_i;
  always_comb begin
    if (load) goes_on = move || bad || done || (!window_ready && entry_number_q != entries_q);
    else goes_on = out || (bytes_valid && bytes_ready_i) || !ready_i || !bytes_ready_i || (!look_valid && owed_q == '0);
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      begun_q   <= 1'b1;
      entries_q <= entries_i;
      entry_q   <= entry_i;
      left_q    <= bytes_i;
    end
    if (load && done) loaded_q <= 1'b1;
    if (bad) bad_q <= 1'b1;
    if (load && move) begin
      left_q   <= left_q < 9'(take) ? '0 : left_q - 9'(take);
      string_q <= whole - part;
      if (string_q == '0) begin
        size_q <= size_q + 10'(length[7:0]);
        if (2'(entry_q) == entry_number_q) length_q <= length[7:0];
      end
      if (whole == part) entry_number_q <= entry_number_q + 2'd1;
    end
    offered_q    <= look_valid && !look_ready;
    owed_q       <= owed_q + (look_valid && look_ready ? 5'(look_count) : 5'd0) - 5'(out);
    bytes_owed_q <= bytes_owed_q + (out ? 12'(length_out) : '0) - (bytes_valid && bytes_ready_i ? 12'(bytes_count) : '0);
    if (look_valid && !offered_q && pick_i && !follow_q) begin
      follow_q <= 1'b1;
      before_q <= owed_q - 5'(out) + 5'(lane_i && look_count == 2'd2);
      same_q   <= (lane_i && look_count == 2'd2 ? look[1] : look[0]) == entry_q;
    end else if (follow_q && out) begin
      before_q <= before_q - 5'd1;
      if (before_q == '0) follow_q <= 1'b0;
    end
    waited_q <= goes_on ? '0 : waited_q + 3'd1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept && bytes_kept);
      if (load) begin
        if (move) assert (window_ready && entry_number_q < entries_q && 8'(take) == part + (string_q == '0 ? 8'd4 : 8'd0));
        assert (bad == (window_ready && entry_number_q < entries_q && wrong));
        if (done) assert (entry_number_q == entries_q && string_q == '0);
      end
      if (valid) assert (owed_q + (look_valid ? 5'(look_count) : 5'd0) > 0 && length_out < 32'd256);
      if (valid && follow_q && before_q == '0 && same_q) assert (length_out == 32'(length_q));
      if (bytes_valid) assert (bytes_count != '0 && bytes_count <= 7'd64);
      if (loaded_q && empty && !look_valid) assert (owed_q == '0 && bytes_owed_q == '0);
      assert (waited_q < 3'd4);
    end
  end

endmodule

`default_nettype wire
