// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite (32 bits) to a plain register bus: one write strobe, one read strobe, responses in the
// next cycle.
//
// `read_data_i` belongs to the address that came with `read_o` in the previous cycle. Byte strobes
// are ignored: registers are written in full. Every access gets the response OKAY.
//
// Latency: 2 cycles. Throughput: one access in 2 cycles. All outputs but the register bus come from
// registers.
//
// Layer: axi.

`default_nettype none

module as_axil_slave #(
    parameter int unsigned AddressBits = 12
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                   aw_valid_i,
    output logic                   aw_ready_o,
    input  logic [AddressBits-1:0] aw_addr_i,
    input  logic                   w_valid_i,
    output logic                   w_ready_o,
    input  logic [           31:0] w_data_i,
    output logic                   b_valid_o,
    input  logic                   b_ready_i,
    output logic [            1:0] b_resp_o,
    input  logic                   ar_valid_i,
    output logic                   ar_ready_o,
    input  logic [AddressBits-1:0] ar_addr_i,
    output logic                   r_valid_o,
    input  logic                   r_ready_i,
    output logic [           31:0] r_data_o,
    output logic [            1:0] r_resp_o,

    output logic                   write_o,
    output logic [AddressBits-1:0] write_address_o,
    output logic [           31:0] write_data_o,
    output logic                   read_o,
    output logic [AddressBits-1:0] read_address_o,
    input  logic [           31:0] read_data_i
);

  logic        b_valid_q;
  logic        read_q;
  logic        r_valid_q;
  logic [31:0] r_data_q;

  // Address and data of a write are taken together.
  assign write_o         = aw_valid_i && w_valid_i && !b_valid_q;
  assign aw_ready_o      = write_o;
  assign w_ready_o       = write_o;
  assign write_address_o = aw_addr_i;
  assign write_data_o    = w_data_i;
  assign b_valid_o       = b_valid_q;
  assign b_resp_o        = 2'b00;

  assign read_o         = ar_valid_i && !read_q && !r_valid_q;
  assign ar_ready_o     = read_o;
  assign read_address_o = ar_addr_i;
  assign r_valid_o      = r_valid_q;
  assign r_data_o       = r_data_q;
  assign r_resp_o       = 2'b00;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      b_valid_q <= 1'b0;
      read_q    <= 1'b0;
      r_valid_q <= 1'b0;
    end else begin
      if (write_o) b_valid_q <= 1'b1;
      else if (b_ready_i) b_valid_q <= 1'b0;
      read_q <= read_o;
      if (read_q) r_valid_q <= 1'b1;
      else if (r_ready_i) r_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_q) r_data_q <= read_data_i;
  end

endmodule

`default_nettype wire
