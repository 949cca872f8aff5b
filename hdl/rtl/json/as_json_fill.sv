// SPDX-License-Identifier: Apache-2.0
// Fills a node and all nodes below it with nulls, one node per cycle, at most L of each at a time:
// which node, and how many.
//
// A node is filled once, or, inside a fixed-size list that is null, once per item. The remaining
// count is computed a cycle before, so such a node takes two cycles.
//
// Latency: 1 cycle from `begin_i`. Throughput: one node per cycle.
//
// Layer: json.

`default_nettype none

module as_json_fill
  import as_json_pkg::*;
#(
    parameter int unsigned L = 2,
    parameter int unsigned Levels = 1
) (
    input logic clk_i,
    input logic rst_ni,

    input logic       enable_i,
    // Begins with a node and ends with the last one below it; advances.
    input logic       begin_i,
    input logic [7:0] first_i,
    input logic [7:0] last_i,
    input logic       filling_i,

    // The node of this cycle, and its row.
    output logic [7:0] node_o,
    input  row_t       row_i,
    // Elements are written, unless the node is in a list of no items; how many; it was the last.
    output logic       step_o,
    output logic       some_o,
    output logic [7:0] count_o,
    output logic       over_o
);

  // How many remain at each level.
  logic [15:0] due_q[Levels+1];
  logic [15:0] due, left_q, left, done_q;
  logic [7:0] node_q, last_q, most;
  // Inside a fixed-size list; the remaining count is known.
  logic deep_q, counted_q;
  logic single;
  (* keep *) logic over;

  // A step holds half as many 16-byte elements; of a node with lengths, one.
  assign single  = row_i.kind == KindText || row_i.kind == KindList;
  assign most    = single ? 8'd1 : row_i.size == 3'd4 ? 8'(L / 2) : 8'(L);
  assign left    = deep_q ? left_q : 16'd1;
  assign over    = !deep_q || left_q <= 16'(most);
  assign count_o = single ? 8'd1 : over ? left[7:0] : most;
  assign some_o  = left != '0;
  assign step_o  = filling_i && (!deep_q || counted_q);
  assign node_o  = node_q;
  // A null list has no items.
  assign over_o  = over && (row_i.kind == KindList ? row_i.last : node_q) >= last_q;

  always_comb begin
    due = '0;
    for (int unsigned i = 0; i <= Levels; i++) if (row_i.level == 4'(i)) due |= due_q[i];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) counted_q <= 1'b0;
    else if (enable_i) counted_q <= filling_i && deep_q && !counted_q;
  end
  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      left_q <= due - done_q;
      if (begin_i) begin
        node_q <= first_i;
        last_q <= last_i;
        done_q <= '0;
        deep_q <= 1'b0;
      end else if (filling_i) begin
        deep_q <= deep_q || row_i.kind == KindFixed;
        if (step_o) begin
          done_q <= over ? '0 : done_q + 16'(count_o);
          if (over) node_q <= row_i.kind == KindList ? row_i.last + 8'd1 : node_q + 8'd1;
        end
      end
      for (int unsigned i = 0; i <= Levels; i++) begin
        if (begin_i) due_q[i] <= 16'd1;
        else if (i != 0 && filling_i && row_i.kind == KindFixed && row_i.level == 4'(i - 1)) begin
          due_q[i] <= 16'(32'(due) * 32'(row_i.fixed));
        end
      end
    end
  end

endmodule

`default_nettype wire
