// SPDX-License-Identifier: Apache-2.0
// The last HistoryBytes bytes of output, for copies: written and read up to 64 bytes at a time, at
// any position.
//
// Even and odd lines of 64 bytes are in two RAMs, so that a piece that crosses a line is one
// access. Read data is on `data_o` from the next cycle until the next read; it does not include
// what is written in the cycle of the read.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_history #(
    parameter  int unsigned HistoryBytes = 65536,
    localparam int unsigned AddressBits  = $clog2(HistoryBytes)
) (
    input logic clk_i,

    input logic                   write_i,
    input logic [AddressBits-1:0] write_at_i,
    input logic [          511:0] data_i,
    input logic [            6:0] count_i,

    input  logic                   read_i,
    input  logic [AddressBits-1:0] read_at_i,
    output logic [          511:0] data_o
);

  localparam int unsigned LineBits = AddressBits - 7;

  logic [1023:0] placed;
  logic [127:0] enable;
  logic [63:0] low_enable, high_enable;
  logic [511:0] even, odd;
  logic swap_q;
  logic [5:0] shift_q;

  assign placed = 1024'(data_i) << {write_at_i[5:0], 3'b000};
  always_comb begin
    for (int unsigned b = 0; b < 128; b++) begin
      enable[b] = write_i && b >= 32'(write_at_i[5:0]) && b < 32'(write_at_i[5:0]) + 32'(count_i);
    end
  end
  assign {high_enable, low_enable} = enable;

  as_ram_bytes #(
      .Bytes(64),
      .Depth(HistoryBytes / 128)
  ) i_even (
      .clk_i,
      .write_i        (write_at_i[6] ? high_enable : low_enable),
      .write_address_i(write_at_i[AddressBits-1:7] + LineBits'(write_at_i[6])),
      .write_data_i   (write_at_i[6] ? placed[1023:512] : placed[511:0]),
      .read_i,
      .read_address_i (read_at_i[AddressBits-1:7] + LineBits'(read_at_i[6])),
      .read_data_o    (even)
  );
  as_ram_bytes #(
      .Bytes(64),
      .Depth(HistoryBytes / 128)
  ) i_odd (
      .clk_i,
      .write_i        (write_at_i[6] ? low_enable : high_enable),
      .write_address_i(write_at_i[AddressBits-1:7]),
      .write_data_i   (write_at_i[6] ? placed[511:0] : placed[1023:512]),
      .read_i,
      .read_address_i (read_at_i[AddressBits-1:7]),
      .read_data_o    (odd)
  );

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      swap_q  <= read_at_i[6];
      shift_q <= read_at_i[5:0];
    end
  end

  as_funnel #(
      .Unit  (8),
      .In    (128),
      .Out   (64),
      .AtBits(6)
  ) i_shift (
      .data_i(swap_q ? {even, odd} : {odd, even}),
      .at_i  (shift_q),
      .data_o
  );

  `AS_POWER_OF_TWO(history_bytes, HistoryBytes)

endmodule

`default_nettype wire
