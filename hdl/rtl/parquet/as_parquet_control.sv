// SPDX-License-Identifier: Apache-2.0
// Starts the columns of a converter together, collects their results, and stops all when one fails.
//
// It reports the first fault; of those in one cycle, that of the lowest column, then the memory's,
// then the host's.
//
// Layer: parquet.

`default_nettype none

module as_parquet_control #(
    parameter  int unsigned Columns    = 1,
    localparam int unsigned ColumnBits = as_stream_pkg::index_bits(Columns)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic        start_i,
    input  logic        abort_i,
    output logic        busy_o,
    output logic        done_o,
    output logic        error_o,
    output logic [ 7:0] error_code_o,
    output logic [15:0] error_unit_o,
    output logic [63:0] error_position_o,

    output logic                  start_o,
    // To the columns and to the write port, until the next start.
    output logic                  abort_o,
    input  logic [   Columns-1:0] done_i,
    input  logic [ Columns*8-1:0] fault_i,
    input  logic [Columns*32-1:0] position_i,
    input  logic                  write_idle_i,
    input  logic                  write_error_i,
    input  logic                  write_overflow_i,
    input  logic                  read_idle_i
);
  import as_parquet_pkg::*;

  logic        busy_q;
  logic        fresh_q;
  logic        done_q;
  logic [ 7:0] code_q;
  logic [15:0] unit_q;
  logic [63:0] position_q;

  logic [ 7:0] code;
  logic [ColumnBits-1:0] unit;

  always_comb begin
    code = FaultNone;
    unit = '0;
    if (abort_i) code = FaultAborted;
    if (write_error_i) code = FaultMemory;
    if (write_overflow_i) code = FaultCapacity;
    for (int unsigned c = Columns; c > 0; c--) begin
      if (fault_i[(c-1)*8+:8] != FaultNone) begin
        code = fault_i[(c-1)*8+:8];
        unit = ColumnBits'(c - 1);
      end
    end
  end

  assign start_o          = start_i && !busy_q;
  assign abort_o          = busy_q && code_q != FaultNone;
  assign busy_o           = busy_q;
  assign done_o           = done_q;
  assign error_o          = code_q != FaultNone;
  assign error_code_o     = code_q;
  assign error_unit_o     = unit_q;
  assign error_position_o = position_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q     <= 1'b0;
      fresh_q    <= 1'b0;
      done_q     <= 1'b0;
      code_q     <= FaultNone;
      unit_q     <= '0;
      position_q <= '0;
    end else begin
      fresh_q <= start_o;
      if (start_o) begin
        busy_q <= 1'b1;
        done_q <= 1'b0;
        code_q <= FaultNone;
        unit_q <= '0;
        position_q <= '0;
      end else if (busy_q && !fresh_q) begin
        if (code_q == FaultNone && code != FaultNone) begin
          code_q     <= code;
          unit_q     <= 16'(unit);
          position_q <= 64'(position_i[unit*32+:32]);
        end
        if (&done_i && write_idle_i && read_idle_i) begin
          busy_q <= 1'b0;
          done_q <= 1'b1;
        end
      end
    end
  end

endmodule

`default_nettype wire
