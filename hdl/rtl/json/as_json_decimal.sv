// SPDX-License-Identifier: Apache-2.0
// Converts the text of a number to a 128-bit decimal: the integer number × 10^scale, exact, or
// `ok_o` is low. The text is at the end of the window.
//
// `ok_o` is low for non-zero digits beyond the scale, more digits than the precision, and an
// exponent of more than three digits. It does not check that the text is a number.
//
// Latency: `LongLatency` cycles, each with one shift, multiplication or addition. Throughput: one
// per cycle. No stalls.
//
// Layer: json.

`default_nettype none

module as_json_decimal
  import as_json_pkg::*;
#(
    parameter int unsigned Window = 32
) (
    input logic clk_i,

    input logic        [Window*8-1:0] text_i,
    input logic signed [         7:0] scale_i,
    // At most 38 digits.
    input logic        [         6:0] precision_i,

    output logic [127:0] value_o,
    output logic         ok_o
);

  localparam int unsigned Digits = Window - 1;
  localparam int unsigned Most = 38;
  localparam int unsigned Stages = 11;

  // Side-band data, by the cycle that reads it.
  logic signed [7:0] scale_q[1:3];
  logic [6:0] precision_q[1:5];
  logic minus_q[4:10], ok_q[4:10];

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

  // Cycle 4: how far to shift the digits. Zero may be anywhere.
  logic [Digits*4-1:0] digits_q;
  logic [6:0] up_q, down_q;
  logic signed [12:0] places;
  logic none;
  assign places = 13'(exponent) + 13'(scale_q[3]);
  assign none   = digits == '0;
  always_ff @(posedge clk_i) begin
    scale_q[1] <= scale_i;
    for (int unsigned i = 2; i < 4; i++) scale_q[i] <= scale_q[i-1];
    precision_q[1] <= precision_i;
    for (int unsigned i = 2; i < 6; i++) precision_q[i] <= precision_q[i-1];
    digits_q <= digits;
    up_q     <= none || places < 13'sd0 ? '0 : places > 13'sd38 ? 7'd38 : 7'(places);
    down_q   <= none || places > 13'sd0 ? '0 : places < -13'sd31 ? 7'd31 : 7'(-places);
  end

  // Cycle 5: shifted.
  logic [(Digits+Most)*4-1:0] placed, placed_q;
  logic [Digits*4-1:0] lost;
  assign lost = digits_q & ~({Digits * 4{1'b1}} << {down_q, 2'b00});
  always_comb begin
    placed = ((Digits + Most) * 4)'(digits_q);
    if (down_q != '0) placed = placed >> {down_q, 2'b00};
    else placed = placed << {up_q, 2'b00};
  end
  always_ff @(posedge clk_i) placed_q <= placed;

  // Cycles 6 to 10: sums of groups of 4, 8, 16, 32 digits.
  logic [13:0] four_q[10];
  logic [26:0] eight_q[5];
  logic [53:0] sixteen_q[2];
  logic [106:0] half_q;
  logic [26:0] top_q[8:9];
  logic [127:0] sum_q;
  logic [159:0] kept;
  assign kept = 160'(placed_q[Most*4-1:0]);
  always_ff @(posedge clk_i) begin
    for (int unsigned g = 0; g < 10; g++) begin
      four_q[g] <= 14'(kept[g*16+:4]) + 14'(kept[g*16+4+:4]) * 14'd10 + 14'(kept[g*16+8+:4]) * 14'd100 +
                   14'(kept[g*16+12+:4]) * 14'd1000;
    end
    for (int unsigned g = 0; g < 5; g++) eight_q[g] <= 27'(four_q[g*2+1]) * 27'd10000 + 27'(four_q[g*2]);
    for (int unsigned g = 0; g < 2; g++) sixteen_q[g] <= 54'(eight_q[g*2+1]) * 54'd100000000 + 54'(eight_q[g*2]);
    top_q[8] <= eight_q[4];
    top_q[9] <= top_q[8];
    half_q   <= 107'(sixteen_q[1]) * 107'd10000000000000000 + 107'(sixteen_q[0]);
    sum_q    <= 128'(top_q[9]) * 128'd100000000000000000000000000000000 + 128'(half_q);
    minus_q[4] <= minus;
    ok_q[4]    <= sound;
    for (int unsigned i = 5; i < Stages; i++) begin
      minus_q[i] <= minus_q[i-1];
      ok_q[i]    <= ok_q[i-1];
    end
    if (lost != '0) ok_q[5] <= 1'b0;
    // Digits beyond the precision.
    if ((placed_q >> {precision_q[5], 2'b00}) != '0) ok_q[6] <= 1'b0;
  end

  // Cycle 11, then delay to the common latency.
  logic [128:0] found_q;
  always_ff @(posedge clk_i) found_q <= {ok_q[10], minus_q[10] ? -sum_q : sum_q};
  as_json_delay #(
      .Width (129),
      .Stages(LongLatency - Stages)
  ) i_wait (
      .clk_i,
      .advance_i(1'b1),
      .data_i   (found_q),
      .data_o   ({ok_o, value_o})
  );

endmodule

`default_nettype wire
