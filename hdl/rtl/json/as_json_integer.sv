// SPDX-License-Identifier: Apache-2.0
// Converts the text of an integer to its value. The text is at the end of the window, after
// unrelated bytes.
//
// Takes JSON numbers without fraction and exponent that fit `bits_i` bits; for all else `ok_o` is
// low. Twenty digits in groups of four: sums within a group, then of groups by powers of ten
// thousand.
//
// Latency: `IntegerLatency` cycles, each with one multiplication or addition. Throughput: one per
// cycle. No stalls: the user counts what is in flight.
//
// Layer: json.

`default_nettype none

module as_json_integer
  import as_json_pkg::*;
#(
    localparam int unsigned Digits = 20
) (
    input logic clk_i,

    input numeral_t [Digits:0] text_i,
    input logic                signed_i,
    // 8, 16, 32 or 64.
    input logic     [     6:0] bits_i,

    output logic [63:0] value_o,
    output logic        ok_o
);

  // Cycle 1: the contiguous digits at the end, and what precedes them. Indexed by distance from the
  // end of the text.
  logic [Digits:0] digit, token, dash, zero, digits;
  logic [Digits*4-1:0] nibbles;
  logic minus, sound;
  always_comb begin
    for (int unsigned i = 0; i <= Digits; i++) begin
      digit[i]  = text_i[Digits-i].coarse == CoarseDigit;
      token[i]  = text_i[Digits-i].coarse != CoarseNone;
      dash[i]   = text_i[Digits-i].coarse == CoarseMinus;
      zero[i]   = digit[i] && text_i[Digits-i].nibble == '0;
      digits[i] = &(digit | ({(Digits + 1) {1'b1}} << (i + 1)));
    end
    nibbles = '0;
    minus   = 1'b0;
    sound   = digits[0] && !digits[Digits];
    for (int unsigned i = 0; i < Digits; i++) begin
      if (digits[i]) nibbles[i*4+:4] = text_i[Digits-i].nibble;
      // No leading zero.
      if (i != 0 && digits[i] && !digit[i+1] && zero[i]) sound = 1'b0;
      // Only a minus before the first digit, and nothing before that.
      if (digits[i] && dash[i+1]) minus = 1'b1;
      if (digits[i] && token[i+1] && !digit[i+1]) begin
        if (!dash[i+1] || i + 1 == Digits || token[(i+2)%(Digits+1)]) sound = 1'b0;
      end
    end
  end

  // Side-band data, by the cycle that it comes out of.
  logic [5:1] minus_q, sound_q, nought_q, signed_q;
  logic [6:0] bits_q[1:5];
  always_ff @(posedge clk_i) begin
    minus_q   <= {minus_q[4:1], minus};
    sound_q   <= {sound_q[4:1], sound};
    nought_q  <= {nought_q[4:1], zero[0] && !digit[1]};
    signed_q  <= {signed_q[4:1], signed_i};
    bits_q[1] <= bits_i;
    for (int unsigned i = 2; i < 6; i++) bits_q[i] <= bits_q[i-1];
  end

  // Cycles 2 to 5: sums of groups of 4, 8, 20 digits, less one if there is a minus.
  logic [Digits*4-1:0] nibbles_q;
  logic [13:0] four_q[5], top_q;
  logic [26:0] eight_q[2];
  logic [27:0] low_q;
  logic [53:0] middle_q;
  logic [67:0] high_q, less_q;
  function automatic logic [6:0] two(input logic [7:0] pair);
    return 7'(pair[7:4]) * 7'd10 + 7'(pair[3:0]);
  endfunction
  always_ff @(posedge clk_i) begin
    nibbles_q <= nibbles;
    for (int unsigned g = 0; g < 5; g++) begin
      four_q[g] <= 14'(two(nibbles_q[g*16+8+:8])) * 14'd100 + 14'(two(nibbles_q[g*16+:8]));
    end
    for (int unsigned g = 0; g < 2; g++) eight_q[g] <= 27'(four_q[g*2+1]) * 27'd10000 + 27'(four_q[g*2]);
    top_q    <= four_q[4];
    low_q    <= 28'(eight_q[0]) - 28'(minus_q[3]);
    middle_q <= 54'(eight_q[1]) * 54'd100000000;
    high_q   <= 68'(top_q) * 68'd10000000000000000;
    less_q   <= high_q + 68'(middle_q) + {{40{low_q[27]}}, low_q};
  end

  // Cycle 6: the complement of the value less one is the negated value. It fits if no bits are set
  // above those of a value.
  logic fits;
  always_comb begin
    fits = less_q[67:64] == '0 && !(signed_q[5] && less_q[63]);
    if (bits_q[5] <= 7'd32 && (less_q[63:32] != '0 || (signed_q[5] && less_q[31]))) fits = 1'b0;
    if (bits_q[5] <= 7'd16 && (less_q[31:16] != '0 || (signed_q[5] && less_q[15]))) fits = 1'b0;
    if (bits_q[5] <= 7'd8 && (less_q[15:8] != '0 || (signed_q[5] && less_q[7]))) fits = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    value_o <= less_q[63:0] ^ {64{minus_q[5]}};
    ok_o    <= sound_q[5] && !(minus_q[5] && !signed_q[5]) && (nought_q[5] || fits);
  end

endmodule

`default_nettype wire
