// SPDX-License-Identifier: Apache-2.0
// Reads a range of memory over an AXI4 read channel: one request in, the aligned beats that hold
// the range out, in order.
//
// Bursts are as long as BurstBeats and the 4 KiB rule allow. Requests may follow one another
// without a gap, and as many bursts are outstanding as the other side accepts; a user that wants
// prefetched data puts an as_fifo after this module. A range of no bytes has no beats. Ids are
// always 0, sizes are full beats, type INCR.
//
// Latency: one cycle from request to `ar_valid_o`; the data path is wires. Throughput: one beat per
// cycle.
//
// Layer: axi.

`include "as_assertions.svh"

`default_nettype none

module as_axi_reader #(
    parameter  int unsigned Bytes       = 16,
    parameter  int unsigned AddressBits = 64,
    parameter  int unsigned LengthBits  = 32,
    parameter  int unsigned BurstBeats  = 64,
    localparam int unsigned OffsetBits  = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [AddressBits-1:0] address_i,
    input  logic [ LengthBits-1:0] length_i,

    output logic                   ar_valid_o,
    input  logic                   ar_ready_i,
    output logic [AddressBits-1:0] ar_addr_o,
    output logic [            7:0] ar_len_o,
    input  logic                   r_valid_i,
    output logic                   r_ready_o,
    input  logic [    Bytes*8-1:0] r_data_i,
    input  logic [            1:0] r_resp_i,

    output logic               beat_valid_o,
    input  logic               beat_ready_i,
    output logic [Bytes*8-1:0] beat_o,
    // The memory refused the read that this beat came from.
    output logic               beat_error_o
);

  localparam int unsigned BeatBits = LengthBits - OffsetBits + 1;
  // Beats in a 4 KiB page, which a burst must not cross.
  localparam int unsigned PageBits = 12 - OffsetBits;

  logic                           busy_q;
  logic [AddressBits-1:OffsetBits] beat_address_q;
  logic [            BeatBits-1:0] left_q;
  logic                            ar_valid_q;
  logic [             AddressBits-1:0] ar_addr_q;
  logic [                     7:0] ar_len_q;

  logic [            LengthBits:0] span;
  logic [              PageBits:0] page_left;
  logic [                     8:0] burst;

  assign span            = (LengthBits + 1)'(length_i) + (LengthBits + 1)'(address_i[OffsetBits-1:0]) +
                           (LengthBits + 1)'(Bytes - 1);
  assign request_ready_o = !busy_q;
  assign page_left       = (PageBits + 1)'(1 << PageBits) - {1'b0, beat_address_q[OffsetBits+:PageBits]};

  always_comb begin
    burst = 9'(BurstBeats);
    if (32'(page_left) < 32'(burst)) burst = 9'(page_left);
    if (64'(left_q) < 64'(burst)) burst = 9'(left_q);
  end

  assign ar_valid_o = ar_valid_q;
  assign ar_addr_o  = ar_addr_q;
  assign ar_len_o   = ar_len_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q     <= 1'b0;
      ar_valid_q <= 1'b0;
    end else begin
      if (!busy_q) busy_q <= request_valid_i && length_i != '0;
      if (!ar_valid_q || ar_ready_i) begin
        ar_valid_q <= busy_q;
        if (busy_q && 64'(left_q) == 64'(burst)) busy_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!busy_q) begin
      beat_address_q <= address_i[AddressBits-1:OffsetBits];
      left_q         <= span[LengthBits:OffsetBits];
    end else if (!ar_valid_q || ar_ready_i) begin
      ar_addr_q      <= {beat_address_q, {OffsetBits{1'b0}}};
      ar_len_q       <= 8'(burst - 9'd1);
      beat_address_q <= beat_address_q + (AddressBits - OffsetBits)'(burst);
      left_q         <= left_q - BeatBits'(burst);
    end
  end

  // A range ends in a full beat, and only the upper bit of a response signals an error.
  logic unused;
  assign unused = ^{span[OffsetBits-1:0], r_resp_i[0]};

  assign beat_valid_o = r_valid_i;
  assign r_ready_o    = beat_ready_i;
  assign beat_o       = r_data_i;
  assign beat_error_o = r_resp_i[1];

  `AS_POWER_OF_TWO(burst_beats, BurstBeats)
  `AS_STREAM_STABLE(ar, ar_valid_o, ar_ready_i, {ar_len_o, ar_addr_o}, 1'b0)

endmodule

`default_nettype wire
