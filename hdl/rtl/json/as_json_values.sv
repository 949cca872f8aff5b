// SPDX-License-Identifier: Apache-2.0
// The first L integers that end in the region of a run, and whether there are more. They are
// counted before the end of the region is known.
//
// Latency: none.
//
// Layer: json.

`default_nettype none

module as_json_values #(
    parameter int unsigned W = 8,
    parameter int unsigned L = 2
) (
    // The byte after an integer; what is still to be read.
    input logic [W-1:0] value_end_i,
    input logic [W-1:0] rest_i,
    // The lanes of the region.
    input logic [W-1:0] reached_i,

    output logic [    7:0] count_o,
    output logic           more_o,
    output logic [L*8-1:0] lanes_o,
    // The last of L ends at the last lane.
    output logic           edge_o
);

  localparam int unsigned RankBits = $clog2(W + 1);
  logic [W-1:0] ends;
  logic [RankBits-1:0] rank[W];
  logic [W-1:0] nth[L+1];
  (* keep *) logic [7:0] count;
  (* keep *) logic more;

  always_comb begin
    ends = value_end_i & rest_i;
    // How many end at a lane or before it, by doubling the distance.
    for (int unsigned i = 0; i < W; i++) rank[i] = RankBits'(ends[i]);
    for (int unsigned reach = 1; reach < W; reach *= 2) begin
      for (int unsigned i = W - 1; i >= reach; i--) rank[i] += rank[i-reach];
    end
    for (int unsigned j = 0; j <= L; j++) begin
      for (int unsigned i = 0; i < W; i++) nth[j][i] = ends[i] && rank[i] == RankBits'(j + 1);
    end
    count   = '0;
    lanes_o = '0;
    for (int unsigned j = 0; j < L; j++) begin
      if (|(nth[j] & reached_i)) count = 8'(j + 1);
      for (int unsigned i = 0; i < W; i++) if (nth[j][i]) lanes_o[j*8+:8] |= 8'(i);
    end
    more = |(nth[L] & reached_i);
  end

  assign count_o = count;
  assign more_o  = more;
  assign edge_o  = nth[L-1][W-1];

endmodule

`default_nettype wire
