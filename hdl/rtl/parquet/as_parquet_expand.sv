// SPDX-License-Identifier: Apache-2.0
// Merges values without nulls and level tokens: puts values at their rows, zero where null, and
// makes the validity bits.
//
// Both inputs are streams without page boundaries: a token of no level ends the tokens, `last_i`
// ends the values, and the rest of a word is then discarded. Lanes rows come out per cycle.
//
// Latency: 5 cycles. Throughput: Lanes rows per cycle; a token of fewer rows takes a cycle too.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_expand #(
    parameter  int unsigned Width     = 64,
    parameter  int unsigned Lanes     = 8,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        token_valid_i,
    output logic        token_ready_o,
    input  logic [96:0] token_i,

    input  logic                   value_valid_i,
    output logic                   value_ready_o,
    input  logic [Lanes*Width-1:0] value_i,
    input  logic [  CountBits-1:0] value_count_i,
    input  logic                   value_last_i,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic                   bits_valid_o,
    input  logic                   bits_ready_i,
    output logic [      Lanes-1:0] bits_o,
    output logic [  CountBits-1:0] count_o,
    output logic                   last_o,
    // The current token needs values that are not here yet.
    output logic                   waits_o
);

  localparam int unsigned OffsetBits = as_stream_pkg::index_bits(Lanes);

  // Words full of values.
  logic                   word_valid;
  logic                   word_ready;
  logic [Lanes*Width-1:0] word;
  logic [  CountBits-1:0] word_count;
  logic                   word_last;

  as_arrow_pack #(
      .ElementBits(Width),
      .Lanes(Lanes),
      .Slots(Lanes)
  ) i_pack (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(value_valid_i),
      .ready_o(value_ready_o),
      .data_i (value_i),
      .count_i(value_count_i),
      .last_i (value_last_i),
      .valid_o(word_valid),
      .ready_i(word_ready),
      .data_o (word),
      .count_o(word_count),
      .last_o (word_last)
  );

  // The current token.
  logic        busy_q;
  logic        run_q;
  logic [31:0] left_q;
  logic [63:0] bits_q;
  logic        end_q;

  logic                   first_valid_q;
  logic                   second_valid_q;
  // The last word is here: what follows belongs to another message.
  logic                   last_in_q;
  logic                   word_in;
  logic [Lanes*Width-1:0] first_q;
  logic [Lanes*Width-1:0] second_q;
  logic [ OffsetBits-1:0] offset_q;

  logic [CountBits-1:0] rows;
  logic [    Lanes-1:0] bits;
  logic [CountBits-1:0] need;
  logic [  CountBits:0] sum;
  logic                 enough;
  logic                 step;
  logic                 work;
  logic                 shift;

  always_comb begin
    rows = left_q >= 32'(Lanes) ? CountBits'(Lanes) : CountBits'(left_q);
    need = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      bits[lane] = CountBits'(lane) < rows && (run_q ? bits_q[0] : bits_q[lane]);
      need += CountBits'(bits[lane]);
    end
  end

  assign sum    = (CountBits + 1)'(offset_q) + (CountBits + 1)'(need);
  assign enough = end_q ? last_in_q
                        : need == '0 || (first_valid_q && (second_valid_q || sum <= (CountBits + 1)'(Lanes)));
  assign work   = busy_q && enough && step;
  assign waits_o = busy_q && !enough;
  assign shift  = work && sum >= (CountBits + 1)'(Lanes);

  assign word_ready    = !last_in_q && (!first_valid_q || !second_valid_q || shift || (busy_q && end_q));
  assign word_in       = word_valid && word_ready;
  assign token_ready_o = !busy_q || (work && left_q <= 32'(Lanes));

  // Values before the offset, and what to do with them.
  logic [Lanes*Width-1:0] placed;
  as_funnel #(
      .Unit  (Width),
      .In    (2 * Lanes),
      .Out   (Lanes),
      .AtBits(OffsetBits)
  ) i_place (
      .data_i({second_q, first_q}),
      .at_i  (offset_q),
      .data_o(placed)
  );
  logic                   placed_valid_q;
  logic [Lanes*Width-1:0] placed_q;
  logic [      Lanes-1:0] placed_bits_q;
  logic [  CountBits-1:0] placed_count_q;
  logic                   placed_last_q;

  logic                   valid_q;
  logic                   bits_valid_q;
  logic [Lanes*Width-1:0] data_q;
  logic [      Lanes-1:0] out_bits_q;
  logic [  CountBits-1:0] count_q;
  logic                   last_q;
  logic                   out_free;

  assign out_free     = (!valid_q || ready_i) && (!bits_valid_q || bits_ready_i);
  assign step         = !placed_valid_q || out_free;
  assign valid_o      = valid_q;
  assign bits_valid_o = bits_valid_q;
  assign data_o       = data_q;
  assign bits_o       = out_bits_q;
  assign count_o      = count_q;
  assign last_o       = last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q         <= 1'b0;
      first_valid_q  <= 1'b0;
      second_valid_q <= 1'b0;
      last_in_q      <= 1'b0;
      placed_valid_q <= 1'b0;
      valid_q        <= 1'b0;
      bits_valid_q   <= 1'b0;
      offset_q       <= '0;
    end else if (clr_i) begin
      busy_q         <= 1'b0;
      first_valid_q  <= 1'b0;
      second_valid_q <= 1'b0;
      last_in_q      <= 1'b0;
      placed_valid_q <= 1'b0;
      valid_q        <= 1'b0;
      bits_valid_q   <= 1'b0;
      offset_q       <= '0;
    end else begin
      if (token_ready_o) busy_q <= token_valid_i;
      if (work) offset_q <= OffsetBits'(sum);
      if (shift) begin
        first_valid_q  <= second_valid_q;
        second_valid_q <= word_in && second_valid_q;
        if (!second_valid_q) first_valid_q <= word_in;
      end else if (word_in) begin
        first_valid_q  <= 1'b1;
        second_valid_q <= first_valid_q;
      end
      if (word_in && word_last) last_in_q <= 1'b1;
      if (work && end_q) begin
        first_valid_q  <= 1'b0;
        second_valid_q <= 1'b0;
        last_in_q      <= 1'b0;
        offset_q       <= '0;
      end
      if (step) placed_valid_q <= work;
      // A piece goes to both consumers, to each when it takes it.
      if (ready_i) valid_q <= 1'b0;
      if (bits_ready_i) bits_valid_q <= 1'b0;
      if (placed_valid_q && out_free) begin
        valid_q      <= 1'b1;
        bits_valid_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (token_ready_o) begin
      {run_q, left_q, bits_q} <= token_i;
      end_q                   <= token_i[95:64] == '0;
    end else if (work) begin
      left_q <= left_q - 32'(Lanes);
      if (!run_q) bits_q <= bits_q >> Lanes;
    end
    if (shift) begin
      first_q  <= second_valid_q ? second_q : word;
      second_q <= word;
    end else if (word_in) begin
      if (!first_valid_q) first_q <= word;
      second_q <= word;
    end
    if (step) begin
      placed_q       <= placed;
      placed_bits_q  <= bits;
      placed_count_q <= rows;
      placed_last_q  <= end_q;
    end
    if (placed_valid_q && out_free) begin
      out_bits_q <= placed_bits_q;
      count_q    <= placed_count_q;
      last_q     <= placed_last_q;
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        data_q[lane*Width+:Width] <= placed_bits_q[lane] ? pick(placed_q, placed_bits_q, lane) : '0;
      end
    end
  end

  // The value of a non-null row: its index is the number of ones below its bit.
  function automatic logic [Width-1:0] pick(input logic [Lanes*Width-1:0] values, input logic [Lanes-1:0] ones,
                                            input int unsigned lane);
    logic [CountBits-1:0] below;
    below = '0;
    for (int unsigned k = 0; k < Lanes; k++) begin
      if (k < lane) below += CountBits'(ones[k]);
    end
    return values[OffsetBits'(below)*Width+:Width];
  endfunction

  logic unused;
  assign unused = ^word_count;

  `AS_STREAM_STABLE(output, valid_o, ready_i, {last_o, count_o, data_o}, clr_i)
  `AS_STREAM_STABLE(bits, bits_valid_o, bits_ready_i, {last_o, count_o, bits_o}, clr_i)

endmodule

`default_nettype wire
