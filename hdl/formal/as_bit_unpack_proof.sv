// SPDX-License-Identifier: Apache-2.0
// Proves for as_bit_unpack that transfers come out in order, none lost or invented, each number at
// its place and with no bits above its width.
//
// Tracks one arbitrary transfer, and one arbitrary number of it.

`default_nettype none

module as_bit_unpack_proof (
    input logic        clk_i,
    input logic        move_i,
    input logic        valid_i,
    input logic [15:0] data_i,
    input logic [ 2:0] width_i,
    input logic        user_i,
    input logic        pick_i,
    input logic [ 1:0] lane_i
);

  localparam int unsigned Width = 4;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic valid, user, empty;
  logic [15:0] data;
  logic [2:0] width;
  assign width = width_i > 3'(Width) ? 3'(Width) : width_i;

  as_bit_unpack #(
      .Width(Width),
      .Lanes(4)
  ) i_unpack (
      .clk_i,
      .rst_ni (rst_n),
      .clr_i  (1'b0),
      .move_i,
      .valid_i(valid_i && rst_n),
      .data_i,
      .width_i(width),
      .user_i,
      .valid_o(valid),
      .data_o (data),
      .user_o (user),
      .empty_o(empty)
  );

  logic [Width-1:0] number;
  assign number = Width'(data_i >> (4'(lane_i) * 4'(width))) & ~(4'hf << width);

  logic [1:0] inside_q = '0, before_q = '0, lane_q;
  logic follow_q = 1'b0, user_q;
  logic [Width-1:0] number_q;
  logic in, out;
  assign in  = valid_i && move_i && rst_n;
  assign out = valid && move_i && rst_n;

  always_ff @(posedge clk_i) begin
    inside_q <= inside_q + 2'(in) - 2'(out);
    if (in && pick_i && !follow_q) begin
      follow_q <= 1'b1;
      before_q <= inside_q - 2'(out);
      lane_q   <= lane_i;
      user_q   <= user_i;
      number_q <= number;
    end else if (follow_q && out) begin
      before_q <= before_q - 2'd1;
      if (before_q == '0) follow_q <= 1'b0;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (empty == (inside_q == '0) && (!valid || inside_q != '0));
      if (follow_q && valid && before_q == '0) assert (user == user_q && data[lane_q*Width+:Width] == number_q);
    end
  end

endmodule

`default_nettype wire
