// SPDX-License-Identifier: Apache-2.0
// Distinguishes `true`, `false`, `null` and JSON numbers from all other text. The text is at the
// end of the window.
//
// Latency: `LiteralLatency` cycles. Throughput: one per cycle. No stalls.
//
// Layer: json.

`default_nettype none

module as_json_literal
  import as_json_pkg::*;
#(
    // A power of two.
    parameter int unsigned Window = 32
) (
    input logic clk_i,

    // The classes of the window's bytes, and its last five bytes.
    input logic [Window*4-1:0] classes_i,
    input logic [        39:0] text_i,

    output logic true_o,
    output logic false_o,
    output logic null_o,
    output logic number_o,
    // It is right after a quote.
    output logic opened_o,
    // Too long to decide.
    output logic long_o
);

  // Cycle 1: whether each byte may stand between its neighbours, in a number that begins after a
  // byte that is not part of a text.
  logic [Window-1:0] token, quote, digit, zero, minus, plus, point, power, good;
  always_comb begin
    for (int unsigned i = 0; i < Window; i++) begin
      class_e c;
      c        = class_e'(classes_i[i*4+:4]);
      token[i] = c[3:2] != CoarseNone;
      quote[i] = c == ClassQuote;
      digit[i] = c[3:2] == CoarseDigit;
      zero[i]  = c == ClassZero;
      minus[i] = c == ClassMinus;
      plus[i]  = c == ClassPlus;
      point[i] = c == ClassPoint;
      power[i] = c == ClassPower;
    end
  end
  // In a mask shifted left, bit i describes the byte before byte i; shifted right, the byte after
  // it.
  logic [Window-1:0] first, sign;
  always_comb begin
    first = token & ~(token << 1);
    sign  = minus | plus;
    good  = digit;
    good |= sign & (first & minus | power << 1) & digit >> 1;
    good |= point & digit << 1 & digit >> 1;
    good |= power & digit << 1 & (digit | sign) >> 1;
    // No digit follows a leading zero.
    good &= ~(zero & (first | (first & minus) << 1) & digit >> 1);
  end
  logic [Window-1:0] token_q, bad_q, point_q, power_q, open_q;
  logic ended_q, true_q, false_q, null_q;
  always_ff @(posedge clk_i) begin
    token_q <= token;
    bad_q   <= ~good;
    point_q <= point;
    power_q <= power;
    open_q  <= ~token & quote;
    ended_q <= digit[Window-1];
    true_q  <= text_i[39:8] == {"e", "u", "r", "t"} && !token[Window-5];
    false_q <= text_i == {"e", "s", "l", "a", "f"} && !token[Window-6];
    null_q  <= text_i[39:8] == {"l", "l", "u", "n"} && !token[Window-5];
  end

  // Cycle 2: the contiguous valid bytes at the end. Each byte depends on all later ones; computed
  // in log2(window) steps.
  logic [Window-1:0] tokens;
  always_comb begin
    tokens = token_q;
    for (int unsigned step = 1; step < Window; step *= 2) begin
      tokens &= tokens >> step | ~({Window{1'b1}} >> step);
    end
  end
  logic [Window-1:0] points_q, powers_q;
  logic right_q, opened_q, long_q, true_more_q, false_more_q, null_more_q;
  always_ff @(posedge clk_i) begin
    points_q     <= tokens & point_q;
    powers_q     <= tokens & power_q;
    right_q      <= ended_q && (tokens & bad_q) == '0;
    opened_q     <= |(tokens & open_q << 1);
    long_q       <= tokens[0];
    true_more_q  <= true_q;
    false_more_q <= false_q;
    null_more_q  <= null_q;
  end

  // Cycle 3: no point follows a point or a letter, and no letter follows a letter. A tree of
  // halves, each put in place of its first byte.
  logic [Window-1:0] points, powers, twice;
  always_comb begin
    points = points_q;
    powers = powers_q;
    twice  = '0;
    for (int unsigned half = 1; half < Window; half *= 2) begin
      for (int unsigned i = 0; i < Window; i += half * 2) begin
        twice[i] |= twice[i+half] || (points[i+half] && (points[i] || powers[i])) || (powers[i+half] && powers[i]);
        points[i] |= points[i+half];
        powers[i] |= powers[i+half];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    opened_o <= opened_q;
    long_o   <= long_q;
    true_o   <= true_more_q;
    false_o  <= false_more_q;
    null_o   <= null_more_q;
    number_o <= right_q && !twice[0];
  end

endmodule

`default_nettype wire
