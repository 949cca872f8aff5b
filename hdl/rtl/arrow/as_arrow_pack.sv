// SPDX-License-Identifier: Apache-2.0
// Packs pieces of 0 to Lanes elements back to back into words of Slots elements: the core of every
// Arrow writer.
//
// Every word is full except the last of a message, whose `count_o` is 0 to Slots. It is 0 for an
// empty message, and for one that ended with a full word before `last_i` came. Elements beyond the
// count are zero.
//
// The piece is first rotated to its place, then merged over the waiting word: two registers, and no
// path longer than the rotation. A piece is rotated within as many slots as it may have and then
// replicated: the copies and the uncounted elements are overwritten by the next piece, or lie past
// the end and are zeroed with the last word. Latency: 2 cycles. Throughput: one piece per cycle (a
// last piece that overflows a word takes two).
//
// Layer: arrow.

`include "as_assertions.svh"

`default_nettype none

module as_arrow_pack #(
    parameter  int unsigned ElementBits = 8,
    parameter  int unsigned Lanes       = 8,
    parameter  int unsigned Slots       = 16,
    localparam int unsigned CountBits   = as_stream_pkg::count_bits(Lanes),
    localparam int unsigned OutBits     = as_stream_pkg::count_bits(Slots)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                         valid_i,
    output logic                         ready_o,
    input  logic [Lanes*ElementBits-1:0] data_i,
    input  logic [        CountBits-1:0] count_i,
    input  logic                         last_i,

    output logic                         valid_o,
    input  logic                         ready_i,
    output logic [Slots*ElementBits-1:0] data_o,
    output logic [          OutBits-1:0] count_o,
    output logic                         last_o
);

  localparam int unsigned FillBits = as_stream_pkg::index_bits(Slots);
  localparam int unsigned SumBits = as_stream_pkg::count_bits(2 * Slots);
  localparam int unsigned WordBits = Slots * ElementBits;

  // Slots of the rotated piece; the slots of a word are copies of it.
  localparam int unsigned Turn = Lanes < Slots ? 1 << $clog2(Lanes) : Slots;

  // The rotated piece: slots from `fill` on belong to this word, those that wrapped around to the
  // next.
  logic                        turned_valid_q;
  logic [Turn*ElementBits-1:0] turned_q;
  // Slots before the piece, and slots that are full after it.
  logic [           Slots-1:0] before_q;
  logic [           Slots-1:0] counted_q;
  logic [         SumBits-1:0] sum_q;
  logic                        last_q;
  // Where the next piece starts.
  logic [        FillBits-1:0] next_q;

  logic                flush_q;
  logic [ OutBits-1:0] rest_count_q;
  logic [WordBits-1:0] hold_q;
  logic                valid_q;
  logic [WordBits-1:0] data_q;
  logic [ OutBits-1:0] count_q;
  logic                out_last_q;

  logic                        step;
  logic                        take;
  logic                        full;
  logic                        over;
  logic [         SumBits-1:0] sum;
  logic [Turn*ElementBits-1:0] turned;
  logic [           Slots-1:0] counted;

  assign step    = !valid_q || ready_i;
  assign take    = turned_valid_q && step && !flush_q;
  assign ready_o = !turned_valid_q || take;

  // A rotation by powers of two.
  always_comb begin
    turned = (Turn * ElementBits)'(data_i);
    for (int unsigned k = 0; 1 << k < Turn; k++) begin
      if (next_q[k]) begin
        turned = (turned << ((1 << k) * ElementBits)) | (turned >> ((Turn - (1 << k)) * ElementBits));
      end
    end
  end

  assign sum  = SumBits'(next_q) + SumBits'(count_i);
  assign full = sum_q >= SumBits'(Slots);
  assign over = sum_q > SumBits'(Slots);

  always_comb begin
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      counted[slot] = flush_q ? OutBits'(slot) < rest_count_q : counted_q[slot];
    end
  end

  assign valid_o = valid_q;
  assign data_o  = data_q;
  assign count_o = count_q;
  assign last_o  = out_last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turned_valid_q <= 1'b0;
      next_q         <= '0;
      flush_q        <= 1'b0;
      valid_q        <= 1'b0;
    end else if (clr_i) begin
      turned_valid_q <= 1'b0;
      next_q         <= '0;
      flush_q        <= 1'b0;
      valid_q        <= 1'b0;
    end else begin
      if (ready_o) turned_valid_q <= valid_i;
      if (ready_o && valid_i) next_q <= last_i || Slots == 1 ? '0 : FillBits'(sum);
      if (step) begin
        valid_q <= flush_q || (take && (full || last_q));
        flush_q <= take && last_q && over;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      turned_q <= turned;
      for (int unsigned slot = 0; slot < Slots; slot++) begin
        before_q[slot]  <= SumBits'(slot) < SumBits'(next_q);
        counted_q[slot] <= SumBits'(slot) < sum;
      end
      sum_q  <= Slots == 1 ? SumBits'(count_i) : sum;
      last_q <= last_i;
    end
    if (step) begin
      for (int unsigned slot = 0; slot < Slots; slot++) begin
        data_q[slot*ElementBits+:ElementBits] <=
            {ElementBits{counted[slot]}} & (flush_q || before_q[slot] ? hold_q[slot*ElementBits+:ElementBits]
                                                                      : turned_q[(slot%Turn)*ElementBits+:ElementBits]);
        // What went into a full word is no longer needed.
        if (take && (full || !before_q[slot])) begin
          hold_q[slot*ElementBits+:ElementBits] <= turned_q[(slot%Turn)*ElementBits+:ElementBits];
        end
      end
      count_q    <= flush_q ? rest_count_q : full ? OutBits'(Slots) : OutBits'(sum_q);
      out_last_q <= flush_q || (last_q && !over);
      if (take) rest_count_q <= OutBits'(sum_q - SumBits'(Slots));
    end
  end

  `AS_STREAM_STABLE(output, valid_o, ready_i, {last_o, count_o, data_o}, clr_i)

endmodule

`default_nettype wire
