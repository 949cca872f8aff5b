// SPDX-License-Identifier: Apache-2.0
// A block RAM of words of Bytes bytes with byte write enables.
//
// Latency: 1 cycle from `read_i` to `read_data_o`, which holds while `read_i` is low. A read of the
// address that is written in the same cycle returns the old bytes.
//
// Layer: prim.

`default_nettype none

module as_ram_bytes #(
    parameter  int unsigned Bytes       = 64,
    parameter  int unsigned Depth       = 16,
    localparam int unsigned AddressBits = as_stream_pkg::index_bits(Depth)
) (
    input  logic                   clk_i,
    input  logic [      Bytes-1:0] write_i,
    input  logic [AddressBits-1:0] write_address_i,
    input  logic [    Bytes*8-1:0] write_data_i,
    input  logic                   read_i,
    input  logic [AddressBits-1:0] read_address_i,
    output logic [    Bytes*8-1:0] read_data_o
);

  (* ram_style = "block" *)logic [Bytes*8-1:0] memory[Depth];

  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < Bytes; b++) begin
      if (write_i[b]) memory[write_address_i][b*8+:8] <= write_data_i[b*8+:8];
    end
    if (read_i) read_data_o <= memory[read_address_i];
  end

endmodule

`default_nettype wire
