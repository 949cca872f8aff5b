// SPDX-License-Identifier: Apache-2.0
// Proves for as_axi_read_mux the rules of AXI4, if readers obey them; that every burst requested by
// a reader goes to memory once, in the order of the grants; and that its beats come back to that
// reader only, each offered until it is taken.
//
// Tracks one arbitrary burst. The memory here answers requests in order, at any time.

`default_nettype none

module as_axi_read_mux_proof (
    input logic       clk_i,
    input logic [1:0] s_valid_i,
    input logic [5:0] places_i,
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
  logic [1:0] s_valid, lengths;
  logic [3:0] due;
  logic ar_valid, r_ready, idle, quiet, r_kept;
  logic [13:0] ar_addr;
  logic [27:0] addresses;
  logic [7:0] ar_len;
  // Readers obey the rules. Their addresses are the last two beats of a page and the first two of
  // another, and the last beat is a burst of its own.
  for (genvar s = 0; s < 2; s++) begin : gen_reader
    logic [2:0] place;
    logic more;
    as_stream_source #(
        .Width(4)
    ) i_source (
        .clk_i,
        .rst_ni (rst_n),
        .valid_i(s_valid_i[s]),
        .data_i ({lengths_i[s], places_i[s*3+:3]}),
        .ready_i(s_ready[s]),
        .valid_o(s_valid[s]),
        .data_o ({more, place})
    );
    assign addresses[s*14+:14] = {place[2:1], {9{place[1]}}, place[0], 2'b00};
    assign lengths[s]          = more && place[1:0] != 2'b11;
  end

  as_axi_read_mux #(
      .Readers    (2),
      .Bytes      (4),
      .AddressBits(14),
      .Outstanding(4)
  ) i_mux (
      .clk_i,
      .rst_ni      (rst_n),
      .s_ar_valid_i(s_valid),
      .s_ar_ready_o(s_ready),
      .s_ar_addr_i (addresses),
      .s_ar_len_i  ({7'd0, lengths[1], 7'd0, lengths[0]}),
      .s_r_valid_o (s_r_valid),
      .s_r_ready_i (s_r_ready_i),
      .s_r_data_o  (s_r_data),
      .s_r_resp_o  (s_r_resp),
      .ar_valid_o  (ar_valid),
      .ar_ready_i,
      .ar_addr_o   (ar_addr),
      .ar_len_o    (ar_len),
      .r_valid_i,
      .r_ready_o   (r_ready),
      .r_data_i    (32'd0),
      .r_resp_i    (2'd0),
      .idle_o      (idle)
  );

  as_axi_rules #(
      .AddressBits(14),
      .BurstBeats (2),
      .CountBits  (4)
  ) i_rules (
      .clk_i,
      .rst_ni    (rst_n),
      .ar_valid_i(ar_valid),
      .ar_ready_i,
      .ar_addr_i (ar_addr),
      .ar_len_i  (ar_len),
      .r_valid_i,
      .r_ready_i (r_ready),
      .due_o     (due),
      .quiet_o   (quiet)
  );
  // The payload is memory's: two wires.
  as_stream_rules #(
      .Width(2)
  ) i_r (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(s_r_valid != '0),
      .ready_i(r_ready),
      .data_i (s_r_valid),
      .kept_o (r_kept)
  );

  // Beats granted and not yet requested, beats requested and not yet returned; for the tracked
  // grant, how many of each are before it, whether it was requested, and how many beats are left.
  logic [3:0] owed_q = '0;
  logic       follow_q = 1'b0;
  logic       owner_q = 1'b0;
  logic [3:0] ask_q = '0;
  logic       asked_q = 1'b0;
  logic [3:0] give_q = '0;
  logic [1:0] mine_q = '0;
  logic [13:0] address_q = '0;
  logic       grant, which, length;
  logic [3:0] asks, gives;
  assign which   = s_ready[1];
  assign length  = which ? lengths[1] : lengths[0];
  assign grant   = |(s_ready & s_valid) && rst_n;
  assign asks    = ar_valid && ar_ready_i ? 4'd1 + 4'(ar_len) : 4'd0;
  assign gives   = 4'(r_valid_i && r_ready && rst_n);

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      owed_q <= owed_q + (grant ? 4'd1 + 4'(length) : 4'd0) - asks;
      if (grant && pick_i && !follow_q) begin
        follow_q  <= 1'b1;
        owner_q   <= which;
        ask_q     <= owed_q - asks;
        asked_q   <= 1'b0;
        give_q    <= owed_q + due - gives;
        mine_q    <= 2'd1 + 2'(length);
        address_q <= which ? addresses[27:14] : addresses[13:0];
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
      // One grant at a time, only to a requester, and never more beats requested than granted.
      assert (s_ready != 2'b11 && (s_ready & ~s_valid) == '0);
      assert (s_r_valid != 2'b11);
      assert (!ar_valid || 4'd1 + 4'(ar_len) <= owed_q);
      if (ar_valid && follow_q && !asked_q && ask_q == '0) begin
        assert (ar_addr == address_q && mine_q == 2'd1 + 2'(ar_len));
      end
      // A beat goes to its owner, and is taken from the memory exactly when the owner takes it.
      assert (r_kept && r_valid_i == |s_r_valid);
      assert ((r_valid_i && r_ready) == |(s_r_valid & s_r_ready_i));
      if (follow_q && r_valid_i && give_q == '0) assert (s_r_valid == (owner_q ? 2'b10 : 2'b01));
      assert (!idle || (owed_q == '0 && quiet));
    end
  end

endmodule

`default_nettype wire
