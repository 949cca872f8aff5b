// SPDX-License-Identifier: Apache-2.0
// Stub of as_json_pack for proofs of the modules around it: every piece is a beat, and the beat's
// number holds its granule count and its index (modulo 4) in its buffer. A flush takes any time.
// The input assumptions of the as_json_pack proof are asserted here.

`default_nettype none

module as_json_pack #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned GranuleBits = 8,
    parameter int unsigned PieceGranules = 16,
    parameter int unsigned Buffers = 1,
    parameter bit Lead = 1'b0,
    localparam int unsigned BeatBits = Bytes * 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic                                 valid_i,
    output logic                                 ready_o,
    input  logic [                          7:0] buffer_i,
    input  logic [PieceGranules*GranuleBits-1:0] data_i,
    input  logic [                          7:0] count_i,
    input  logic                                 flush_i,
    output logic                                 idle_o,

    output logic                valid_o,
    input  logic                ready_i,
    output logic [         7:0] buffer_o,
    output logic [        31:0] beat_o,
    output logic [BeatBits-1:0] data_o
);

  // Undriven nets are free: see prove.py.
  logic over;
  logic valid_q, over_q, flush_q;
  logic [1:0] pieces_q[Buffers];

  assign ready_o = !valid_q || ready_i;
  assign valid_o = valid_q;
  assign idle_o  = !valid_q && over_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      over_q  <= 1'b0;
      flush_q <= 1'b0;
    end else if (clr_i) begin
      valid_q <= 1'b0;
      over_q  <= 1'b0;
      flush_q <= 1'b0;
    end else begin
      if (ready_o) valid_q <= valid_i;
      if (flush_i && over) over_q <= 1'b1;
      flush_q <= flush_i;
    end
  end
  for (genvar b = 0; b < Buffers; b++) begin : gen_buffer
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) pieces_q[b] <= '0;
      else if (clr_i) pieces_q[b] <= '0;
      else if (valid_i && ready_o && buffer_i == 8'(b)) pieces_q[b] <= pieces_q[b] + 1'b1;
    end
  end

  logic [1:0] number;
  always_comb begin
    number = '0;
    for (int unsigned b = 0; b < Buffers; b++) if (buffer_i == 8'(b)) number |= pieces_q[b];
  end
  always_ff @(posedge clk_i) begin
    if (ready_o) begin
      buffer_o <= buffer_i;
      beat_o   <= {22'd0, number, count_i};
      data_o   <= BeatBits'(data_i);
    end
  end

  always_comb begin
    if (rst_ni) begin
      if (valid_i) begin
        assert (!flush_i && buffer_i < 8'(Buffers) && count_i <= 8'(PieceGranules));
        for (int unsigned g = 0; g < PieceGranules; g++) if (count_i <= 8'(g)) assert (data_i[g*GranuleBits+:GranuleBits] == '0);
      end
      // A flush is not withdrawn.
      if (flush_q && !idle_o) assert (flush_i);
    end
  end

endmodule

`default_nettype wire
