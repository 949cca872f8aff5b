// SPDX-License-Identifier: Apache-2.0
// Proves for as_axi_write_mux the rules of AXI4, that the beats of a burst follow its address at
// once, and that no more is written than was taken.

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
    input logic        b_valid_i,
    input logic        pick_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start, error, idle, aw_valid, w_valid, w_last, b_ready, quiet;
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
      .aw_ready_i,
      .aw_addr_o (aw_addr),
      .aw_len_o  (aw_len),
      .w_valid_o (w_valid),
      .w_ready_i,
      .w_data_o  (w_data),
      .w_strb_o  (w_strb),
      .w_last_o  (w_last),
      .b_valid_i,
      .b_ready_o (b_ready),
      .b_resp_i  (2'b00)
  );

  as_axi_rules #(
      .AddressBits(16),
      .BurstBeats (2),
      .WaitMax    (1)
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
      .b_valid_i,
      .b_ready_i (b_ready),
      .pick_i,
      .quiet_o   (quiet)
  );

  logic [4:0] in_q = '0;
  logic [4:0] given_q = '0;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (start) started_q <= 1'b1;
      ended_q <= ended_q | (valid & ready & last_i);
      in_q    <= in_q + 5'(valid[0] && ready[0]) + 5'(valid[1] && ready[1]);
      if (w_valid && w_ready_i) given_q <= given_q + 1'b1;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (b_ready && !error && given_q <= in_q);
      if (idle && started_q) assert (quiet);
    end
  end

endmodule

`default_nettype wire
