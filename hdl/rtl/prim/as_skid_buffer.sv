// SPDX-License-Identifier: Apache-2.0
// Cuts every combinational path of a stream: payload, valid and ready.
//
// Latency: 1 cycle. Throughput: one transfer per cycle. Holds two payloads, so that `ready_o` is a
// register. Streams follow as_stream_pkg.
//
// Layer: prim.

`include "as_assertions.svh"

`default_nettype none

module as_skid_buffer #(
    parameter int unsigned Width = 8
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

  logic             full_q;
  logic             spare_valid_q;
  logic [Width-1:0] data_q;
  logic [Width-1:0] spare_q;

  assign ready_o = !spare_valid_q;
  assign valid_o = full_q;
  assign data_o  = data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q        <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (clr_i) begin
      full_q        <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (!full_q || ready_i) begin
      // The front is free after this cycle: the waiting payload goes first.
      full_q        <= spare_valid_q || valid_i;
      spare_valid_q <= 1'b0;
    end else if (valid_i && ready_o) begin
      spare_valid_q <= 1'b1;
    end
  end

  // Payloads need no reset: they are ignored while their valid bit is low.
  always_ff @(posedge clk_i) begin
    if (!full_q || ready_i) data_q <= spare_valid_q ? spare_q : data_i;
    if (ready_o) spare_q <= data_i;
  end

  `AS_STREAM_STABLE(output, valid_o, ready_i, data_o, clr_i)

endmodule

`default_nettype wire
