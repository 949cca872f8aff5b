// SPDX-License-Identifier: Apache-2.0
// Stub of as_json_fetch for proofs of the modules around it: each parser gets the beats of its
// range, at any time, until it gives up. Each byte encodes its parser, beat and position in the
// beat. The read channel is free.

`default_nettype none

module as_json_fetch #(
    parameter int unsigned Parsers = 1,
    parameter int unsigned Bytes = 16,
    parameter int unsigned SegmentBeats = 16,
    parameter int unsigned QueueBeats = 64,
    localparam int unsigned OffsetBits = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                  start_i,
    input  logic [Parsers*64-1:0] address_i,
    input  logic [Parsers*32-1:0] length_i,
    input  logic [   Parsers-1:0] abort_i,
    output logic                  idle_o,
    output logic                  error_o,

    output logic [        Parsers-1:0] valid_o,
    input  logic [        Parsers-1:0] ready_i,
    output logic [Parsers*Bytes*8-1:0] data_o,

    output logic               ar_valid_o,
    input  logic               ar_ready_i,
    output logic [       63:0] ar_addr_o,
    output logic [        7:0] ar_len_o,
    input  logic               r_valid_i,
    output logic               r_ready_o,
    input  logic [Bytes*8-1:0] r_data_i,
    input  logic [        1:0] r_resp_i
);

  // Undriven nets are free: see prove.py.
  logic [Parsers-1:0] free;

  for (genvar p = 0; p < Parsers; p++) begin : gen_parser
    logic [2:0] beat_q, end_q;
    as_stream_source #(
        .Width(1)
    ) i_source (
        .clk_i,
        .rst_ni (rst_ni && !start_i),
        .valid_i(free[p] && beat_q != end_q),
        .data_i (1'b0),
        .ready_i(ready_i[p]),
        .valid_o(valid_o[p]),
        .data_o ()
    );
    for (genvar i = 0; i < Bytes; i++) begin : gen_byte
      assign data_o[(p*Bytes+i)*8+:8] = {1'b1, 1'(p), beat_q, 3'(i)};
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        beat_q <= '0;
        end_q  <= '0;
      end else if (start_i) begin
        beat_q <= '0;
        end_q  <= length_i[p*32+:32] == '0 ? '0 : 3'((32'(address_i[p*64+:OffsetBits]) + length_i[p*32+:32] + 32'(Bytes - 1)) >> OffsetBits);
      end else begin
        if (valid_o[p] && ready_i[p]) beat_q <= beat_q + 1'b1;
        // What was requested still arrives.
        if (abort_i[p] && !(valid_o[p] && ready_i[p])) end_q <= valid_o[p] ? beat_q + 1'b1 : beat_q;
      end
    end
  end

endmodule

`default_nettype wire
