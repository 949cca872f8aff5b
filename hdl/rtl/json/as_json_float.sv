// SPDX-License-Identifier: Apache-2.0
// Converts the text of a number to the nearest double or single, ties to even: exact, or `ok_o` is
// low. The text is at the end of the window.
//
// Eisel-Lemire (D. Lemire, "Number Parsing at a Gigabyte per Second", 2021): up to 19 digits as a
// 64-bit integer, times 128 bits of a power of five. Both products are always used, so that no
// fallback is needed (N. Mushtak, D. Lemire, "Fast Number Parsing Without Fallback", 2022).
// Subnormals and zeros of both signs are correct. `ok_o` is low for more than 19 digits after
// leading zeros, an exponent of more than three digits, and values that round to infinity. It does
// not check that the text is a number.
//
// Latency: `LongLatency` cycles, each with one multiplication or addition. Throughput: one per
// cycle. No stalls.
//
// Layer: json.

`default_nettype none

module as_json_float
  import as_json_pkg::*;
#(
    parameter int unsigned Window = 32
) (
    input logic clk_i,

    input logic [Window*8-1:0] text_i,
    // A single, in the lower half of the value.
    input logic                single_i,

    output logic [63:0] value_o,
    output logic        ok_o
);

  localparam int unsigned Digits = Window - 1;
  localparam int unsigned Exact = 19;
  localparam logic signed [11:0] Least = -12'sd342;
  localparam logic signed [11:0] Most = 12'sd308;

  // Side-band data, by the cycle that reads it.
  localparam int unsigned End = LongLatency - 1;
  logic [End:1] single_q;
  logic [End:4] minus_q, sound_q, low_q, high_q;
  logic [10:4] tie_q;
  logic signed [11:0] power_q[4:7];

  // Cycle 3: digits.
  logic [Digits*4-1:0] digits;
  logic signed [11:0] exponent;
  logic minus, sound;
  as_json_number #(
      .Window(Window)
  ) i_number (
      .clk_i,
      .text_i,
      .digits_o  (digits),
      .exponent_o(exponent),
      .minus_o   (minus),
      .ok_o      (sound)
  );

  always_ff @(posedge clk_i) begin
    single_q <= {single_q[End-1:1], single_i};
    minus_q  <= {minus_q[End-1:4], minus};
    sound_q  <= {sound_q[End-1:4], sound && digits[Digits*4-1:Exact*4] == '0};
    low_q    <= {low_q[End-1:4], exponent < Least};
    high_q   <= {high_q[End-1:4], exponent > Most};
    // Between these powers a 64-bit number can be half-way between two floats.
    tie_q    <= {tie_q[9:4], single_q[3] ? exponent >= -12'sd17 && exponent <= 12'sd10 :
                                           exponent >= -12'sd4 && exponent <= 12'sd23};
    power_q[4] <= exponent;
    for (int unsigned i = 5; i < 8; i++) power_q[i] <= power_q[i-1];
  end

  // Cycles 4, 5: the integer, and the power.
  logic [13:0] group_q[5];
  logic [9:0] address_q;
  logic [63:0] integer_q, counted_q, norm_q;
  logic [127:0] five, five_q[6:7];
  logic [26:0] lower, upper;
  always_ff @(posedge clk_i) begin
    for (int unsigned g = 0; g < 5; g++) begin
      group_q[g] <= 14'(digits[g*16+:4]) + 14'(digits[g*16+4+:4]) * 14'd10 + 14'(digits[g*16+8+:4]) * 14'd100 +
                    (g == 4 ? '0 : 14'(digits[g*16+12+:4]) * 14'd1000);
    end
    address_q <= 10'(exponent - Least);
  end
  assign lower = 27'(group_q[1]) * 27'd10000 + 27'(group_q[0]);
  assign upper = 27'(group_q[3]) * 27'd10000 + 27'(group_q[2]);
  always_ff @(posedge clk_i) begin
    integer_q <= 64'(group_q[4]) * 64'd10000000000000000 + 64'(upper) * 64'd100000000 + 64'(lower);
  end
  as_json_powers i_powers (
      .clk_i,
      .address_i(address_q),
      .power_o  (five)
  );

  // Cycles 6, 7: normalized, highest bit at the top.
  logic [5:0] leading, leading_q[6:8];
  logic zero_q[6:12];
  always_comb begin
    leading = '0;
    for (int unsigned i = 0; i < 64; i++) if (integer_q[i]) leading = 6'(63 - i);
  end
  always_ff @(posedge clk_i) begin
    leading_q[6] <= leading;
    leading_q[7] <= leading_q[6];
    leading_q[8] <= leading_q[7];
    zero_q[6]    <= integer_q == '0;
    for (int unsigned i = 7; i < 13; i++) zero_q[i] <= zero_q[i-1];
    counted_q    <= integer_q;
    five_q[6]    <= five;
    norm_q       <= counted_q << leading_q[6];
    five_q[7]    <= five_q[6];
  end

  // Cycles 8 to 10: the product without its lowest 64 bits.
  logic [63:0] part_q[8];
  logic [127:0] first_q, product_q;
  logic [127:0] second;
  logic [63:0] second_q;
  logic signed [12:0] binary_q[8:10];
  assign second = {part_q[3], part_q[0]} + {32'd0, part_q[1], 32'd0} + {32'd0, part_q[2], 32'd0};
  always_ff @(posedge clk_i) begin
    // First with the lower half of the power, then with the upper one.
    for (int unsigned half = 0; half < 2; half++) begin
      part_q[half*4+0] <= 64'(norm_q[31:0]) * 64'(five_q[7][half*64+:32]);
      part_q[half*4+1] <= 64'(norm_q[63:32]) * 64'(five_q[7][half*64+:32]);
      part_q[half*4+2] <= 64'(norm_q[31:0]) * 64'(five_q[7][half*64+32+:32]);
      part_q[half*4+3] <= 64'(norm_q[63:32]) * 64'(five_q[7][half*64+32+:32]);
    end
    first_q  <= {part_q[7], part_q[4]} + {32'd0, part_q[5], 32'd0} + {32'd0, part_q[6], 32'd0};
    second_q <= second[127:64];
    product_q <= first_q + 128'(second_q);
    // The power of two that belongs to the power of ten, exact over the table.
    binary_q[8]  <= 13'((32'(power_q[7]) * 32'sd217706) >>> 16) + 13'sd63;
    binary_q[9]  <= binary_q[8] - $signed({7'd0, leading_q[8]}) + (single_q[8] ? 13'sd127 : 13'sd1023);
    binary_q[10] <= binary_q[9];
  end

  // Cycle 11: the significand and one more bit, and whether all lower bits are zero where a tie is
  // possible.
  logic [53:0] rounded_q, shifted_q;
  logic signed [12:0] binary_more_q;
  logic [12:0] below_q;
  logic top, exact_q, rest, unused;
  assign top    = product_q[127];
  assign unused = ^{second[63:0], product_q[0]};
  always_comb begin
    if (single_q[10]) rest = top ? |product_q[102:64] : |product_q[101:64];
    else rest = top ? |product_q[73:64] : |product_q[72:64];
  end
  always_ff @(posedge clk_i) begin
    if (single_q[10]) rounded_q <= top ? 54'(product_q[127:103]) : 54'(product_q[126:102]);
    else rounded_q <= top ? product_q[127:74] : product_q[126:73];
    exact_q       <= tie_q[10] && !rest && product_q[63:1] == '0;
    binary_more_q <= binary_q[10] + $signed({12'd0, top});
  end

  // Cycle 12: the stored exponent less one; below the minimum, the significand is shifted
  // (subnormal).
  logic [12:0] less;
  assign less = 13'sd1 - binary_more_q;
  always_ff @(posedge clk_i) begin
    if (binary_more_q <= 13'sd0) begin
      shifted_q <= less >= 13'd64 ? '0 : rounded_q >> less[5:0];
      below_q   <= '0;
    end else begin
      // A tie rounds to even: down, if rounding up is odd.
      shifted_q <= exact_q && rounded_q[1:0] == 2'b01 ? {rounded_q[53:1], 1'b0} : rounded_q;
      below_q   <= binary_more_q - 13'sd1;
    end
  end

  // Cycle 13: a carry out of the significand increments the exponent.
  logic [53:0] even;
  logic [64:0] whole;
  logic over, none;
  assign even  = 54'((55'(shifted_q) + 55'(shifted_q[0])) >> 1);
  assign whole = single_q[12] ? 65'(even) + (65'(below_q) << 23) : 65'(even) + (65'(below_q) << 52);
  assign over  = high_q[12] || (single_q[12] ? whole[64:23] >= 42'd255 : whole[64:52] >= 13'd2047);
  assign none  = zero_q[12] || low_q[12];
  always_ff @(posedge clk_i) begin
    ok_o    <= sound_q[12] && (none || !over);
    value_o <= single_q[12] ? {32'd0, minus_q[12], none ? 31'd0 : whole[30:0]} :
                              {minus_q[12], none ? 63'd0 : whole[62:0]};
  end

endmodule

`default_nettype wire
