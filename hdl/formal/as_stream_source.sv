// SPDX-License-Identifier: Apache-2.0
// A stream that obeys the rules of as_stream_pkg and is otherwise free: the input of a proof. An
// offered transfer stays until it is taken.

`default_nettype none

module as_stream_source #(
    parameter int unsigned Width = 4
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // Free.
    input  logic             valid_i,
    input  logic [Width-1:0] data_i,
    input  logic             ready_i,
    output logic             valid_o,
    output logic [Width-1:0] data_o
);

  logic             held_q = 1'b0;
  logic [Width-1:0] data_q;

  assign valid_o = rst_ni && (held_q || valid_i);
  assign data_o  = held_q ? data_q : data_i;

  always_ff @(posedge clk_i) begin
    held_q <= valid_o && !ready_i;
    data_q <= data_o;
  end

endmodule

`default_nettype wire
