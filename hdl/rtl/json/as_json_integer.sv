// SPDX-License-Identifier: Apache-2.0
// The text of an integer to its value. The text stands at the end of the window, behind whatever stood before it.
//
// Takes what JSON calls a number without fraction and exponent, if it fits `bits_i` bits; all else is not `ok_o`. Twenty digits in
// groups of four: sums within a group, then of groups by powers of ten thousand.
//
// Latency: 2 cycles. Throughput: one a cycle. No stalls: the user counts what is under way.
//
// Layer: json.
module as_json_integer #(
    localparam int unsigned Digits = 20
) (
    input logic clk_i,

    input logic [(Digits+1)*8-1:0] text_i,
    input logic                    signed_i,
    input logic [             6:0] bits_i,

    output logic [63:0] value_o,
    output logic        ok_o
);

  // By distance from the end of the text.
  logic [Digits:0] digit, token, digits, tokens;
  logic [Digits*4-1:0] nibbles;
  logic [Digits:0] first;
  logic minus, zero, sound;

  always_comb begin
    for (int unsigned i = 0; i <= Digits; i++) begin
      logic [7:0] c;
      c = text_i[(Digits-i)*8+:8];
      digit[i] = c >= "0" && c <= "9";
      token[i] = !(c == " " || c == 8'h09 || c == 8'h0d || c == 8'h0a || c == 8'h22 || c == "," || c == "[" ||
                   c == "]" || c == "{" || c == "}" || c == ":");
    end
    // All the digits, and all the bytes, that stand together at the end.
    for (int unsigned i = 0; i <= Digits; i++) begin
      digits[i] = &(digit | ({(Digits + 1) {1'b1}} << (i + 1)));
      tokens[i] = &(token | ({(Digits + 1) {1'b1}} << (i + 1)));
    end
    // The first digit, and what stands before it.
    first = digits & ~(digits >> 1);
    first[Digits] = 1'b0;
    minus = 1'b0;
    zero = 1'b0;
    nibbles = '0;
    for (int unsigned i = 0; i < Digits; i++) begin
      if (digits[i]) nibbles[i*4+:4] = text_i[(Digits-i)*8+:4];
      if (first[i] && text_i[(Digits-i-1)*8+:8] == "-") minus = 1'b1;
      if (first[i] && text_i[(Digits-i)*8+:8] == "0") zero = 1'b1;
    end
    // Nothing but digits, a minus at most before them, no zero before others.
    sound = digits[0] && !digits[Digits] && !tokens[Digits] && !(zero && digits[1]) &&
            (tokens == digits || (minus && tokens == {digits[Digits-1:0], 1'b1}));
  end

  logic [13:0] group_q[5];
  logic minus_q, sound_q, signed_q;
  logic [6:0] bits_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned g = 0; g < 5; g++) begin
      group_q[g] <= 14'(nibbles[g*16+:4]) + 14'(nibbles[g*16+4+:4]) * 14'd10 +
          14'(nibbles[g*16+8+:4]) * 14'd100 + 14'(nibbles[g*16+12+:4]) * 14'd1000;
    end
    minus_q  <= minus;
    sound_q  <= sound;
    signed_q <= signed_i;
    bits_q   <= bits_i;
  end

  logic [26:0] low, middle;
  logic [67:0] sum;
  logic [67:0] limit;
  assign low    = 27'(group_q[1]) * 27'd10000 + 27'(group_q[0]);
  assign middle = 27'(group_q[3]) * 27'd10000 + 27'(group_q[2]);
  assign sum    = 68'(group_q[4]) * 68'd10000000000000000 + 68'(middle) * 68'd100000000 + 68'(low);
  // One more than the largest.
  assign limit  = (68'd1 << (bits_q - 7'(signed_q))) + 68'(minus_q);

  always_ff @(posedge clk_i) begin
    value_o <= minus_q ? -sum[63:0] : sum[63:0];
    ok_o    <= sound_q && !(minus_q && !signed_q) && sum < limit;
  end

endmodule
