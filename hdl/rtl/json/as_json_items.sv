// SPDX-License-Identifier: Apache-2.0
// Counts the items so far of the lists around a value, one count per level of nesting.
//
// Latency: 1 cycle from the event counted.
//
// Layer: json.

`default_nettype none

module as_json_items #(
    parameter int unsigned Levels = 1
) (
    input logic clk_i,

    input  logic        enable_i,
    // A list begins at a level; items are added at one.
    input  logic        clear_i,
    input  logic [ 3:0] clear_level_i,
    input  logic        add_i,
    input  logic [ 3:0] add_level_i,
    input  logic [ 7:0] add_count_i,
    // The level whose count is read.
    input  logic [ 3:0] level_i,
    output logic [15:0] items_o
);

  logic [15:0] items_q[Levels];

  always_comb begin
    items_o = '0;
    for (int unsigned i = 0; i < Levels; i++) if (level_i == 4'(i)) items_o |= items_q[i];
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      for (int unsigned i = 0; i < Levels; i++) begin
        if (clear_i && clear_level_i == 4'(i)) items_q[i] <= '0;
        else if (add_i && add_level_i == 4'(i)) items_q[i] <= items_q[i] + 16'(add_count_i);
      end
    end
  end

endmodule

`default_nettype wire
