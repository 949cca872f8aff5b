// SPDX-License-Identifier: Apache-2.0
// Selects Out of In units, from unit `at_i` on: the shift of every aligner, written so that it maps
// to few look-up tables.
//
// The coarsest step comes first, a choice of four per step (a six-input table per bit): units that
// no later step can reach are dropped before the finer steps. A shift operator is mapped finest
// first and carries all bits to the end. Units past the row are zero.
//
// Combinational: ceil(AtBits / 2) tables deep.
//
// Layer: stream.

`default_nettype none

module as_funnel #(
    parameter int unsigned Unit   = 8,
    parameter int unsigned In     = 128,
    parameter int unsigned Out    = 64,
    parameter int unsigned AtBits = 6
) (
    input  logic [ In*Unit-1:0] data_i,
    input  logic [  AtBits-1:0] at_i,
    output logic [Out*Unit-1:0] data_o
);

  localparam int unsigned Steps = (AtBits + 1) / 2;
  // The units that the widest step may read.
  localparam int unsigned Row = Out + (1 << (2 * Steps));

  for (genvar s = 0; s < Steps; s++) begin : gen_step
    // Bits of `at_i` below those of this step; the last step may have only one.
    localparam int unsigned Below = AtBits > 2 * (s + 1) ? AtBits - 2 * (s + 1) : 0;
    localparam int unsigned Here = AtBits - 2 * s > 1 ? 2 : 1;
    // Units that later steps can reach.
    localparam int unsigned Reach = Out + (1 << Below) - 1;
    logic [ Row*Unit-1:0] row;
    logic [Reach*Unit-1:0] reached;
    logic [          1:0] way;

    if (s > 0) begin : gen_after
      assign row = (Row * Unit)'(gen_step[s-1].reached);
    end else begin : gen_first
      assign row = (Row * Unit)'(data_i);
    end
    assign way = 2'(at_i[Below+:Here]);
    logic unused;
    assign unused = ^row;

    for (genvar u = 0; u < Reach; u++) begin : gen_unit
      logic [4*Unit-1:0] ways;
      for (genvar w = 0; w < 4; w++) begin : gen_way
        if (u + (w << Below) < Row) begin : gen_in
          assign ways[w*Unit+:Unit] = row[(u+(w<<Below))*Unit+:Unit];
        end else begin : gen_out
          assign ways[w*Unit+:Unit] = '0;
        end
      end
      assign reached[u*Unit+:Unit] = way[1] ? (way[0] ? ways[3*Unit+:Unit] : ways[2*Unit+:Unit])
                                            : (way[0] ? ways[Unit+:Unit] : ways[0+:Unit]);
    end
  end

  assign data_o = gen_step[Steps-1].reached;

endmodule

`default_nettype wire
