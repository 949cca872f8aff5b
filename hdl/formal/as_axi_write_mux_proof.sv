// SPDX-License-Identifier: Apache-2.0
// Proves for as_axi_write_mux that an issued burst gets exactly its beats, with the last one
// marked, that offered addresses and beats do not change, that no burst crosses a 4 KiB page, and
// that no more is written than was taken.

`default_nettype none

module as_axi_write_mux_proof (
    input logic        clk_i,
    input logic        start_i,
    input logic        abort_i,
    input logic [ 1:0] valid_i,
    input logic [ 1:0] last_i,
    input logic [ 7:0] pages_i,
    input logic [ 3:0] room_i,
    input logic        aw_ready_i,
    input logic        w_ready_i,
    input logic        answer_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start, error, idle, aw_valid, w_valid, w_last, b_ready, answer;
  logic [1:0] ready, overflow, ended_q = '0, valid;
  logic [63:0] bytes;
  logic [15:0] aw_addr;
  logic [7:0] aw_len;
  logic [31:0] w_data;
  logic [3:0] w_strb;
  assign start = start_i && rst_n && !started_q;
  // A stream sends its last beat once.
  assign valid = valid_i & ~ended_q & {2{started_q}};

  as_axi_write_mux #(
      .Streams    (2),
      .Bytes      (4),
      .AddressBits(16),
      .BurstBeats (2),
      .FifoBeats  (4)
  ) i_mux (
      .clk_i,
      .rst_ni    (rst_n),
      .start_i   (start),
      .abort_i   (abort_i && started_q),
      .address_i ({4'h2, pages_i[7:4], 6'h3f, 2'b00, 4'h1, pages_i[3:0], 6'h3f, 2'b00}),
      .capacity_i({30'd0, room_i[3:2], 30'd0, room_i[1:0]}),
      .valid_i   (valid),
      .ready_o   (ready),
      .data_i    ('0),
      .strobe_i  ('1),
      .last_i    (last_i),
      .bytes_o   (bytes),
      .overflow_o(overflow),
      .error_o   (error),
      .idle_o    (idle),
      .aw_valid_o(aw_valid),
      .aw_ready_i(aw_ready_i),
      .aw_addr_o (aw_addr),
      .aw_len_o  (aw_len),
      .w_valid_o (w_valid),
      .w_ready_i (w_ready_i),
      .w_data_o  (w_data),
      .w_strb_o  (w_strb),
      .w_last_o  (w_last),
      .b_valid_i (answer),
      .b_ready_o (b_ready),
      .b_resp_i  (2'b00)
  );

  logic aw_kept, w_kept;
  as_stream_rules #(
      .Width(24)
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

  logic [4:0] in_q = '0;
  logic [4:0] announced_q = '0;
  logic [4:0] given_q = '0;
  logic [3:0] bursts_q = '0;
  logic [3:0] closed_q = '0;
  logic [3:0] answered_q = '0;
  assign answer = answer_i && answered_q != closed_q && answered_q != bursts_q;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (start) started_q <= 1'b1;
      ended_q <= ended_q | (valid & ready & last_i);
      in_q    <= in_q + 5'(valid[0] && ready[0]) + 5'(valid[1] && ready[1]);
      if (aw_valid && aw_ready_i) begin
        announced_q <= announced_q + 5'(aw_len) + 5'd1;
        bursts_q    <= bursts_q + 1'b1;
      end
      if (w_valid && w_ready_i) begin
        given_q <= given_q + 1'b1;
        if (w_last) closed_q <= closed_q + 1'b1;
      end
      if (answer) answered_q <= answered_q + 1'b1;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (aw_kept && w_kept && b_ready && !error);
      if (aw_valid) begin
        assert (aw_len < 8'd2 && aw_addr[1:0] == '0);
        assert (11'(aw_addr[11:2]) + 11'(aw_len) < 11'd1024);
      end
      assert (given_q <= in_q);
      if (idle && started_q) assert (announced_q == given_q && bursts_q == closed_q && closed_q == answered_q);
    end
  end

endmodule

`default_nettype wire
