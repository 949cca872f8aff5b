// SPDX-License-Identifier: Apache-2.0
// Packs pieces of 0 to Lanes elements one behind the other into words of Slots elements: the heart of every Arrow writer.
//
// Words are full but the last of a message, whose `count_o` may be anything from 0 (an empty message, or one that ended with a full
// word while `last_i` came later) to Slots; what is not counted is zero.
//
// First a piece is turned to where it belongs, then it is laid over what waits: two registers, no path longer than the
// turn. Latency: 2 cycles. Throughput: a piece a cycle (a last piece that overflows a word takes two).
//
// Layer: arrow.
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

  // The piece, turned: slots from fill on belong to this word, what went round the end to the next.
  logic                turned_valid_q;
  logic [WordBits-1:0] turned_q;
  logic [FillBits-1:0] fill_q;
  logic [ SumBits-1:0] sum_q;
  logic                last_q;
  // Where the next piece goes.
  logic [FillBits-1:0] next_q;

  logic                flush_q;
  logic [ OutBits-1:0] rest_count_q;
  logic [WordBits-1:0] hold_q;
  logic                valid_q;
  logic [WordBits-1:0] data_q;
  logic [ OutBits-1:0] count_q;
  logic                out_last_q;

  logic                step;
  logic                take;
  logic                full;
  logic                over;
  logic [ SumBits-1:0] sum;
  logic [WordBits-1:0] masked;
  logic [WordBits-1:0] turned;
  logic [WordBits-1:0] word;
  logic [WordBits-1:0] rest;

  assign step    = !valid_q || ready_i;
  assign take    = turned_valid_q && step && !flush_q;
  assign ready_o = !turned_valid_q || take;

  always_comb begin
    masked = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      if (CountBits'(lane) < count_i) masked[lane*ElementBits+:ElementBits] = data_i[lane*ElementBits+:ElementBits];
    end
  end

  // A turn by powers of two: log2(Slots) levels of two-way choices.
  always_comb begin
    turned = masked;
    for (int unsigned k = 0; k < $clog2(Slots); k++) begin
      if (next_q[k]) begin
        turned = (turned << ((1 << k) * ElementBits)) | (turned >> ((Slots - (1 << k)) * ElementBits));
      end
    end
  end

  assign sum  = SumBits'(next_q) + SumBits'(count_i);
  assign full = sum_q >= SumBits'(Slots);
  assign over = sum_q > SumBits'(Slots);

  always_comb begin
    word = hold_q;
    rest = '0;
    for (int unsigned slot = 0; slot < Slots; slot++) begin
      if (FillBits'(slot) >= fill_q) word[slot*ElementBits+:ElementBits] = turned_q[slot*ElementBits+:ElementBits];
      else rest[slot*ElementBits+:ElementBits] = turned_q[slot*ElementBits+:ElementBits];
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
      fill_q   <= Slots == 1 ? '0 : next_q;
      sum_q    <= Slots == 1 ? SumBits'(count_i) : sum;
      last_q   <= last_i;
    end
    if (step) begin
      data_q     <= flush_q ? hold_q : word;
      count_q    <= flush_q ? rest_count_q : full ? OutBits'(Slots) : OutBits'(sum_q);
      out_last_q <= flush_q || (last_q && !over);
      if (take) begin
        hold_q       <= full ? rest : word;
        rest_count_q <= OutBits'(sum_q - SumBits'(Slots));
      end
    end
  end

endmodule
