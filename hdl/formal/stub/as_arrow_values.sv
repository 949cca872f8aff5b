// SPDX-License-Identifier: Apache-2.0
// Stub of as_arrow_values for proofs of what feeds it: outputs its input, the count as the strobes.

`default_nettype none

module as_arrow_values #(
    parameter  int unsigned ElementBits = 64,
    parameter  int unsigned Lanes       = 8,
    parameter  int unsigned Bytes       = 64,
    localparam int unsigned CountBits   = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                         valid_i,
    output logic                         ready_o,
    input  logic [Lanes*ElementBits-1:0] data_i,
    input  logic [        CountBits-1:0] count_i,
    input  logic                         last_i,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [Bytes*8-1:0] data_o,
    output logic [  Bytes-1:0] strobe_o,
    output logic               last_o
);

  assign valid_o  = valid_i;
  assign ready_o  = ready_i;
  assign data_o   = (Bytes * 8)'(data_i);
  assign strobe_o = Bytes'(count_i);
  assign last_o   = last_i;

  logic unused;
  assign unused = ^{clk_i, rst_ni, clr_i};

endmodule

`default_nettype wire
