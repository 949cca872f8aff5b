// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_store after as_json_merge, with two sources that write a buffer each, the
// rules of AXI4; that every beat of a source is written once, at its place, with its data, or
// raises `full_o`, and nothing else is written; that a burst stays within a multiple of its size,
// is issued only when all its beats are inside, and its beats follow its address at once. While
// memory takes what it offers, a beat waits for a few cycles only, and the port is idle soon after
// a flush: then everything has been written and answered.

`default_nettype none

module as_json_store_proof (
    input logic        clk_i,
    input logic [ 1:0] valid_i,
    input logic        flush_i,
    input logic        aw_ready_i,
    input logic        w_ready_i,
    input logic        answer_i,
    input logic        pick_i,
    input logic [ 3:0] base_i,
    input logic [ 7:0] capacity_i
);

  localparam int unsigned Bytes = 2;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The host sets the two buffers first: where in a burst they begin, and their beats.
  logic [2:0] word_q = '0;
  logic [1:0] base_q[2];
  logic [3:0] room_q[2];
  logic told, second;
  logic [31:0] word;
  assign told   = word_q == 3'd6;
  assign second = word_q >= 3'd3;
  always_comb begin
    unique case (word_q)
      3'd0: word = {29'd0, base_q[0], 1'b0};
      3'd3: word = {29'd0, base_q[1], 1'b0};
      3'd1: word = 32'd0;
      3'd4: word = 32'd1;
      default: word = {27'd0, room_q[second], 1'b0};
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (rst_n && !told) word_q <= word_q + 1'b1;
    if (!rst_n) begin
      base_q <= '{base_i[1:0], base_i[3:2]};
      room_q <= '{capacity_i[3:0], capacity_i[7:4]};
    end
  end

  // Beats that came and fit, of each buffer; the next to be announced, and to be given.
  logic [1:0][3:0] number_q = '0;
  logic [1:0][4:0] taken_q = '0, announced_q = '0, given_q = '0;
  logic [1:0] valid, ready;
  logic flush_q = 1'b0;
  for (genvar s = 0; s < 2; s++) begin : gen_source
    logic unused;
    as_stream_source #(
        .Width(1)
    ) i_source (
        .clk_i,
        .rst_ni (told),
        .valid_i(valid_i[s] && !flush_q && number_q[s] != '1),
        .data_i (1'b0),
        .ready_i(ready[s]),
        .valid_o(valid[s]),
        .data_o (unused)
    );
    always_ff @(posedge clk_i) begin
      if (valid[s] && ready[s]) begin
        number_q[s] <= number_q[s] + 1'b1;
        if (number_q[s] < room_q[s]) taken_q[s] <= taken_q[s] + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) if (told && flush_i && valid == '0) flush_q <= 1'b1;

  logic merged_valid, merged_ready;
  logic [7:0] merged_buffer;
  logic [31:0] merged_beat;
  logic [Bytes*8-1:0] merged_data;
  as_json_merge #(
      .Bytes  (Bytes),
      .Sources(2)
  ) i_merge (
      .clk_i,
      .rst_ni  (rst_n),
      .valid_i (valid),
      .ready_o (ready),
      .buffer_i({8'd1, 8'd0}),
      .beat_i  ({28'd0, number_q[1], 28'd0, number_q[0]}),
      .data_i  ({11'd0, 1'b1, number_q[1], 11'd0, 1'b0, number_q[0]}),
      .valid_o (merged_valid),
      .ready_i (merged_ready),
      .buffer_o(merged_buffer),
      .beat_o  (merged_beat),
      .data_o  (merged_data)
  );

  logic idle, full, error, aw_valid, w_valid, w_last, b_ready, answer;
  logic [63:0] aw_addr;
  logic [7:0] aw_len;
  logic [Bytes*8-1:0] w_data;
  logic [Bytes-1:0] w_strb;
  as_json_store #(
      .Bytes     (Bytes),
      .Buffers   (2),
      .BurstBeats(2)
  ) i_store (
      .clk_i,
      .rst_ni      (rst_n),
      .clr_i       (1'b0),
      .set_i       (rst_n && !told),
      .set_buffer_i(8'(second)),
      .set_word_i  (2'(second ? word_q - 3'd3 : word_q)),
      .set_value_i (word),
      .valid_i     (merged_valid),
      .ready_o     (merged_ready),
      .buffer_i    (merged_buffer),
      .beat_i      (merged_beat),
      .data_i      (merged_data),
      .flush_i     (flush_q),
      .idle_o      (idle),
      .full_o      (full),
      .error_o     (error),
      .aw_valid_o  (aw_valid),
      .aw_ready_i,
      .aw_addr_o   (aw_addr),
      .aw_len_o    (aw_len),
      .w_valid_o   (w_valid),
      .w_ready_i,
      .w_data_o    (w_data),
      .w_strb_o    (w_strb),
      .w_last_o    (w_last),
      .b_valid_i   (answer),
      .b_ready_o   (b_ready),
      .b_resp_i    (2'b00)
  );

  logic quiet;
  as_axi_rules #(
      .Bytes      (Bytes),
      .AddressBits(64),
      .BurstBeats (2)
  ) i_rules (
      .clk_i,
      .rst_ni    (rst_n),
      .aw_valid_i(aw_valid),
      .aw_ready_i,
      .aw_addr_i (aw_addr),
      .aw_len_i  (aw_len),
      .w_valid_i (w_valid),
      .w_ready_i,
      .w_data_i  (w_data),
      .w_strb_i  (w_strb),
      .w_last_i  (w_last),
      .b_valid_i (answer),
      .b_ready_i (b_ready),
      .pick_i,
      .quiet_o   (quiet)
  );

  // A beat that is offered belongs to the last address that was, and so to its buffer.
  logic aw_held_q = 1'b0, begins, of, of_q = 1'b0, aw_buffer;
  logic [1:0][4:0] announced;
  assign begins    = aw_valid && !aw_held_q;
  assign aw_buffer = aw_addr[32];
  assign of        = begins ? aw_buffer : of_q;
  always_comb begin
    announced = announced_q;
    if (begins) announced[aw_buffer] = announced_q[aw_buffer] + 5'(aw_len) + 5'd1;
  end

  // Bursts with an address, with all beats, with a response.
  logic [4:0] addresses_q = '0, ends_q = '0, answers_q = '0;
  assign answer = answer_i && answers_q != addresses_q && answers_q != ends_q;

  logic full_q = 1'b0, going;
  logic [2:0] waited_q = '0;
  logic [3:0] flushed_q = '0;
  assign going = aw_ready_i && w_ready_i && (answer_i || answers_q == addresses_q || answers_q == ends_q);
  always_ff @(posedge clk_i) begin
    aw_held_q   <= aw_valid && !aw_ready_i;
    of_q        <= of;
    announced_q <= announced;
    if (w_valid && w_ready_i) given_q[of] <= given_q[of] + 1'b1;
    addresses_q <= addresses_q + 5'(aw_valid && aw_ready_i);
    ends_q      <= ends_q + 5'(w_valid && w_ready_i && w_last);
    answers_q   <= answers_q + 5'(answer);
    for (int unsigned s = 0; s < 2; s++) begin
      if (valid[s] && ready[s] && number_q[s] >= room_q[s]) full_q <= 1'b1;
    end
    waited_q  <= valid == '0 || (valid & ready) != '0 || !going ? '0 : waited_q + 1'b1;
    flushed_q <= !flush_q || idle || !going ? '0 : flushed_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (b_ready && !error && (valid & ready) != 2'd3);
      assert (!full || full_q);
      if (begins) begin
        assert (!(aw_addr[1] && aw_len != '0));
        assert (aw_addr == {31'd0, aw_buffer, 26'd0, 5'(base_q[aw_buffer]) + announced_q[aw_buffer], 1'b0});
        assert (announced[aw_buffer] <= taken_q[aw_buffer]);
      end
      if (w_valid) assert (w_strb == '1 && w_data == {11'd0, of, given_q[of][3:0]});
      if (idle) begin
        assert (flush_q && full == full_q && quiet);
        assert (announced_q == taken_q && given_q == taken_q);
      end
      assert (waited_q <= 3'd5 && flushed_q <= 4'd12);
    end
  end

endmodule

`default_nettype wire
