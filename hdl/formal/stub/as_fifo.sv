// SPDX-License-Identifier: Apache-2.0
// Stub of a deep as_fifo for proofs of the modules around it: holds two payloads, whatever Depth
// is.

`default_nettype none

module as_fifo #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 4
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             clr_i,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o
);

  logic [1:0] count_q, after;
  logic [Width-1:0] first_q, second_q;

  assign valid_o = count_q != '0;
  assign ready_o = !count_q[1];
  assign data_o  = first_q;
  assign after   = count_q - 2'(valid_o && ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else if (clr_i) count_q <= '0;
    else count_q <= after + 2'(valid_i && ready_o);
  end
  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i) first_q <= second_q;
    if (valid_i && ready_o && after == '0) first_q <= data_i;
    if (valid_i && ready_o && after != '0) second_q <= data_i;
  end

endmodule

`default_nettype wire
