// SPDX-License-Identifier: Apache-2.0
// One write port and one read port with a registered output: a block RAM.
//
// Latency: 1 cycle from `read_i` to `read_data_o`, which holds while `read_i` is low. A read of the
// address that is written in the same cycle returns the old word.
//
// Layer: prim.

`default_nettype none

module as_ram #(
    parameter int unsigned Width = 8,
    parameter int unsigned Depth = 16,
    localparam int unsigned AddressBits = as_stream_pkg::index_bits(Depth)
) (
    input  logic                   clk_i,
    input  logic                   write_i,
    input  logic [AddressBits-1:0] write_address_i,
    input  logic [      Width-1:0] write_data_i,
    input  logic                   read_i,
    input  logic [AddressBits-1:0] read_address_i,
    output logic [      Width-1:0] read_data_o
);

  (* ram_style = "block" *)logic [Width-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_address_i] <= write_data_i;
    if (read_i) read_data_o <= memory[read_address_i];
  end

endmodule

`default_nettype wire
