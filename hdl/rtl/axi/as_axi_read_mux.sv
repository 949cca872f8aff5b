// SPDX-License-Identifier: Apache-2.0
// Shares one AXI4 read channel among several as_axi_reader, round-robin, burst by burst.
//
// Data comes back in the order of the addresses (one id); a queue remembers which reader each burst
// belongs to. A reader that does not take its data blocks the others: a user must have room for
// what it requests, or must not depend on the other readers.
//
// Latency: 1 cycle for addresses, none for data. Throughput: one beat and one address per cycle.
//
// Layer: axi.

`include "as_assertions.svh"

`default_nettype none

module as_axi_read_mux #(
    parameter  int unsigned Readers     = 2,
    parameter  int unsigned Bytes       = 64,
    parameter  int unsigned AddressBits = 64,
    parameter  int unsigned Outstanding = 64,
    localparam int unsigned ReaderBits  = as_stream_pkg::index_bits(Readers)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic [            Readers-1:0] s_ar_valid_i,
    output logic [            Readers-1:0] s_ar_ready_o,
    input  logic [Readers*AddressBits-1:0] s_ar_addr_i,
    input  logic [          Readers*8-1:0] s_ar_len_i,
    output logic [            Readers-1:0] s_r_valid_o,
    input  logic [            Readers-1:0] s_r_ready_i,
    output logic [            Bytes*8-1:0] s_r_data_o,
    output logic [                    1:0] s_r_resp_o,

    output logic                   ar_valid_o,
    input  logic                   ar_ready_i,
    output logic [AddressBits-1:0] ar_addr_o,
    output logic [            7:0] ar_len_o,
    input  logic                   r_valid_i,
    output logic                   r_ready_o,
    input  logic [    Bytes*8-1:0] r_data_i,
    input  logic [            1:0] r_resp_i,
    // Every requested burst has arrived.
    output logic                   idle_o
);

  logic [ ReaderBits-1:0] turn_q;
  logic [ ReaderBits-1:0] choice;
  logic                   ar_valid_q;
  logic [AddressBits-1:0] ar_addr_q;
  logic [            7:0] ar_len_q;
  logic                   orders_ready;
  logic                   order_valid;
  logic [ ReaderBits-1:0] owner;
  logic [            7:0] length;
  logic [            7:0] beat_q;
  logic                   granted;
  logic                   moved;

  always_comb begin
    choice = turn_q;
    for (int unsigned k = Readers; k > 0; k--) begin
      int unsigned at;
      at = 32'(turn_q) + k;
      if (at >= Readers) at -= Readers;
      if (s_ar_valid_i[ReaderBits'(at)]) choice = ReaderBits'(at);
    end
  end

  assign granted = s_ar_valid_i[choice] && orders_ready && (!ar_valid_q || ar_ready_i);

  always_comb begin
    s_ar_ready_o = '0;
    if (granted) s_ar_ready_o[choice] = 1'b1;
    s_r_valid_o = '0;
    if (r_valid_i && order_valid) s_r_valid_o[owner] = 1'b1;
  end

  as_fifo #(
      .Width(ReaderBits + 8),
      .Depth(Outstanding)
  ) i_orders (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(granted),
      .ready_o(orders_ready),
      .data_i ({choice, s_ar_len_i[choice*8+:8]}),
      .valid_o(order_valid),
      .ready_i(moved && beat_q == length),
      .data_o ({owner, length})
  );

  assign moved      = r_valid_i && r_ready_o;
  assign r_ready_o  = order_valid && s_r_ready_i[owner];
  assign s_r_data_o = r_data_i;
  assign s_r_resp_o = r_resp_i;
  assign ar_valid_o = ar_valid_q;
  assign ar_addr_o  = ar_addr_q;
  assign ar_len_o   = ar_len_q;
  assign idle_o     = !order_valid && !ar_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q     <= '0;
      ar_valid_q <= 1'b0;
      beat_q     <= '0;
    end else begin
      if (granted) turn_q <= choice;
      if (!ar_valid_q || ar_ready_i) ar_valid_q <= granted;
      if (moved) beat_q <= beat_q == length ? '0 : beat_q + 8'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (granted) begin
      ar_addr_q <= s_ar_addr_i[choice*AddressBits+:AddressBits];
      ar_len_q  <= s_ar_len_i[choice*8+:8];
    end
  end

  `AS_STREAM_STABLE(ar, ar_valid_o, ar_ready_i, {ar_len_o, ar_addr_o}, 1'b0)

endmodule

`default_nettype wire
