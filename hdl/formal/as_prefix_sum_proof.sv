// SPDX-License-Identifier: Apache-2.0
// Proves for as_prefix_sum that transfers come out in order, none lost or invented, each with the
// sums of all numbers since the last `clear_i`.
//
// The sums are computed here at the input, where nothing waits. Tracks one arbitrary transfer.

`default_nettype none

module as_prefix_sum_proof (
    input logic       clk_i,
    input logic       valid_i,
    input logic [3:0] data_i,
    input logic [1:0] count_i,
    input logic       clear_i,
    input logic       last_i,
    input logic       ready_i,
    input logic       pick_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] count, count_out;
  logic ready, valid, last, empty;
  logic [3:0] data;
  assign count = count_i == 2'd3 ? 2'd2 : count_i;
  // The first transfer clears: there is no sum before it.
  logic begun_q = 1'b0;
  logic clear;
  assign clear = clear_i || !begun_q;

  as_prefix_sum #(
      .Width(2),
      .Lanes(2)
  ) i_sum (
      .clk_i,
      .rst_ni (rst_n),
      .clr_i  (1'b0),
      .valid_i(valid_i),
      .ready_o(ready),
      .data_i (data_i),
      .count_i(count),
      .clear_i(clear),
      .last_i (last_i),
      .valid_o(valid),
      .ready_i(ready_i),
      .data_o (data),
      .count_o(count_out),
      .last_o (last),
      .empty_o(empty)
  );

  logic kept;
  as_stream_rules #(
      .Width(7)
  ) i_output (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(ready_i),
      .data_i ({last, count_out, data}),
      .kept_o (kept)
  );

  logic [1:0] base_q = '0;
  logic [1:0] base, first, second;
  assign base   = clear ? '0 : base_q;
  assign first  = base + (count != 2'd0 ? data_i[1:0] : '0);
  assign second = first + (count == 2'd2 ? data_i[3:2] : '0);

  logic [1:0] inside_q = '0;
  logic [1:0] before_q = '0;
  logic       follow_q = 1'b0;
  logic [6:0] wanted_q = '0;
  logic in, out;
  assign in  = valid_i && ready && rst_n;
  assign out = valid && ready_i && rst_n;

  always_ff @(posedge clk_i) begin
    inside_q <= inside_q + 2'(in) - 2'(out);
    if (in) base_q <= second;
    if (in) begun_q <= 1'b1;
    if (!follow_q && in && pick_i) begin
      follow_q <= 1'b1;
      wanted_q <= {last_i, count, second, first};
      before_q <= inside_q + 2'd1 - 2'(out);
    end else if (follow_q && out) begin
      before_q <= before_q - 2'd1;
      if (before_q == 2'd1) follow_q <= 1'b0;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      // Three stages hold one each: a fourth transfer could not be counted.
      assert (!valid || inside_q != '0);
      assert (empty == (inside_q == '0));
      if (follow_q && before_q == 2'd1 && valid) begin
        assert ({last, count_out} == wanted_q[6:4]);
        assert (count_out == '0 || data[1:0] == wanted_q[1:0]);
        assert (count_out != 2'd2 || data[3:2] == wanted_q[3:2]);
      end
    end
  end

endmodule

`default_nettype wire
