// SPDX-License-Identifier: Apache-2.0
// Proves for as_axi_writer the rules of AXI4, also when a request is given up, and that beats wait
// for the stream only; that a beat of memory is a beat of the stream, in order; and that it ends
// where the run ends.

`default_nettype none

module as_axi_writer_proof (
    input logic       clk_i,
    input logic       request_i,
    input logic [9:0] beat_address_i,
    input logic [3:0] beats_i,
    input logic       abort_i,
    input logic       valid_i,
    input logic       aw_ready_i,
    input logic       w_ready_i,
    input logic       b_valid_i,
    input logic       pick_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Requests one after another; the stream's beats are numbered and stay once offered.
  logic asked_q = 1'b0;
  logic offered_q = 1'b0;
  logic aborted_q = 1'b0;
  logic [3:0] taken_q = '0;
  logic request, abort, valid, idle, error, ready, aw_valid, w_valid, w_last, b_ready;
  logic [11:0] aw_addr;
  logic [7:0] aw_len;
  logic [31:0] w_data;
  logic [3:0] w_strb;
  // Beats that were issued and sent.
  logic [4:0] announced_q = '0;
  logic [4:0] given_q = '0;
  assign request = request_i && (!asked_q || idle) && rst_n;
  assign abort   = asked_q && (abort_i || aborted_q);
  assign valid   = asked_q && (valid_i || offered_q);

  as_axi_writer #(
      .Bytes      (4),
      .AddressBits(12),
      .BeatBits   (4),
      .BurstBeats (2)
  ) i_writer (
      .clk_i,
      .rst_ni        (rst_n),
      .request_i     (request),
      .beat_address_i(beat_address_i),
      .beats_i       (beats_i),
      .abort_i       (abort),
      .idle_o        (idle),
      .error_o       (error),
      .valid_i       (valid),
      .ready_o       (ready),
      .data_i        (32'(taken_q)),
      .strobe_i      (4'hf),
      .aw_valid_o    (aw_valid),
      .aw_ready_i,
      .aw_addr_o     (aw_addr),
      .aw_len_o      (aw_len),
      .w_valid_o     (w_valid),
      .w_ready_i,
      .w_data_o      (w_data),
      .w_strb_o      (w_strb),
      .w_last_o      (w_last),
      .b_valid_i,
      .b_ready_o     (b_ready),
      .b_resp_i      (2'b00)
  );

  logic quiet;
  as_axi_rules #(
      .AddressBits(12),
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
      .b_valid_i,
      .b_ready_i (b_ready),
      .pick_i,
      .late_i    (!valid && !aborted_q),
      .quiet_o   (quiet)
  );

  logic [3:0] beats_q = '0;
  logic [9:0] begin_q = '0;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      offered_q <= valid && !ready;
      if (request) begin
        asked_q     <= 1'b1;
        aborted_q   <= 1'b0;
        beats_q     <= beats_i;
        begin_q     <= beat_address_i;
        taken_q     <= '0;
        announced_q <= '0;
        given_q     <= '0;
      end else begin
        if (abort) aborted_q <= 1'b1;
        if (valid && ready) taken_q <= taken_q + 1'b1;
        if (aw_valid && aw_ready_i) announced_q <= announced_q + 5'(aw_len) + 5'd1;
        if (w_valid && w_ready_i) given_q <= given_q + 1'b1;
      end
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (b_ready && !error);
      if (aw_valid) begin
        assert (aw_addr[11:2] == begin_q + 10'(announced_q));
        assert (5'(announced_q) + 5'(aw_len) < 5'(beats_q));
      end
      // Beats are those of the stream; after giving up, all strobes are zero.
      if (w_valid) assert (w_strb == '0 ? aborted_q : w_data == 32'(taken_q) && w_strb == 4'hf);
      assert (taken_q <= beats_q && given_q <= 5'(beats_q));
      // At the end nothing is open, and without giving up, the complete run was sent.
      if (idle && asked_q) assert (quiet && (aborted_q || taken_q == beats_q));
    end
  end

endmodule

`default_nettype wire
