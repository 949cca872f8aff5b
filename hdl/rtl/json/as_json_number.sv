// SPDX-License-Identifier: Apache-2.0
// Splits a JSON number: sign, digits without the point, power of ten of the last digit. The text is
// at the end of the window, after unrelated bytes.
//
// as_json_literal checks that the text is a number; for other text the outputs are undefined. For
// an exponent of more than three digits `ok_o` is low.
//
// Latency: 3 cycles. Throughput: one per cycle. No stalls.
//
// Layer: json.

`default_nettype none

module as_json_number #(
    parameter  int unsigned Window = 32,
    localparam int unsigned Digits = Window - 1
) (
    input logic clk_i,

    input logic [Window*8-1:0] text_i,

    // Indexed by distance from the last digit; zero where there is none.
    output logic        [Digits*4-1:0] digits_o,
    output logic signed [        11:0] exponent_o,
    output logic                       minus_o,
    output logic                       ok_o
);

  // Indexed by distance from the end of the text.
  logic [Window-1:0] token, digit, point, letter, dash;
  logic [Window*4-1:0] nibbles;
  always_comb begin
    logic running;
    running = 1'b1;
    for (int unsigned i = 0; i < Window; i++) begin
      logic [7:0] c;
      c = text_i[(Window-1-i)*8+:8];
      running = running && !(c == " " || c == 8'h09 || c == 8'h0d || c == 8'h0a || c == 8'h22 || c == "," || c == "[" ||
                           c == "]" || c == "{" || c == "}" || c == ":");
      token[i]  = running;
      digit[i]  = running && c >= "0" && c <= "9";
      point[i]  = running && c == ".";
      letter[i] = running && (c == "e" || c == "E");
      dash[i]   = running && c == "-";
      nibbles[i*4+:4] = digit[i] ? c[3:0] : '0;
    end
  end

  // The exponent: at most three digits and a sign after the letter.
  logic [Window-1:0] point_q;
  logic [Window*4-1:0] nibbles_q;
  logic [2:0] skip_q;
  logic [9:0] power_q;
  logic down_q, minus_q, ok_q;
  logic unused;
  assign unused = letter[0];
  always_ff @(posedge clk_i) begin
    point_q   <= point;
    nibbles_q <= nibbles;
    // The first byte of the text.
    minus_q   <= |(dash & token & ~(token >> 1));
    ok_q      <= letter[Window-1:5] == '0 && !(letter[4] && digit[3]);
    // Text that is not a number may have several letters.
    if (letter[1]) skip_q <= 3'd2;
    else if (letter[2]) skip_q <= 3'd3;
    else if (letter[3]) skip_q <= 3'd4;
    else if (letter[4]) skip_q <= 3'd5;
    else skip_q <= 3'd0;
    down_q  <= |(letter[4:2] & dash[3:1]);
    power_q <= 10'(nibbles[3:0]) + (letter[1] ? '0 : 10'(nibbles[7:4]) * 10'd10) +
               (|letter[2:1] ? '0 : 10'(nibbles[11:8]) * 10'd100);
  end

  // The part before the exponent, moved to the end.
  logic [Window-1:0] place_q;
  logic [Window*4-1:0] moved_q;
  logic signed [10:0] scale_q;
  logic minus_moved_q, ok_moved_q;
  always_ff @(posedge clk_i) begin
    place_q <= point_q >> skip_q;
    moved_q <= nibbles_q >> {skip_q, 2'b00};
    scale_q <= skip_q == '0 ? '0 : down_q ? -$signed({1'b0, power_q}) : $signed({1'b0, power_q});
    minus_moved_q <= minus_q;
    ok_moved_q    <= ok_q;
  end

  // Digits before the point move up to those after it.
  logic [Window-1:0] after;
  logic [Digits*4-1:0] closed;
  logic [5:0] fraction;
  always_comb begin
    after    = place_q - 1'b1;
    fraction = '0;
    for (int unsigned i = 0; i < Window; i++) if (place_q[i]) fraction |= 6'(i);
    for (int unsigned i = 0; i < Digits; i++) begin
      closed[i*4+:4] = place_q == '0 || after[i] ? moved_q[i*4+:4] : moved_q[(i+1)*4+:4];
    end
  end
  always_ff @(posedge clk_i) begin
    digits_o   <= closed;
    exponent_o <= 12'(scale_q) - 12'($signed({1'b0, fraction}));
    minus_o    <= minus_moved_q;
    ok_o       <= ok_moved_q;
  end

endmodule

`default_nettype wire
