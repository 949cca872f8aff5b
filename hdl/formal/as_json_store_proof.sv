// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_store after as_json_merge that offered addresses and beats do not change, that
// every beat of a source becomes one write at its place with its data or raises `full_o`, that
// nothing else is written, and that it makes progress while memory takes what it offers.

`default_nettype none

module as_json_store_proof (
    input logic        clk_i,
    input logic [ 1:0] valid_i,
    input logic [13:0] beat_i,
    input logic        aw_ready_i,
    input logic        w_ready_i,
    input logic        answer_i,
    input logic [11:0] base_i,
    input logic [ 5:0] capacity_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The host sets the one buffer first: three words.
  logic [1:0] set_q = '0;
  logic [11:0] base_q = '0;
  logic [5:0] capacity_q = '0;
  logic [31:0] set_value;
  logic ready_to_go;
  assign ready_to_go = set_q == 2'd3;
  assign set_value   = set_q == 2'd0 ? {18'd0, base_i, 2'd0} : set_q == 2'd1 ? '0 : {26'd0, capacity_i};
  always_ff @(posedge clk_i) begin
    if (rst_n && !ready_to_go) set_q <= set_q + 1'b1;
    if (set_q == 2'd0) base_q <= base_i;
    if (set_q == 2'd2) capacity_q <= capacity_i;
  end

  // Beats that were issued, sent, answered, taken.
  logic [3:0] announced_q = '0, given_q = '0, answered_q = '0, taken_q = '0;

  // Two sources: a beat's number, and its data.
  logic [1:0] valid, ready;
  logic [6:0] beat[2];
  for (genvar s = 0; s < 2; s++) begin : gen_source
    as_stream_source #(
        .Width(7)
    ) i_source (
        .clk_i,
        .rst_ni (rst_n && ready_to_go),
        // The number of outstanding writes is below the counters' range.
        .valid_i(valid_i[s] && taken_q - answered_q < 4'd12),
        .data_i (beat_i[s*7+:7]),
        .ready_i(ready[s]),
        .valid_o(valid[s]),
        .data_o (beat[s])
    );
  end

  logic idle, full, error, aw_valid, w_valid, w_last, b_ready;
  logic [63:0] aw_addr;
  logic [7:0] aw_len;
  logic [31:0] w_data;
  logic [3:0] w_strb;
  logic answer;
  assign answer = answer_i && answered_q != announced_q && answered_q != given_q;

  logic merged_valid, merged_ready;
  logic [7:0] merged_buffer;
  logic [31:0] merged_beat, merged_data;
  as_json_merge #(
      .Bytes  (4),
      .Sources(2)
  ) i_merge (
      .clk_i,
      .rst_ni  (rst_n),
      .valid_i (valid),
      .ready_o (ready),
      .buffer_i('0),
      .beat_i  ({28'd0, beat[1][3:0], 28'd0, beat[0][3:0]}),
      .data_i  ({24'd1, 1'b0, beat[1], 24'd0, 1'b0, beat[0]}),
      .valid_o (merged_valid),
      .ready_i (merged_ready),
      .buffer_o(merged_buffer),
      .beat_o  (merged_beat),
      .data_o  (merged_data)
  );

  as_json_store #(
      .Bytes  (4),
      .Buffers(1)
  ) i_store (
      .clk_i,
      .rst_ni      (rst_n),
      .clr_i       (1'b0),
      .set_i       (rst_n && !ready_to_go),
      .set_buffer_i('0),
      .set_word_i  (set_q),
      .set_value_i (set_value),
      .valid_i     (merged_valid),
      .ready_o     (merged_ready),
      .buffer_i    (merged_buffer),
      .beat_i      (merged_beat),
      .data_i      (merged_data),
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

  logic aw_kept, w_kept;
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
      .Width(37)
  ) i_w (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(w_valid),
      .ready_i(w_ready_i),
      .data_i ({w_last, w_strb, w_data}),
      .kept_o (w_kept)
  );

  // The last beat taken is the one that is offered.
  logic [1:0] take;
  logic [6:0] took;
  logic fits, full_q = 1'b0;
  logic [6:0] took_q = '0;
  logic source_q = 1'b0;
  logic [1:0] waited_q = '0;
  assign take = valid & ready;
  assign took = take[1] ? beat[1] : beat[0];
  assign fits = 6'(took[3:0]) < capacity_q >> 2;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (take != '0) begin
        took_q   <= took;
        source_q <= take[1];
        if (fits) taken_q <= taken_q + 1'b1;
        else full_q <= 1'b1;
      end
      announced_q <= announced_q + 4'(aw_valid && aw_ready_i);
      given_q     <= given_q + 4'(w_valid && w_ready_i);
      answered_q  <= answered_q + 4'(answer);
      waited_q    <= valid == '0 || take != '0 || !aw_ready_i || !w_ready_i ? '0 : waited_q + 1'b1;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (aw_kept && w_kept && b_ready && !error && full == full_q);
      assert (take != 2'd3);
      if (aw_valid) assert (aw_len == '0 && aw_addr == 64'({base_q, 2'd0}) + {58'd0, took_q[3:0], 2'd0});
      if (w_valid) assert (w_last && w_strb == '1 && w_data == {23'd0, source_q, 1'b0, took_q});
      assert (announced_q + 4'(aw_valid) == taken_q && given_q + 4'(w_valid) == taken_q);
      assert (idle == (answered_q == taken_q));
      assert (waited_q == '0);
    end
  end

endmodule

`default_nettype wire
