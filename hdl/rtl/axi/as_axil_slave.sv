// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite (32 bits) to a plain register bus: one write strobe, one read strobe.
//
// `write_known_i` belongs to `write_address_o` in the same cycle; `read_known_i` and `read_data_i`
// belong to the address that came with `read_o` in the previous cycle. An access to an address
// that is not known gets the response SLVERR, any other OKAY. Registers are written in full: a
// write that strobes some bytes of a word and not others gets SLVERR, one that strobes none gets
// OKAY (AXI specification, "Write strobes" of AXI4-Lite). `write_o` is high for writes of whole
// words to known addresses only.
//
// Address and data of a write may come in any order. Latency: 2 cycles for a write, 3 for a read.
// Throughput: one access in 3 cycles. All AXI outputs come from registers, so that no path leads
// from a valid to a ready.
//
// Layer: axi.

`include "as_assertions.svh"

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
    input  logic [            3:0] w_strb_i,
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
    input  logic                   write_known_i,
    output logic                   read_o,
    output logic [AddressBits-1:0] read_address_o,
    input  logic [           31:0] read_data_i,
    input  logic                   read_known_i
);

  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlaveError = 2'b10;

  // Taken and not carried out.
  logic                   aw_ready_q;
  logic [AddressBits-1:0] aw_addr_q;
  logic                   w_ready_q;
  logic [           31:0] w_data_q;
  logic [            3:0] w_strb_q;
  logic                   ar_ready_q;
  logic [AddressBits-1:0] ar_addr_q;

  logic                   write;
  logic                   b_valid_q;
  logic [            1:0] b_resp_q;
  logic                   read_q;
  logic                   r_valid_q;
  logic [            1:0] r_resp_q;
  logic [           31:0] r_data_q;

  assign write           = !aw_ready_q && !w_ready_q && !b_valid_q;
  assign write_o         = write && write_known_i && w_strb_q == '1;
  assign write_address_o = aw_addr_q;
  assign write_data_o    = w_data_q;
  assign read_o          = !ar_ready_q && !read_q && !r_valid_q;
  assign read_address_o  = ar_addr_q;

  assign aw_ready_o      = aw_ready_q;
  assign w_ready_o       = w_ready_q;
  assign b_valid_o       = b_valid_q;
  assign b_resp_o        = b_resp_q;
  assign ar_ready_o      = ar_ready_q;
  assign r_valid_o       = r_valid_q;
  assign r_data_o        = r_data_q;
  assign r_resp_o        = r_resp_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_ready_q <= 1'b1;
      w_ready_q  <= 1'b1;
      b_valid_q  <= 1'b0;
      ar_ready_q <= 1'b1;
      read_q     <= 1'b0;
      r_valid_q  <= 1'b0;
    end else begin
      if (write) aw_ready_q <= 1'b1;
      else if (aw_valid_i) aw_ready_q <= 1'b0;
      if (write) w_ready_q <= 1'b1;
      else if (w_valid_i) w_ready_q <= 1'b0;
      if (write) b_valid_q <= 1'b1;
      else if (b_ready_i) b_valid_q <= 1'b0;

      if (read_o) ar_ready_q <= 1'b1;
      else if (ar_valid_i) ar_ready_q <= 1'b0;
      read_q <= read_o;
      if (read_q) r_valid_q <= 1'b1;
      else if (r_ready_i) r_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_ready_q) aw_addr_q <= aw_addr_i;
    if (w_ready_q) begin
      w_data_q <= w_data_i;
      w_strb_q <= w_strb_i;
    end
    if (write) b_resp_q <= write_known_i && (w_strb_q == '0 || w_strb_q == '1) ? Okay : SlaveError;
    if (ar_ready_q) ar_addr_q <= ar_addr_i;
    if (read_q) begin
      r_data_q <= read_data_i;
      r_resp_q <= read_known_i ? Okay : SlaveError;
    end
  end

  `AS_STREAM_STABLE(b, b_valid_o, b_ready_i, b_resp_o, 1'b0)
  `AS_STREAM_STABLE(r, r_valid_o, r_ready_i, {r_resp_o, r_data_o}, 1'b0)

endmodule

`default_nettype wire
