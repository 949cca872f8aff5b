// SPDX-License-Identifier: Apache-2.0
// Proves for as_ap_control the rules of AXI4-Lite on the host's side, with address and data of a
// write in any order; towards the circuit, that there is one write and one read at a time, and no
// response is missed; and that no two reads show ap_done for one end of the circuit, or one for
// none.
//
// The circuit is any that answers: a write of 1 to StartAddress starts it, and some time later it
// has ended.

`default_nettype none

module as_ap_control_proof (
    input logic        clk_i,
    input logic        aw_valid_i,
    input logic        w_valid_i,
    input logic        b_ready_i,
    input logic        ar_valid_i,
    input logic        r_ready_i,
    input logic [15:0] aw_addr_i,
    input logic [15:0] ar_addr_i,
    input logic [ 7:0] data_i,
    input logic [ 3:0] strb_i,
    input logic        m_aw_ready_i,
    input logic        m_w_ready_i,
    input logic        m_ar_ready_i,
    input logic        answer_i,
    input logic        refuse_i,
    input logic        end_i
);

  localparam logic [15:0] Start = 16'h0018;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic aw_ready, w_ready, b_valid, ar_ready, r_valid, kept;
  logic [1:0] b_resp, r_resp;
  logic [31:0] r_data;
  logic m_aw_valid, m_w_valid, m_b_ready, m_ar_valid, m_r_ready, interrupt;
  logic [15:0] m_aw_addr, m_ar_addr, write_address, read_address;
  logic [31:0] m_w_data;
  logic [ 3:0] m_w_strb;

  // The circuit's side: taken and not answered.
  logic aw_q = 1'b0, w_q = 1'b0, ar_q = 1'b0;
  logic m_b_valid, m_r_valid;
  assign m_b_valid = aw_q && w_q && answer_i;
  assign m_r_valid = ar_q && answer_i;

  // Running and ended, as a circuit shows it.
  logic busy_q = 1'b0, done_q = 1'b0;
  // Its ends, less the reads that showed ap_done; there can be two of these on their way.
  logic [1:0] unseen_q = '0;

  as_ap_control #(
      .StartAddress(Start)
  ) i_control (
      .clk_i,
      .rst_ni          (rst_n),
      .s_aw_valid_i    (aw_valid_i),
      .s_aw_ready_o    (aw_ready),
      .s_aw_addr_i     (aw_addr_i),
      .s_w_valid_i     (w_valid_i),
      .s_w_ready_o     (w_ready),
      .s_w_data_i      ({24'd0, data_i}),
      .s_w_strb_i      (strb_i),
      .s_b_valid_o     (b_valid),
      .s_b_ready_i     (b_ready_i),
      .s_b_resp_o      (b_resp),
      .s_ar_valid_i    (ar_valid_i),
      .s_ar_ready_o    (ar_ready),
      .s_ar_addr_i     (ar_addr_i),
      .s_r_valid_o     (r_valid),
      .s_r_ready_i     (r_ready_i),
      .s_r_data_o      (r_data),
      .s_r_resp_o      (r_resp),
      .m_aw_valid_o    (m_aw_valid),
      .m_aw_ready_i    (m_aw_ready_i),
      .m_aw_addr_o     (m_aw_addr),
      .m_w_valid_o     (m_w_valid),
      .m_w_ready_i     (m_w_ready_i),
      .m_w_data_o      (m_w_data),
      .m_w_strb_o      (m_w_strb),
      .m_b_valid_i     (m_b_valid),
      .m_b_ready_o     (m_b_ready),
      .m_b_resp_i      ({refuse_i, 1'b0}),
      .m_ar_valid_o    (m_ar_valid),
      .m_ar_ready_i    (m_ar_ready_i),
      .m_ar_addr_o     (m_ar_addr),
      .m_r_valid_i     (m_r_valid),
      .m_r_ready_o     (m_r_ready),
      .m_r_data_i      (32'd0),
      .m_r_resp_i      ({refuse_i, 1'b0}),
      .write_address_o (write_address),
      .write_register_i({4'h1, write_address[11:0]}),
      .write_known_i   (write_address[11:6] == '0),
      .read_address_o  (read_address),
      .read_known_i    (read_address[11:6] == '0),
      .done_i          (done_q),
      .interrupt_o     (interrupt)
  );

  as_axil_rules i_rules (
      .clk_i,
      .rst_ni    (rst_n),
      .aw_valid_i(aw_valid_i),
      .aw_ready_i(aw_ready),
      .w_valid_i (w_valid_i),
      .w_ready_i (w_ready),
      .b_valid_i (b_valid),
      .b_ready_i (b_ready_i),
      .b_resp_i  (b_resp),
      .ar_valid_i(ar_valid_i),
      .ar_ready_i(ar_ready),
      .r_valid_i (r_valid),
      .r_ready_i (r_ready_i),
      .r_data_i  (r_data),
      .r_resp_i  (r_resp),
      .kept_o    (kept)
  );

  // The write that the circuit has taken starts it with its response.
  logic starts_q;
  // The addresses of the reads that were taken and not answered, the first one lowest, and their
  // number.
  logic [31:0] ar_addr_q;
  logic [1:0] reads_q = '0;
  logic asks, answered;
  assign asks     = ar_valid_i && ar_ready;
  assign answered = r_valid && r_ready_i;
  logic ends, shows, shown;
  assign ends  = busy_q && end_i;
  assign shows = r_valid && ar_addr_q[15:2] == '0 && r_data[1];
  assign shown = shows && r_ready_i;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (m_aw_valid && m_aw_ready_i) begin
        aw_q     <= 1'b1;
        starts_q <= m_aw_addr == Start;
      end else if (m_b_valid && m_b_ready) aw_q <= 1'b0;
      if (m_w_valid && m_w_ready_i) w_q <= 1'b1;
      else if (m_b_valid && m_b_ready) w_q <= 1'b0;
      if (m_ar_valid && m_ar_ready_i) ar_q <= 1'b1;
      else if (m_r_valid && m_r_ready) ar_q <= 1'b0;
      if (m_b_valid && m_b_ready && starts_q) begin
        busy_q <= 1'b1;
        done_q <= 1'b0;
      end else if (ends) begin
        busy_q <= 1'b0;
        done_q <= 1'b1;
      end
      reads_q <= reads_q + 2'(asks) - 2'(answered);
      if (answered) ar_addr_q[15:0] <= ar_addr_q[31:16];
      if (asks && reads_q == 2'(answered)) ar_addr_q[15:0] <= ar_addr_i;
      else if (asks) ar_addr_q[31:16] <= ar_addr_i;
      if (ends && !shown && unseen_q != '1) unseen_q <= unseen_q + 2'd1;
      if (!ends && shown) unseen_q <= unseen_q - 2'd1;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      // One at a time, and nothing new before the response.
      assert (!(m_aw_valid && aw_q) && !(m_w_valid && w_q) && !(m_ar_valid && ar_q));
      assert (!m_b_valid || m_b_ready);
      assert (!m_r_valid || m_r_ready);
      assert (!reads_q[1] || !reads_q[0]);
      assert (!shows || unseen_q != '0);
    end
  end

endmodule

`default_nettype wire
