// SPDX-License-Identifier: Apache-2.0
// Writes one Arrow buffer: takes up to Lanes elements per cycle, makes beats of memory.
//
// Elements have 1 bit (validity, Booleans: packed lowest bit first), 8 bits (bytes of strings) or
// any power of two up to a beat. `last_i` ends the buffer and may come with no element; an empty
// buffer is one beat with strobes of zero. Bits are written in groups of 64; those past the end are
// zero.
//
// Latency: 2 cycles, 4 for bits. Throughput: one piece per cycle.
//
// Layer: arrow.

`include "as_assertions.svh"

`default_nettype none

module as_arrow_values #(
    parameter  int unsigned ElementBits = 64,
    parameter  int unsigned Lanes       = 8,
    parameter  int unsigned Bytes       = 64,
    localparam int unsigned CountBits   = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                         valid_i,
    output logic                         ready_o,
    input  logic [Lanes*ElementBits-1:0] data_i,
    input  logic [        CountBits-1:0] count_i,
    input  logic                         last_i,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [Bytes*8-1:0] data_o,
    output logic [  Bytes-1:0] strobe_o,
    output logic               last_o
);

  // The last step takes bits as words of 64, and other elements as they are.
  localparam bit Packed = ElementBits == 1;
  localparam int unsigned WordBits = Packed ? 64 : ElementBits;
  localparam int unsigned WordLanes = Packed ? 1 : Lanes;
  localparam int unsigned WordBytes = WordBits / 8;
  localparam int unsigned Slots = Bytes / WordBytes;
  localparam int unsigned SlotBits = as_stream_pkg::count_bits(Slots);

  logic                                              word_valid;
  logic                                              word_ready;
  logic [                    WordLanes*WordBits-1:0] word;
  logic [as_stream_pkg::count_bits(WordLanes)-1:0]   word_count;
  logic                                              word_last;
  logic [                              SlotBits-1:0] slots;

  if (Packed) begin : gen_bits
    logic [6:0] bits;
    as_arrow_pack #(
        .ElementBits(1),
        .Lanes(Lanes),
        .Slots(64)
    ) i_bits (
        .clk_i,
        .rst_ni,
        .clr_i,
        .valid_i,
        .ready_o,
        .data_i,
        .count_i,
        .last_i,
        .valid_o(word_valid),
        .ready_i(word_ready),
        .data_o (word),
        .count_o(bits),
        .last_o (word_last)
    );
    assign word_count = bits != '0;
  end else begin : gen_whole
    assign word_valid = valid_i;
    assign ready_o    = word_ready;
    assign word       = data_i;
    assign word_count = count_i;
    assign word_last  = last_i;
  end

  as_arrow_pack #(
      .ElementBits(WordBits),
      .Lanes(WordLanes),
      .Slots(Slots)
  ) i_beats (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(word_valid),
      .ready_o(word_ready),
      .data_i (word),
      .count_i(word_count),
      .last_i (word_last),
      .valid_o,
      .ready_i,
      .data_o,
      .count_o(slots),
      .last_o
  );

  always_comb begin
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      strobe_o[slot*WordBytes+:WordBytes] = {WordBytes{SlotBits'(slot) < slots}};
    end
  end

  `AS_STREAM_STABLE(output, valid_o, ready_i, {last_o, strobe_o, data_o}, clr_i)

endmodule

`default_nettype wire
