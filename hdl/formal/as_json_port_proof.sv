// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_port, with two parsers and two sets of writers: a parser is fed the bytes of
// its range, each once, in order, with spaces around them, and blanks after; for one arbitrary
// source of beats, every beat reaches memory once, in order, with its buffer, and nothing else
// does. Offered transfers do not change. While memory accepts, a set's beats are taken every few
// cycles, round-robin, and a port that reports idle was flushed and has no beat inside and no
// outstanding response.
//
// Three parts are stubs, and proved separately: as_json_fetch delivers the beats of each range,
// as_json_store writes every beat at once, and the queues after the sets hold less.

`default_nettype none

module as_json_port_proof (
    input logic       clk_i,
    input logic       parser_i,
    input logic       set_i,
    input logic [2:0] source_i,
    input logic       start_i,
    input logic [5:0] offset_i,
    input logic [7:0] length_i,
    input logic [1:0] abort_i,
    input logic [1:0] advance_i,
    input logic [9:0] valid_i,
    input logic       flush_i,
    input logic       aw_ready_i,
    input logic       w_ready_i,
    input logic       answer_i
);

  localparam int unsigned Sources = 5;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The checked source is chosen in the first cycle.
  logic parser_q = 1'b0, set_q = 1'b0;
  logic [2:0] source_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      parser_q <= parser_i;
      set_q    <= set_i;
      source_q <= source_i < 3'(Sources) ? source_i : '0;
    end
  end

  // Texts are fed after a start, and beats come; none after a flush.
  logic start, started_q = 1'b0, flush_q = 1'b0;
  logic [9:0] valid, ready;
  assign start = rst_n && start_i && !started_q;
  always_ff @(posedge clk_i) begin
    if (start) started_q <= 1'b1;
    if (started_q && flush_i && valid == '0) flush_q <= 1'b1;
  end

  // Every source numbers its beats; the number of outstanding writes is below the counters' range.
  logic [79:0] buffer;
  logic [319:0] number;
  logic [639:0] data;
  logic [3:0] taken_q = '0, announced_q = '0, given_q = '0, answered_q = '0;
  for (genvar s = 0; s < 10; s++) begin : gen_source
    logic [2:0] beats_q = '0;
    as_stream_source #(
        .Width(1)
    ) i_source (
        .clk_i,
        .rst_ni (started_q && !flush_q),
        .valid_i(valid_i[s] && taken_q - answered_q < 4'd10),
        .data_i (1'b0),
        .ready_i(ready[s]),
        .valid_o(valid[s]),
        .data_o ()
    );
    assign buffer[s*8+:8]   = 8'(s % 2);
    assign number[s*32+:32] = {25'd0, 1'(s / Sources), 3'(s % Sources), beats_q};
    assign data[s*64+:64]   = {57'd0, 1'(s / Sources), 3'(s % Sources), beats_q};
    always_ff @(posedge clk_i) beats_q <= beats_q + 3'(valid[s] && ready[s]);
  end

  logic idle, full, error_unused, aw_valid, w_valid, w_last, b_ready, ar_valid_unused, r_ready_unused;
  logic [1:0] feed_valid, feed_ended;
  logic [1:0][31:0] feed_data;
  logic [63:0] aw_addr, w_data, ar_addr_unused;
  logic [7:0] aw_len, w_strb, ar_len_unused;
  logic answer;
  assign answer = answer_i && answered_q != announced_q && answered_q != given_q;
  as_json_port #(
      .W      (4),
      .Bytes  (8),
      .Parsers(2),
      .Sets   (2),
      .Buffers(2)
  ) i_port (
      .clk_i,
      .rst_ni        (rst_n),
      .clear_i       (start),
      .work_i        (started_q),
      .address_i     ({61'd0, offset_i[5:3], 61'd0, offset_i[2:0]}),
      .length_i      ({28'd0, length_i[7:4], 28'd0, length_i[3:0]}),
      .abort_i       (started_q ? abort_i : '0),
      .set_i         (1'b0),
      .set_buffer_i  ('0),
      .set_word_i    ('0),
      .set_value_i   ('0),
      .flush_i       (flush_q),
      .idle_o        (idle),
      .error_o       (error_unused),
      .full_o        (full),
      .feed_valid_o  (feed_valid),
      .feed_ended_o  (feed_ended),
      .feed_advance_i(advance_i & feed_valid),
      .feed_data_o   (feed_data),
      .beat_valid_i  (valid),
      .beat_ready_o  (ready),
      .beat_buffer_i (buffer),
      .beat_number_i (number),
      .beat_data_i   (data),
      .mem_ar_valid_o(ar_valid_unused),
      .mem_ar_ready_i(1'b0),
      .mem_ar_addr_o (ar_addr_unused),
      .mem_ar_len_o  (ar_len_unused),
      .mem_r_valid_i (1'b0),
      .mem_r_ready_o (r_ready_unused),
      .mem_r_data_i  ('0),
      .mem_r_resp_i  ('0),
      .mem_aw_valid_o(aw_valid),
      .mem_aw_ready_i(aw_ready_i),
      .mem_aw_addr_o (aw_addr),
      .mem_aw_len_o  (aw_len),
      .mem_w_valid_o (w_valid),
      .mem_w_ready_i (w_ready_i),
      .mem_w_data_o  (w_data),
      .mem_w_strb_o  (w_strb),
      .mem_w_last_o  (w_last),
      .mem_b_valid_i (answer),
      .mem_b_ready_o (b_ready),
      .mem_b_resp_i  ('0)
  );

  // The parser: where its text begins and ends, and the next part.
  logic [5:0] begin_q = '0, end_q = '0, at_q = '0;
  logic fed, feed_kept;
  assign fed = feed_valid[parser_q] && advance_i[parser_q];
  always_ff @(posedge clk_i) begin
    if (start) begin
      begin_q <= 6'(parser_q ? offset_i[5:3] : offset_i[2:0]);
      end_q   <= 6'(parser_q ? offset_i[5:3] : offset_i[2:0]) + 6'(parser_q ? length_i[7:4] : length_i[3:0]);
      at_q    <= {3'd0, parser_q ? offset_i[5] : offset_i[2], 2'd0};
    end else if (started_q && fed && !feed_ended[parser_q]) at_q <= at_q + 6'd4;
  end
  as_stream_rules #(
      .Width(33)
  ) i_feed (
      .clk_i,
      .rst_ni (rst_n && started_q),
      .valid_i(feed_valid[parser_q]),
      .ready_i(advance_i[parser_q]),
      .data_i ({feed_ended[parser_q], feed_data[parser_q]}),
      .kept_o (feed_kept)
  );
  always_comb begin
    if (rst_n && started_q) begin
      assert (feed_kept);
      if (feed_valid[parser_q]) begin
        assert (feed_ended[parser_q] == (at_q >= end_q || begin_q == end_q));
        for (int unsigned i = 0; i < 4; i++) begin
          if (!feed_ended[parser_q] && at_q + 6'(i) >= begin_q && at_q + 6'(i) < end_q) begin
            assert (feed_data[parser_q][i*8+:8] == {1'b1, parser_q, at_q + 6'(i)});
          end else assert (feed_data[parser_q][i*8+:8] == 8'h20);
        end
      end
    end else if (rst_n) assert (feed_valid == '0);
  end

  // The writes: the source of each beat, and its number.
  logic aw_kept, w_kept, aw_mine, w_mine, take_mine;
  logic [6:0] aw_tag;
  logic [2:0] in_q = '0, aw_q = '0, w_q = '0;
  assign aw_tag    = aw_addr[6:0];
  assign aw_mine   = aw_valid && aw_tag[6:3] == {set_q, source_q};
  assign w_mine    = w_valid && w_data[6:3] == {set_q, source_q};
  logic [4:0] offered, took;
  assign offered   = set_q ? valid[9:5] : valid[4:0];
  assign took      = set_q ? valid[9:5] & ready[9:5] : valid[4:0] & ready[4:0];
  assign take_mine = took[source_q];
  as_stream_rules #(
      .Width(72)
  ) i_aw (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(aw_valid),
      .ready_i(aw_ready_i),
      .data_i ({aw_len, aw_addr}),
      .kept_o (aw_kept)
  );
  as_stream_rules #(
      .Width(73)
  ) i_w (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(w_valid),
      .ready_i(w_ready_i),
      .data_i ({w_last, w_strb, w_data}),
      .kept_o (w_kept)
  );

  logic [2:0] others_q = '0;
  logic [1:0] stands_q = '0;
  always_ff @(posedge clk_i) begin
    in_q        <= in_q + 3'(take_mine);
    aw_q        <= aw_q + 3'(aw_mine && aw_ready_i);
    w_q         <= w_q + 3'(w_mine && w_ready_i);
    taken_q     <= taken_q + 4'((valid[4:0] & ready[4:0]) != '0) + 4'((valid[9:5] & ready[9:5]) != '0);
    announced_q <= announced_q + 4'(aw_valid && aw_ready_i);
    given_q     <= given_q + 4'(w_valid && w_ready_i);
    answered_q  <= answered_q + 4'(answer);
    others_q    <= take_mine || !offered[source_q] ? '0 : others_q + 3'(took != '0);
    stands_q    <= took != '0 || offered == '0 || !aw_ready_i || !w_ready_i ? '0 : stands_q + 1'b1;
  end
  always_comb begin
    if (rst_n) begin
      assert (aw_kept && w_kept && b_ready && !full);
      assert ($onehot0(valid[4:0] & ready[4:0]) && $onehot0(valid[9:5] & ready[9:5]));
      if (aw_valid) assert (aw_addr == {31'd0, aw_tag[3] ^ aw_tag[6], 25'd0, aw_tag});
      if (w_valid) assert (w_last && w_strb == '1 && w_data < 64'd128);
      if (aw_mine) assert (aw_tag[2:0] == aw_q);
      if (w_mine) assert (w_data[2:0] == w_q);
      assert (others_q < 3'd5 && stands_q < 2'd3);
      if (idle) assert (flush_q && answered_q == taken_q && aw_q == in_q && w_q == in_q && !aw_valid && !w_valid);
    end
  end

endmodule

`default_nettype wire
