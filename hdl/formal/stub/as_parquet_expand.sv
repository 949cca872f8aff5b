// SPDX-License-Identifier: Apache-2.0
// Stub of as_parquet_expand for proofs of the modules around it: takes a token, with a piece of
// values if it has a one or is the end, and passes both on unchanged, to each consumer when it
// takes them.

`default_nettype none

module as_parquet_expand #(
    parameter  int unsigned Width     = 64,
    parameter  int unsigned Lanes     = 8,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        token_valid_i,
    output logic        token_ready_o,
    input  logic [96:0] token_i,

    input  logic                   value_valid_i,
    output logic                   value_ready_o,
    input  logic [Lanes*Width-1:0] value_i,
    input  logic [  CountBits-1:0] value_count_i,
    input  logic                   value_last_i,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic                   bits_valid_o,
    input  logic                   bits_ready_i,
    output logic [      Lanes-1:0] bits_o,
    output logic [  CountBits-1:0] count_o,
    output logic                   last_o,
    output logic                   waits_o
);

  logic free, need;
  assign free          = (!valid_o || ready_i) && (!bits_valid_o || bits_ready_i);
  assign need          = token_i[Lanes-1:0] != '0 || token_i[95:64] == '0;
  assign token_ready_o = (value_valid_i || !need) && free;
  assign value_ready_o = token_valid_i && need && free;
  assign waits_o       = token_valid_i && need && !value_valid_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_o      <= 1'b0;
      bits_valid_o <= 1'b0;
    end else if (clr_i) begin
      valid_o      <= 1'b0;
      bits_valid_o <= 1'b0;
    end else begin
      if (ready_i) valid_o <= 1'b0;
      if (bits_ready_i) bits_valid_o <= 1'b0;
      if (token_valid_i && token_ready_o) begin
        valid_o      <= 1'b1;
        bits_valid_o <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (token_valid_i && token_ready_o) begin
      data_o  <= need ? value_i : '0;
      bits_o  <= token_i[Lanes-1:0];
      count_o <= token_i[64+:CountBits];
      last_o  <= need && value_last_i;
    end
  end

  logic unused;
  assign unused = ^{token_i, value_count_i};

endmodule

`default_nettype wire
