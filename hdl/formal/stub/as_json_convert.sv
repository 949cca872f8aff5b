// SPDX-License-Identifier: Apache-2.0
// Stub of as_json_convert for proofs of the modules around it: steps have the real latency; results
// and faults are free.

`default_nettype none

module as_json_convert
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8,
    parameter int unsigned L = 2,
    parameter int unsigned Window = 32,
    parameter bit Floats = 1'b0,
    parameter bit Times = 1'b0,
    parameter bit Decimals = 1'b0,
    localparam int unsigned PieceBits = L * 64
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic                    valid_i,
    input step_t                   step_i,
    input logic [         L*8-1:0] lanes_i,
    input logic [(Window+W)*8-1:0] bytes_i,
    input logic [(Window+W)*4-1:0] classes_i,

    output logic                 valid_o,
    output step_t                step_o,
    output logic [PieceBits-1:0] data_o,
    output logic [          7:0] data_bytes_o,
    output logic                 flag_o,
    output logic                 busy_o,
    output logic                 fault_o,
    output fault_e               fault_code_o,
    output logic [          7:0] fault_record_o
);

  localparam int unsigned Last = Floats || Times || Decimals ? LongLatency : ShortLatency;

  // Undriven nets are free: see prove.py.
  logic free;
  logic [Last:0] valid_q;
  assign valid_o = valid_q[Last];
  assign busy_o  = valid_q != '0;
  assign fault_o = valid_o && free;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clr_i) valid_q <= '0;
    else valid_q <= {valid_q[Last-1:0], valid_i};
  end

endmodule

`default_nettype wire
