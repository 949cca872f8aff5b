// SPDX-License-Identifier: Apache-2.0
// Proves for as_axi_read_mux that every burst requested by a reader goes to memory once, in the
// order of the grants, and that its beats come back to that reader only.
//
// Tracks one arbitrary burst. The memory here answers requests in order, at any time.

`default_nettype none

module as_axi_read_mux_proof (
    input logic       clk_i,
    input logic [1:0] s_valid_i,
    input logic [7:0] addresses_i,
    input logic [1:0] lengths_i,
    input logic [1:0] s_r_ready_i,
    input logic       ar_ready_i,
    input logic       r_valid_i,
    input logic       pick_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] s_ready, s_r_valid;
  logic [31:0] s_r_data;
  logic [1:0] s_r_resp;
  logic ar_valid, r_ready, idle, r_valid;
  logic [3:0] ar_addr;
  logic [7:0] ar_len;

  as_axi_read_mux #(
      .Readers    (2),
      .Bytes      (4),
      .AddressBits(4),
      .Outstanding(4)
  ) i_mux (
      .clk_i,
      .rst_ni      (rst_n),
      .s_ar_valid_i(s_valid_i),
      .s_ar_ready_o(s_ready),
      .s_ar_addr_i (addresses_i),
      .s_ar_len_i  ({7'd0, lengths_i[1], 7'd0, lengths_i[0]}),
      .s_r_valid_o (s_r_valid),
      .s_r_ready_i (s_r_ready_i),
      .s_r_data_o  (s_r_data),
      .s_r_resp_o  (s_r_resp),
      .ar_valid_o  (ar_valid),
      .ar_ready_i  (ar_ready_i),
      .ar_addr_o   (ar_addr),
      .ar_len_o    (ar_len),
      .r_valid_i   (r_valid),
      .r_ready_o   (r_ready),
      .r_data_i    (32'd0),
      .r_resp_i    (2'd0),
      .idle_o      (idle)
  );

  logic kept;
  as_stream_rules #(
      .Width(12)
  ) i_ar (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(ar_valid),
      .ready_i(ar_ready_i),
      .data_i ({ar_len, ar_addr}),
      .kept_o (kept)
  );

  // Beats granted and not yet requested, beats requested and not yet returned; for the tracked
  // grant, how many of each are before it, whether it was requested, and how many beats are left.
  logic [5:0] owed_q = '0;
  logic [5:0] due_q = '0;
  logic       follow_q = 1'b0;
  logic       owner_q = 1'b0;
  logic [5:0] ask_q = '0;
  logic       asked_q = 1'b0;
  logic [5:0] give_q = '0;
  logic [1:0] mine_q = '0;
  logic [3:0] address_q = '0;
  logic       grant, which, length;
  logic [5:0] asks, gives;
  assign which   = s_ready[1];
  assign length  = which ? lengths_i[1] : lengths_i[0];
  assign grant   = |(s_ready & s_valid_i) && rst_n;
  assign r_valid = r_valid_i && due_q != '0;
  assign asks    = ar_valid && ar_ready_i ? 6'd1 + 6'(ar_len) : 6'd0;
  assign gives   = 6'(r_valid && r_ready);

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      owed_q <= owed_q + (grant ? 6'd1 + 6'(length) : 6'd0) - asks;
      due_q  <= due_q + asks - gives;
      if (grant && pick_i && !follow_q) begin
        follow_q  <= 1'b1;
        owner_q   <= which;
        ask_q     <= owed_q - asks;
        asked_q   <= 1'b0;
        give_q    <= owed_q + due_q - gives;
        mine_q    <= 2'd1 + 2'(length);
        address_q <= which ? addresses_i[7:4] : addresses_i[3:0];
      end else if (follow_q) begin
        if (asks != '0 && ask_q == '0) asked_q <= 1'b1;
        if (ask_q != '0) ask_q <= ask_q - asks;
        if (give_q != '0) give_q <= give_q - gives;
        else if (gives != '0) begin
          mine_q <= mine_q - 2'd1;
          if (mine_q == 2'd1) follow_q <= 1'b0;
        end
      end
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      // One grant at a time, only to a requester, and never more beats requested than granted.
      assert (s_ready != 2'b11 && (s_ready & ~s_valid_i) == '0);
      assert (s_r_valid != 2'b11);
      assert (!ar_valid || 6'd1 + 6'(ar_len) <= owed_q);
      assert (!ar_valid || !follow_q || asked_q || ask_q != '0 || (ar_addr == address_q && mine_q == 2'd1 + 2'(ar_len)));
      // A beat goes to its owner, and is taken from the memory exactly when the owner takes it.
      assert (r_valid == |s_r_valid);
      assert ((r_valid && r_ready) == |(s_r_valid & s_r_ready_i));
      if (follow_q && r_valid && give_q == '0) assert (s_r_valid == (owner_q ? 2'b10 : 2'b01));
      assert (!idle || (owed_q == '0 && due_q == '0));
    end
  end

endmodule

`default_nettype wire
