// SPDX-License-Identifier: Apache-2.0
// The rules of AXI4 on a manager's port, after the AXI specification (IHI 0022; sections are its
// issue E's): those of the manager are asserted, those of the memory assumed. The line of a failed
// assertion tells the rule.
//
// The ports have one id, bursts of type INCR and full beats, and no RLAST, which the manager
// counts. A channel that a port lacks stays unconnected. The library promises more than the
// specification demands: W does not begin before its address is offered, and follows within
// `WaitMax` cycles, except while `late_i` says that the source of the beats has none.

`default_nettype none

module as_axi_rules #(
    parameter int unsigned Bytes       = 4,
    parameter int unsigned AddressBits = 16,
    parameter int unsigned BurstBeats  = 256,
    parameter int unsigned WaitMax     = 0,
    // Outstanding beats of reads, and bursts of writes, are less than two to this power.
    parameter int unsigned CountBits   = 5
) (
    input logic clk_i,
    input logic rst_ni,

    input logic                   ar_valid_i = 1'b0,
    input logic                   ar_ready_i = 1'b0,
    input logic [AddressBits-1:0] ar_addr_i = '0,
    input logic [            7:0] ar_len_i = '0,
    input logic                   r_valid_i = 1'b0,
    input logic                   r_ready_i = 1'b0,
    input logic [    Bytes*8-1:0] r_data_i = '0,
    input logic [            1:0] r_resp_i = '0,

    input logic                   aw_valid_i = 1'b0,
    input logic                   aw_ready_i = 1'b0,
    input logic [AddressBits-1:0] aw_addr_i = '0,
    input logic [            7:0] aw_len_i = '0,
    input logic                   w_valid_i = 1'b0,
    input logic                   w_ready_i = 1'b0,
    input logic [    Bytes*8-1:0] w_data_i = '0,
    input logic [      Bytes-1:0] w_strb_i = '0,
    input logic                   w_last_i = 1'b0,
    input logic                   b_valid_i = 1'b0,
    input logic                   b_ready_i = 1'b0,
    input logic [            1:0] b_resp_i = '0,

    // Free: the burst whose beats are counted, of those that are offered.
    input logic pick_i = 1'b0,
    input logic late_i = 1'b0,

    // Beats of reads that were requested and have not come.
    output logic [CountBits-1:0] due_o,
    // Nothing is offered, open or unanswered.
    output logic                 quiet_o
);

  localparam int unsigned Size = $clog2(Bytes);
  localparam int unsigned PageBeats = 4096 / Bytes;

  // A3.1.2: nothing is offered in reset.
  always_comb assert (rst_ni || !(ar_valid_i || aw_valid_i || w_valid_i));
  always_comb assume (rst_ni || !(r_valid_i || b_valid_i));

  // A3.2.1: an offer stays, unchanged, until it is taken.
  logic ar_kept, r_kept, aw_kept, w_kept, b_kept;
  as_stream_rules #(
      .Width(AddressBits + 8)
  ) i_ar (
      .clk_i,
      .rst_ni,
      .valid_i(ar_valid_i),
      .ready_i(ar_ready_i),
      .data_i ({ar_len_i, ar_addr_i}),
      .kept_o (ar_kept)
  );
  as_stream_rules #(
      .Width(Bytes * 8 + 2)
  ) i_r (
      .clk_i,
      .rst_ni,
      .valid_i(r_valid_i),
      .ready_i(r_ready_i),
      .data_i ({r_resp_i, r_data_i}),
      .kept_o (r_kept)
  );
  as_stream_rules #(
      .Width(AddressBits + 8)
  ) i_aw (
      .clk_i,
      .rst_ni,
      .valid_i(aw_valid_i),
      .ready_i(aw_ready_i),
      .data_i ({aw_len_i, aw_addr_i}),
      .kept_o (aw_kept)
  );
  as_stream_rules #(
      .Width(Bytes * 9 + 1)
  ) i_w (
      .clk_i,
      .rst_ni,
      .valid_i(w_valid_i),
      .ready_i(w_ready_i),
      .data_i ({w_last_i, w_strb_i, w_data_i}),
      .kept_o (w_kept)
  );
  as_stream_rules #(
      .Width(2)
  ) i_b (
      .clk_i,
      .rst_ni,
      .valid_i(b_valid_i),
      .ready_i(b_ready_i),
      .data_i (b_resp_i),
      .kept_o (b_kept)
  );
  always_comb assert (ar_kept);
  always_comb assert (aw_kept);
  always_comb assert (w_kept);
  always_comb assume (r_kept);
  always_comb assume (b_kept);

  // A3.4.1: a burst of full beats starts at a multiple of a beat, ends in its 4 KiB page, and is
  // not longer than the port's longest.
  logic [11:0] ar_page, aw_page;
  assign ar_page = 12'(ar_addr_i);
  assign aw_page = 12'(aw_addr_i);
  always_comb assert (!ar_valid_i || 32'(ar_len_i) < BurstBeats);
  always_comb assert (!aw_valid_i || 32'(aw_len_i) < BurstBeats);
  always_comb assert (!ar_valid_i || 32'(ar_page) % Bytes == 0);
  always_comb assert (!aw_valid_i || 32'(aw_page) % Bytes == 0);
  always_comb assert (!ar_valid_i || 32'(ar_page >> Size) + 32'(ar_len_i) < PageBeats);
  always_comb assert (!aw_valid_i || 32'(aw_page >> Size) + 32'(aw_len_i) < PageBeats);

  // Beats of reads that were requested and have not come; bursts of writes without a response
  // whose address was taken, and those whose last beat was.
  logic [CountBits-1:0] due_q = '0, addressed_q = '0, ended_q = '0;
  logic ar_taken, r_taken, aw_taken, w_taken, b_taken;
  logic [CountBits+8:0] due;
  assign ar_taken = rst_ni && ar_valid_i && ar_ready_i;
  assign r_taken  = rst_ni && r_valid_i && r_ready_i;
  assign aw_taken = rst_ni && aw_valid_i && aw_ready_i;
  assign w_taken  = rst_ni && w_valid_i && w_ready_i;
  assign b_taken  = rst_ni && b_valid_i && b_ready_i;
  assign due      = (CountBits + 9)'(due_q) + (ar_taken ? (CountBits + 9)'(ar_len_i) + 1'b1 : '0);
  always_ff @(posedge clk_i) begin
    due_q       <= CountBits'(due) - CountBits'(r_taken);
    addressed_q <= addressed_q + CountBits'(aw_taken) - CountBits'(b_taken);
    ended_q     <= ended_q + CountBits'(w_taken && w_last_i) - CountBits'(b_taken);
  end
  // A3.3.1: a response comes after what it answers, and there is one for each. The memory accepts
  // no more than is counted here.
  always_comb assume (!r_valid_i || due_q != '0);
  always_comb assume (!b_valid_i || (addressed_q != '0 && ended_q != '0));
  always_comb assume (due[CountBits+8:CountBits] == '0);
  always_comb assume (!aw_taken || addressed_q != '1);

  // The bursts whose address was offered in an earlier cycle and whose last beat has not gone.
  logic aw_held_q = 1'b0, offer;
  logic [CountBits-1:0] open;
  assign offer = rst_ni && aw_valid_i && !aw_held_q;
  assign open  = addressed_q + CountBits'(aw_held_q) - ended_q;
  always_ff @(posedge clk_i) aw_held_q <= rst_ni && aw_valid_i && !aw_ready_i;
  always_comb assert (!w_valid_i || offer || open != '0);

  // A3.2.2, A3.4.1: as many beats as the address says, and the last one marked. Of one arbitrary
  // burst, the bursts before it that are open, and its length.
  logic follow_q = 1'b0, follow, last;
  logic [CountBits-1:0] before_q, ahead;
  logic [7:0] len_q, len, beat_q = '0;
  assign follow = follow_q || (offer && pick_i);
  assign ahead  = follow_q ? before_q : open;
  assign len    = follow_q ? len_q : aw_len_i;
  assign last   = w_taken && w_last_i;
  always_ff @(posedge clk_i) begin
    follow_q <= follow && !(last && ahead == '0);
    before_q <= ahead - CountBits'(last);
    len_q    <= len;
    if (w_taken) beat_q <= w_last_i ? '0 : beat_q + 8'd1;
  end
  always_comb assert (!(w_valid_i && follow && ahead == '0) || w_last_i == (beat_q == len));

  // A3.3.1: beats wait for no handshake of their address, so that no burst stays open.
  localparam int unsigned WaitBits = $clog2(WaitMax + 2);
  logic [WaitBits-1:0] wait_q = '0;
  logic waits;
  assign waits = rst_ni && (offer || open != '0) && !w_valid_i && !late_i;
  always_ff @(posedge clk_i) wait_q <= waits ? wait_q + 1'b1 : '0;
  always_comb assert (!waits || 32'(wait_q) < WaitMax);

  assign due_o   = due_q;
  assign quiet_o = !ar_valid_i && !aw_valid_i && !w_valid_i && due_q == '0 && addressed_q == '0 &&
                   ended_q == '0 && beat_q == '0;

endmodule

`default_nettype wire
