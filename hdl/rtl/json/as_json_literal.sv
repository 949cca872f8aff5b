// SPDX-License-Identifier: Apache-2.0
// Tells `true`, `false`, `null` and the grammar of JSON's numbers apart from all other text. The text stands at the end of the window.
//
// Latency: 2 cycles. Throughput: one a cycle. No stalls.
//
// Layer: json.
module as_json_literal #(
    parameter int unsigned Window = 32
) (
    input logic clk_i,

    input logic [Window*8-1:0] text_i,

    output logic true_o,
    output logic false_o,
    output logic null_o,
    output logic number_o,
    // It stands right behind a quote.
    output logic opened_o,
    // Too long to say.
    output logic long_o
);

  // Bytes of the token, from its end; those before it are taken for spaces.
  logic [Window-1:0] tokens, digits, zeros, minuses, pluses, points, letters;
  always_comb begin
    for (int unsigned i = 0; i < Window; i++) begin
      logic [7:0] c;
      c          = text_i[i*8+:8];
      tokens[i]  = !(c == " " || c == 8'h09 || c == 8'h0d || c == 8'h0a || c == 8'h22 || c == "," || c == "[" ||
                     c == "]" || c == "{" || c == "}" || c == ":");
      digits[i]  = c >= "0" && c <= "9";
      zeros[i]   = c == "0";
      minuses[i] = c == "-";
      pluses[i]  = c == "+";
      points[i]  = c == ".";
      letters[i] = c == "e" || c == "E";
    end
    // Every byte needs all behind it; in as many steps as the window's size has bits.
    for (int unsigned step = 1; step < Window; step *= 2) begin
      tokens &= tokens >> step | ~({Window{1'b1}} >> step);
    end
  end
  logic [Window-1:0] tokens_q, digits_q, zeros_q, minuses_q, pluses_q, points_q, letters_q;
  logic [Window*8-1:0] text_q;
  always_ff @(posedge clk_i) begin
    tokens_q  <= tokens;
    digits_q  <= tokens & digits;
    zeros_q   <= tokens & zeros;
    minuses_q <= tokens & minuses;
    pluses_q  <= tokens & pluses;
    points_q  <= tokens & points;
    letters_q <= tokens & letters;
    text_q    <= text_i;
  end

  // The grammar of numbers, as what may stand beside each byte: no byte waits for what the one before it was found to be. Bit i of a mask
  // shifted left is about the byte before byte i, shifted right about the one behind.
  logic [Window-1:0] first, signs, marked, lettered, right;
  logic is_number;
  always_comb begin
    first    = tokens_q & ~(tokens_q << 1);
    signs    = minuses_q | pluses_q;
    // A point or a letter stands before it; a letter does.
    marked   = (points_q | letters_q) << 1;
    lettered = letters_q << 1;
    for (int unsigned step = 1; step < Window; step *= 2) begin
      marked   |= marked << step;
      lettered |= lettered << step;
    end
    right = digits_q;
    right |= signs & (first & minuses_q | letters_q << 1) & digits_q >> 1;
    right |= points_q & digits_q << 1 & digits_q >> 1 & ~marked;
    right |= letters_q & digits_q << 1 & (digits_q | signs) >> 1 & ~lettered;
    // No digit follows a zero that begins the number.
    right &= ~(zeros_q & (first | (first & minuses_q) << 1) & digits_q >> 1);
    is_number = digits_q[Window-1] && right == tokens_q;
  end

  logic opened;
  always_comb begin
    opened = 1'b0;
    for (int unsigned i = 1; i < Window; i++) begin
      if (tokens_q[i] && !tokens_q[i-1] && text_q[(i-1)*8+:8] == 8'h22) opened = 1'b1;
    end
  end

  localparam int unsigned End = Window * 8;
  always_ff @(posedge clk_i) begin
    opened_o <= opened;
    long_o   <= tokens_q[0];
    true_o   <= text_q[End-32+:32] == {"e", "u", "r", "t"} && tokens_q[Window-4] && !tokens_q[Window-5];
    false_o  <= text_q[End-40+:40] == {"e", "s", "l", "a", "f"} && tokens_q[Window-5] && !tokens_q[Window-6];
    null_o   <= text_q[End-32+:32] == {"l", "l", "u", "n"} && tokens_q[Window-4] && !tokens_q[Window-5];
    number_o <= is_number;
  end

endmodule
