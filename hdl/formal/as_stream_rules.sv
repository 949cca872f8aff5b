// SPDX-License-Identifier: Apache-2.0
// The rules of as_stream_pkg on one stream, and a counter of its transfers: assumed of inputs,
// asserted of outputs.
//
// The rule: an offered payload stays unchanged until it is taken. A user asserts or assumes
// `kept_o`.

`default_nettype none

module as_stream_rules #(
    parameter int unsigned Width = 4
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    input  logic             ready_i,
    input  logic [Width-1:0] data_i,
    output logic             kept_o
);

  logic             held_q;
  logic [Width-1:0] data_q;

  assign kept_o = !held_q || (valid_i && data_i == data_q);

  always_ff @(posedge clk_i) begin
    held_q <= rst_ni && valid_i && !ready_i;
    data_q <= data_i;
  end

  initial held_q = 1'b0;

endmodule

`default_nettype wire
