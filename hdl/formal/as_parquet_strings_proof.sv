// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_strings that the bytes of a buffer are those of the input strings, in
// order, none lost or invented, and do not change while they wait for the writer, which is proved
// separately; that each length of PLAIN is output once, with the window that it is in; and that it
// makes progress.
//
// Pages come one at a time as as_parquet_column delivers them: PLAIN, lengths followed by bytes, or
// bytes of a dictionary. Tracks one arbitrary piece of the buffer, and one arbitrary byte of it. A
// page with a fault is not checked: it ends the chunk.

`default_nettype none

module as_parquet_strings_proof (
    input logic         clk_i,
    input logic         pick_i,
    input logic [  5:0] lane_i,
    input logic         begin_i,
    input logic [  1:0] kind_i,
    input logic [  1:0] count_i,
    input logic [  7:0] bytes_left_i,
    input logic         over_i,
    input logic         ends_i,
    input logic         window_valid_i,
    input logic [  7:0] length_i,
    input logic [ 63:0] window_i,
    input logic         put_ready_i,
    input logic         lengths_valid_i,
    input logic [ 15:0] lengths_i,
    input logic [  1:0] lengths_count_i,
    input logic         bytes_valid_i,
    input logic [ 63:0] bytes_i,
    input logic [  6:0] bytes_count_i,
    input logic         ready_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // One bit is enough to tell a byte from others; lengths are negative or below 128.
  logic [511:0] window_in, bytes_in;
  logic [63:0] lengths;
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) begin
      window_in[i*8+:8] = 8'(window_i[i]);
      bytes_in[i*8+:8]  = 8'(bytes_i[i]);
    end
    window_in[31:0] = {length_i[7], 24'd0, length_i[6:0]};
    lengths         = {lengths_i[15], 24'd0, lengths_i[14:8], lengths_i[7], 24'd0, lengths_i[6:0]};
  end

  // Behaviour of the column and the decoders around it. `busy` falls late for a page of lengths or
  // of a dictionary: when its decoder is finished.
  typedef enum logic [1:0] {
    Wait,
    First,
    Values,
    Last
  } state_e;
  state_e state_q = Wait;
  localparam logic [1:0] Plain = 2'd0, Lengths = 2'd1, Dictionary = 2'd2;
  logic [1:0] kind_q = '0;
  logic begin_page, over_q = 1'b0, fault_q = 1'b0, values, busy, takes;
  logic [7:0] fault;
  assign begin_page = rst_n && state_q == Wait && begin_i && kind_i != 2'd3 && !ends_i;
  assign values     = state_q == First || state_q == Values;

  logic window_ready, move, put, bytes_valid, bytes_ready, lengths_valid, lengths_end, ended, valid, last;
  logic [511:0] window, bytes, data;
  logic [6:0] take, bytes_count_raw, bytes_count;
  logic [7:0] left_q = '0;
  logic [63:0] strobe;
  as_stream_source #(
      .Width(512)
  ) i_window (
      .clk_i,
      .rst_ni (values),
      .valid_i(window_valid_i),
      .data_i (window_in),
      .ready_i(move || !values),
      .valid_o(window_ready),
      .data_o (window)
  );
  as_stream_source #(
      .Width(519)
  ) i_bytes_in (
      .clk_i,
      .rst_ni (values && kind_q == Dictionary && !over_q),
      .valid_i(bytes_valid_i),
      .data_i ({bytes_count_i, bytes_in}),
      .ready_i(bytes_ready),
      .valid_o(bytes_valid),
      .data_o ({bytes_count_raw, bytes})
  );
  assign bytes_count   = bytes_count_raw > 7'd64 ? 7'd64 : bytes_count_raw;
  assign lengths_valid = values && kind_q == Lengths && !over_q && lengths_valid_i;
  assign lengths_end   = state_q == Values && kind_q == Lengths && over_q;

  as_parquet_strings #(
      .Lanes(2)
  ) i_strings (
      .clk_i,
      .rst_ni         (rst_n),
      .clr_i          (!rst_n),
      .begin_i        (begin_page),
      .plain_i        (kind_i == Plain),
      .count_i        ({30'd0, count_i}),
      .values_i       (values),
      .fault_o        (fault),
      .busy_o         (busy),
      .takes_o        (takes),
      .window_ready_i (window_ready),
      .window_i       (window),
      .left_i         ({24'd0, left_q}),
      .take_o         (take),
      .move_o         (move),
      .put_o          (put),
      .put_ready_i,
      .lengths_valid_i(lengths_valid),
      .lengths_i      (lengths),
      .lengths_count_i(lengths_count_i == 2'd3 ? 2'd2 : lengths_count_i),
      .lengths_end_i  (lengths_end),
      .bytes_valid_i  (bytes_valid),
      .bytes_ready_o  (bytes_ready),
      .bytes_i        (bytes),
      .bytes_count_i  (bytes_count),
      .ends_i         (state_q == Last),
      .ended_o        (ended),
      .valid_o        (valid),
      .ready_i,
      .data_o         (data),
      .strobe_o       (strobe),
      .last_o         (last)
  );

  logic kept;
  as_stream_rules #(
      .Width(512 + 64 + 1)
  ) i_pieces (
      .clk_i,
      .rst_ni (rst_n && !fault_q),
      .valid_i(valid),
      .ready_i,
      .data_i ({last, strobe, data}),
      .kept_o (kept)
  );

  // Of a page: strings still to come, bytes left of the current string or of all that have lengths.
  logic [1:0] strings_q = '0;
  logic [6:0] string_q = '0, length;
  logic [11:0] sum_q = '0, sum;
  logic negative;
  // Pieces inside; how many are before the tracked one, its bytes and one of them.
  logic [1:0] inside_q = '0, before_q = '0;
  logic follow_q = 1'b0, came, in, out, sent_q = 1'b0, ended_q = 1'b0;
  logic [6:0] count, skip, count_q;
  logic [5:0] lane_q;
  logic [7:0] byte_q;
  logic [511:0] source;
  assign length = string_q == '0 ? window[6:0] : string_q;
  assign sum    = sum_q + (lengths_count_i != '0 ? 12'(lengths[6:0]) : '0) + (lengths_count_i[1] ? 12'(lengths[38:32]) : '0);
  assign negative = (lengths_count_i != '0 && lengths[31]) || (lengths_count_i[1] && lengths[63]);
  always_comb begin
    came   = move && window_ready;
    skip   = '0;
    source = window;
    unique case (kind_q)
      Plain: begin
        count = 7'(length > 7'd64 ? 7'd64 : length);
        if (string_q == '0) begin
          skip  = 7'd4;
          count = count > 7'd60 ? 7'd60 : count;
        end
      end
      Lengths: count = 7'(sum_q > 12'd64 ? 12'd64 : sum_q);
      default: begin
        came   = bytes_valid && bytes_ready;
        count  = bytes_count;
        source = bytes;
      end
    endcase
  end
  assign in  = came || (state_q == Last && !sent_q && ended);
  assign out = valid && ready_i;

  // Cycles in which it could make progress and does not.
  logic [2:0] waited_q = '0;
  logic page_over, goes_on;
  assign page_over = state_q == Values && !busy && (kind_q == Plain || over_q);
  always_comb begin
    goes_on = page_over || came || !ready_i || state_q == Wait;
    if (values) goes_on |= !window_ready || !put_ready_i || (kind_q != Plain && !over_q);
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Wait: begin
        if (begin_page) begin
          state_q   <= First;
          kind_q    <= kind_i;
          over_q    <= 1'b0;
          strings_q <= count_i;
          string_q  <= '0;
          sum_q     <= '0;
          left_q    <= bytes_left_i;
        end else if (rst_n && ends_i) begin
          state_q <= Last;
        end
      end
      First:  state_q <= Values;
      Values: if (page_over) state_q <= Wait;
      default: ;
    endcase
    // A decoder is not finished while it offers output.
    if (values && over_i && !lengths_valid && !bytes_valid) over_q <= 1'b1;
    if (values && fault != '0) fault_q <= 1'b1;
    if (lengths_valid && lengths_count_i != '0) sum_q <= sum;
    if (lengths_valid && negative) fault_q <= 1'b1;
    if (came) begin
      if (kind_q == Plain) begin
        string_q <= length - count;
        if (length == count) strings_q <= strings_q - 2'd1;
      end
      if (kind_q == Lengths) sum_q <= sum_q - 12'(count);
      if (kind_q != Dictionary) left_q <= left_q < 8'(take) ? '0 : left_q - 8'(take);
    end
    if (state_q == Last && ended) sent_q <= 1'b1;
    inside_q <= inside_q + 2'(in) - 2'(out);
    if (in && pick_i && !follow_q) begin
      follow_q <= 1'b1;
      before_q <= inside_q - 2'(out);
      count_q  <= state_q == Last ? '0 : count;
      lane_q   <= lane_i;
      byte_q   <= source[9'({lane_i + 6'(skip), 3'b000})+:8];
    end else if (follow_q && out) begin
      before_q <= before_q - 2'd1;
      if (before_q == '0) follow_q <= 1'b0;
    end
    if (valid && ready_i && last) ended_q <= 1'b1;
    waited_q <= goes_on || ended_q ? '0 : waited_q + 3'd1;
  end

  always_comb begin
    if (rst_n && !fault_q) begin
      assert (kept);
      if (values && fault == '0) begin
        if (kind_q == Plain) begin
          assert (put == (came && string_q == '0) && takes);
          if (came) assert (take == skip + count && strings_q != '0);
          if (came) assert (skip == '0 || (window[31:0] <= 32'(left_q) - 32'd4 && left_q >= 8'd4));
        end else begin
          assert (!put && (!came || kind_q == Dictionary || (take == 7'd64 && sum_q != '0)));
        end
        if (page_over) assert (kind_q == Dictionary || (kind_q == Plain ? strings_q == '0 : sum_q == '0));
      end
      assert (waited_q < 3'd4);
      if (valid) begin
        assert (!ended_q && inside_q != '0);
        assert (last == (sent_q && inside_q == 2'd1));
        if (follow_q && before_q == '0) begin
          assert (strobe == 64'(count_q));
          if (7'(lane_q) < count_q) assert (data[9'({lane_q, 3'b000})+:8] == byte_q);
        end
      end
      // The end is taken once.
      if (state_q == Last && ended_q) assert (ended && !valid);
    end
  end

endmodule

`default_nettype wire
