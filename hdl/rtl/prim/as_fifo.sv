// SPDX-License-Identifier: Apache-2.0
// A first-in first-out queue of Depth payloads in distributed RAM.
//
// Latency: 1 cycle from an empty queue. Throughput: one transfer in and one out per cycle, also
// when full or empty. `ready_o` and `valid_o` come from registers only; `data_o` is read from the
// RAM without a register. Streams follow as_stream_pkg. Depth is a power of two.
//
// Layer: prim.

`include "as_assertions.svh"

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

  localparam int unsigned AddressBits = as_stream_pkg::index_bits(Depth);

  logic [Width-1:0] memory[Depth];
  // One bit more than an address distinguishes a full queue from an empty one.
  logic [AddressBits:0] write_q;
  logic [AddressBits:0] read_q;

  assign valid_o = write_q != read_q;
  assign ready_o = (write_q - read_q) != (AddressBits + 1)'(Depth);
  assign data_o  = memory[read_q[AddressBits-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
    end else if (clr_i) begin
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (valid_i && ready_o) write_q <= write_q + 1'b1;
      if (valid_o && ready_i) read_q <= read_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) memory[write_q[AddressBits-1:0]] <= data_i;
  end

  `AS_POWER_OF_TWO(depth, Depth)
  `AS_STREAM_STABLE(output, valid_o, ready_i, data_o, clr_i)

endmodule

`default_nettype wire
