// SPDX-License-Identifier: Apache-2.0
// Writes a run of aligned beats to memory over an AXI4 write channel.
//
// A request names the first beat's address and the number of beats; then that many beats are taken
// from the stream. Bursts are as long as BurstBeats and the 4 KiB rule allow. `abort_i`, held until
// `idle_o`, gives up a request: issued bursts are completed with strobes of zero, as the protocol
// demands, no further burst begins, and the stream is ignored. `idle_o` is high when every write
// has its response, and the next request comes after that; `error_o` is high, until that request,
// once the memory refused a write.
//
// Latency: one cycle to `aw_valid_o`; the data path is wires. Throughput: one beat per cycle.
//
// Layer: axi.

`include "as_assertions.svh"

`default_nettype none

module as_axi_writer #(
    parameter  int unsigned Bytes       = 16,
    parameter  int unsigned AddressBits = 64,
    parameter  int unsigned BeatBits    = 16,
    parameter  int unsigned BurstBeats  = 64,
    localparam int unsigned OffsetBits  = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                            request_i,
    input  logic [AddressBits-1:OffsetBits] beat_address_i,
    input  logic [            BeatBits-1:0] beats_i,
    input  logic                            abort_i,
    output logic                            idle_o,
    output logic                            error_o,

    input  logic               valid_i,
    output logic               ready_o,
    input  logic [Bytes*8-1:0] data_i,
    input  logic [  Bytes-1:0] strobe_i,

    output logic                   aw_valid_o,
    input  logic                   aw_ready_i,
    output logic [AddressBits-1:0] aw_addr_o,
    output logic [            7:0] aw_len_o,
    output logic                   w_valid_o,
    input  logic                   w_ready_i,
    output logic [    Bytes*8-1:0] w_data_o,
    output logic [      Bytes-1:0] w_strb_o,
    output logic                   w_last_o,
    input  logic                   b_valid_i,
    output logic                   b_ready_o,
    input  logic [            1:0] b_resp_i
);

  localparam int unsigned PageBits = 12 - OffsetBits;

  logic [AddressBits-1:OffsetBits] beat_address_q;
  logic [            BeatBits-1:0] left_q;
  logic                            aw_valid_q;
  logic [         AddressBits-1:0] aw_addr_q;
  logic [                     7:0] aw_len_q;
  logic                            abort_q;
  logic                            error_q;
  logic [            BeatBits-1:0] answers_left_q;

  logic [              PageBits:0] page_left;
  logic [                     8:0] burst;
  logic                            announce;

  logic                            lengths_ready;
  logic                            length_valid;
  logic [                     7:0] length;
  logic                            length_done;
  logic [                     7:0] beat_q;

  assign page_left = (PageBits + 1)'(1 << PageBits) - {1'b0, beat_address_q[OffsetBits+:PageBits]};

  always_comb begin
    burst = 9'(BurstBeats);
    if (32'(page_left) < 32'(burst)) burst = 9'(page_left);
    if (32'(left_q) < 32'(burst)) burst = 9'(left_q);
  end

  assign announce   = left_q != '0 && lengths_ready && (!aw_valid_q || aw_ready_i) && !abort_i && !abort_q;
  assign aw_valid_o = aw_valid_q;
  assign aw_addr_o  = aw_addr_q;
  assign aw_len_o   = aw_len_q;

  // Lengths of the issued bursts whose beats are still to come.
  as_fifo #(
      .Width(8),
      .Depth(4)
  ) i_lengths (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(announce),
      .ready_o(lengths_ready),
      .data_i (8'(burst - 9'd1)),
      .valid_o(length_valid),
      .ready_i(length_done),
      .data_o (length)
  );

  assign w_valid_o   = length_valid && (valid_i || abort_q);
  assign w_last_o    = beat_q == length;
  assign w_data_o    = abort_q ? '0 : data_i;
  assign w_strb_o    = abort_q ? '0 : strobe_i;
  assign ready_o     = length_valid && w_ready_i && !abort_q;
  assign length_done = w_valid_o && w_ready_i && w_last_o;

  // Only the upper bit of a response signals an error.
  logic unused;
  assign unused = b_resp_i[0];

  assign b_ready_o = 1'b1;
  assign error_o   = error_q;
  assign idle_o    = (left_q == '0 || abort_q) && answers_left_q == '0 && !aw_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q         <= '0;
      aw_valid_q     <= 1'b0;
      abort_q        <= 1'b0;
      error_q        <= 1'b0;
      beat_q         <= '0;
      answers_left_q <= '0;
    end else begin
      if (request_i) begin
        left_q  <= beats_i;
        abort_q <= 1'b0;
        error_q <= 1'b0;
      end else begin
        if (announce) left_q <= left_q - BeatBits'(burst);
        // An offered beat must not change its strobes: giving up waits until it is taken.
        if (abort_i && !(w_valid_o && !w_ready_i)) abort_q <= 1'b1;
        if (b_valid_i && b_resp_i[1]) error_q <= 1'b1;
      end
      if (!aw_valid_q || aw_ready_i) aw_valid_q <= announce;
      if (w_valid_o && w_ready_i) beat_q <= w_last_o ? '0 : beat_q + 1'b1;
      answers_left_q <= answers_left_q + BeatBits'(announce) - BeatBits'(b_valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (request_i) begin
      beat_address_q <= beat_address_i;
    end else if (announce) begin
      beat_address_q <= beat_address_q + (AddressBits - OffsetBits)'(burst);
    end
    if (announce) begin
      aw_addr_q <= {beat_address_q, {OffsetBits{1'b0}}};
      aw_len_q  <= 8'(burst - 9'd1);
    end
  end

  `AS_STREAM_STABLE(aw, aw_valid_o, aw_ready_i, {aw_len_o, aw_addr_o}, 1'b0)
  `AS_STREAM_STABLE(w, w_valid_o, w_ready_i, {w_last_o, w_strb_o, w_data_o}, 1'b0)

endmodule

`default_nettype wire
