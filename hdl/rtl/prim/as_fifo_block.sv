// SPDX-License-Identifier: Apache-2.0
// A first-in first-out queue of Depth payloads in block RAM, for depths in the thousands.
//
// Latency: 2 cycles from an empty queue. Throughput: one transfer in and one out per cycle. All
// outputs come from registers. Streams follow as_stream_pkg. Depth is a power of two; one payload
// more fits into the output register.
//
// Layer: prim.

`include "as_assertions.svh"

`default_nettype none

module as_fifo_block #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 1024
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

  logic [AddressBits:0] write_q;
  logic [AddressBits:0] read_q;
  logic                 full_q;
  logic                 valid_q;
  logic                 put;
  logic                 get;

  assign ready_o = !full_q;
  assign put     = valid_i && ready_o;
  assign get     = write_q != read_q && (!valid_q || ready_i);
  assign valid_o = valid_q;

  as_ram #(
      .Width(Width),
      .Depth(Depth)
  ) i_ram (
      .clk_i,
      .write_i        (put),
      .write_address_i(write_q[AddressBits-1:0]),
      .write_data_i   (data_i),
      .read_i         (get),
      .read_address_i (read_q[AddressBits-1:0]),
      .read_data_o    (data_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      full_q  <= 1'b0;
      valid_q <= 1'b0;
    end else if (clr_i) begin
      write_q <= '0;
      read_q  <= '0;
      full_q  <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      if (put) write_q <= write_q + 1'b1;
      if (get) read_q <= read_q + 1'b1;
      full_q <= (write_q + (AddressBits + 1)'(put)) - (read_q + (AddressBits + 1)'(get)) == (AddressBits + 1)'(Depth);
      if (get) valid_q <= 1'b1;
      else if (ready_i) valid_q <= 1'b0;
    end
  end

  `AS_POWER_OF_TWO(depth, Depth)
  `AS_STREAM_STABLE(output, valid_o, ready_i, data_o, clr_i)

endmodule

`default_nettype wire
