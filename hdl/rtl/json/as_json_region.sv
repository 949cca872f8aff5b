// SPDX-License-Identifier: Apache-2.0
// The region that the route looks at: from its place in the beat to the first byte that ends what
// it reads, and what is there.
//
// Latency: none. Bytes are compared before the position is known.
//
// Layer: json.

`default_nettype none

module as_json_region
  import as_json_pkg::*;
#(
    parameter  int unsigned W = 8,
    localparam int unsigned IndexBits = $clog2(W)
) (
    input mode_e                mode_i,
    // The string in progress is one that a column keeps.
    input logic                 kept_i,
    input logic [IndexBits-1:0] at_i,

    input logic [W*8-1:0] data_i,
    input logic [  W-1:0] space_i,
    input logic [  W-1:0] newline_i,
    input logic [  W-1:0] scalar_i,
    input logic [  W-1:0] quote_i,
    input logic [  W-1:0] escape_i,
    input logic [  W-1:0] stop_i,

    // The bytes still to be read; the lane that ends the region, as a bit and as a number; those
    // before it, all if there is none.
    output logic  [W-1:0] rest_o,
    output logic  [W-1:0] end_o,
    output logic  [  7:0] stop_o,
    output logic  [W-1:0] below_o,
    output logic          found_o,
    output mark_t         mark_o,
    // Where a key ends, if one is read.
    output logic  [W-1:0] key_o
);

  // `keep`: these signals are on the slowest path, and synthesis must not restructure them to save
  // area.
  (* keep *) logic [W-1:0] end_lane, below;
  (* keep *) logic found;
  (* keep *) mark_t mark;
  logic [W-1:0] rest, sought, key_sought;
  logic [7:0] stop;

  assign rest = {W{1'b1}} << at_i;
  always_comb begin
    unique case (mode_i)
      ModeRecord: sought = ~space_i & ~newline_i;
      ModeWalk:   sought = ~space_i;
      ModeRun:    sought = stop_i;
      ModeScalar: sought = ~scalar_i;
      ModeText:   sought = quote_i | newline_i | (escape_i & {W{kept_i}});
      default:    sought = '1;
    endcase
  end
  assign end_lane   = sought & rest & (~(sought & rest) + 1'b1);
  assign found      = |(sought & rest);
  assign below      = end_lane - 1'b1;
  assign key_sought = (quote_i | newline_i) & rest;

  always_comb begin
    mark         = '0;
    mark.scalar  = |(end_lane & scalar_i);
    mark.newline = |(end_lane & newline_i);
    stop         = '0;
    for (int unsigned i = 0; i < W; i++) begin
      mark.object_begin |= end_lane[i] && data_i[i*8+:8] == "{";
      mark.object_end   |= end_lane[i] && data_i[i*8+:8] == "}";
      mark.list_begin   |= end_lane[i] && data_i[i*8+:8] == "[";
      mark.list_end     |= end_lane[i] && data_i[i*8+:8] == "]";
      mark.comma        |= end_lane[i] && data_i[i*8+:8] == ",";
      mark.colon        |= end_lane[i] && data_i[i*8+:8] == ":";
      mark.quote        |= end_lane[i] && data_i[i*8+:8] == 8'h22;
      mark.unicode      |= end_lane[i] && data_i[i*8+:8] == "u";
      if (end_lane[i]) stop |= 8'(i);
    end
  end

  assign rest_o  = rest;
  assign end_o   = end_lane;
  assign stop_o  = stop;
  assign below_o = below;
  assign found_o = found;
  assign mark_o  = mark;
  assign key_o   = key_sought & (~key_sought + 1'b1);

endmodule

`default_nettype wire
