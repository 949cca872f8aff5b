// SPDX-License-Identifier: Apache-2.0
// Stub of as_prefix_sum for proofs of the modules around it: holds one piece and passes it on
// unchanged.

`default_nettype none

module as_prefix_sum #(
    parameter  int unsigned Width     = 32,
    parameter  int unsigned Lanes     = 4,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                   valid_i,
    output logic                   ready_o,
    input  logic [Lanes*Width-1:0] data_i,
    input  logic [  CountBits-1:0] count_i,
    input  logic                   clear_i,
    input  logic                   last_i,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o,
    output logic                   last_o,
    output logic                   empty_o
);

  assign ready_o = !valid_o || ready_i;
  assign empty_o = !valid_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_o <= 1'b0;
    else if (clr_i) valid_o <= 1'b0;
    else if (ready_o) valid_o <= valid_i;
  end

  always_ff @(posedge clk_i) if (ready_o) {last_o, count_o, data_o} <= {last_i, count_i, data_i};

  logic unused;
  assign unused = clear_i;

endmodule

`default_nettype wire
