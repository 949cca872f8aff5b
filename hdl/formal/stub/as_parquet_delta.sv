// SPDX-License-Identifier: Apache-2.0
// Stub of as_parquet_delta for proofs of the modules around it: yields the requested number of
// values, in pieces and at times set by the look-ahead input, which a proof leaves free. It takes
// no bytes and has no fault.

`default_nettype none

module as_parquet_delta #(
    parameter  int unsigned Width     = 64,
    localparam int unsigned Lanes     = 512 / Width,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [31:0] count_i,
    output logic        idle_o,
    output logic        empty_o,
    output logic [ 7:0] fault_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    output logic [  6:0] take_o,
    output logic         move_o,
    output logic [  7:0] ahead_o,
    input  logic         ahead_ready_i,
    input  logic [143:0] ahead_i,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o
);

  logic [CountBits-1:0] count;
  logic [         31:0] owed_q;
  assign count   = ahead_i[CountBits-1:0];
  assign take_o  = '0;
  assign move_o  = 1'b0;
  assign ahead_o = '0;

  // All bytes are taken before the last value is out, or with it.
  assign idle_o  = owed_q == '0;
  assign empty_o = !valid_o;
  assign fault_o = '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owed_q  <= '0;
      valid_o <= 1'b0;
    end else if (clr_i) begin
      owed_q  <= '0;
      valid_o <= 1'b0;
    end else if (start_i) begin
      owed_q  <= count_i;
    end else if (!valid_o || ready_i) begin
      valid_o <= 1'b0;
      if (ahead_ready_i && owed_q != '0 && count != '0 && count <= CountBits'(Lanes) && 32'(count) <= owed_q) begin
        valid_o <= 1'b1;
        owed_q  <= owed_q - 32'(count);
      end
    end
  end

  always_ff @(posedge clk_i) if (!valid_o || ready_i) {count_o, data_o} <= {count, (Lanes * Width)'(ahead_i[143])};

  logic unused;
  assign unused = ^{window_ready_i, window_i, left_i, ahead_i};

endmodule

`default_nettype wire
