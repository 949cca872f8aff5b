// SPDX-License-Identifier: Apache-2.0
// The prediction after the value that the route reads: whether its text is at the end of the
// region, and the node it leads to.
//
// The prediction is a row of the plan's table that was read a cycle before. While one is followed,
// the row after the value it leads to is read, so that a jump finds its successor ready. After any
// other change of node the row is a cycle late and `fresh_o` is low: the route waits if it could
// use it.
//
// Latency: none from the beat, 1 cycle from a change of node other than by a jump.
//
// Layer: json.

`default_nettype none

module as_json_predict
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8,
    parameter int unsigned Nodes = 2,
    parameter int unsigned Slots = 1,
    parameter int unsigned Window = 32
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    // The route's position: between records, or at a node. It follows the prediction in this cycle.
    input logic       record_i,
    input logic [7:0] node_i,
    input logic       jump_i,
    // Values outside the schema are not predicted.
    input logic       skip_i,

    // The plan's table: the text predicted after a node, or at a record's start; fields of the
    // objects that it closes, fields that it enters.
    output logic             table_begin_o,
    output logic [      7:0] table_after_o,
    input  slot_t            table_i,
    input  logic [Nodes-1:0] table_clears_i,
    input  logic [Nodes-1:0] table_sets_i,

    // The beat: where each predicted text begins.
    input logic [Slots*W-1:0] starts_i,
    input logic [      W-1:0] end_i,
    input logic [      W-1:0] newline_i,
    input logic [      W-1:0] scalar_i,
    input logic [      W-1:0] quote_i,
    input logic [      W-1:0] escape_i,
    input logic [      W-1:0] bad_string_i,
    input logic [      W-1:0] bad_utf8_i,
    input logic [      W-1:0] stop_i,
    input logic [      W-1:0] run_bad_i,
    input logic [      W-1:0] value_end_i,
    input logic [  Nodes-1:0] seen_i,

    output logic             fresh_o,
    output slot_t            slot_o,
    // The text is there and allowed; the fields seen after it.
    output logic             here_o,
    output logic [Nodes-1:0] seen_o,
    // It leads out of the beat, or to a point where nothing is left to do in it.
    output logic             out_o,
    output logic             quiet_o
);

  slot_t slot_q;
  logic [Nodes-1:0] clears_q, sets_q;
  // What the row belongs to.
  logic known_q, begin_q;
  logic [7:0] after_q;
  // From these lanes it leads out of the beat.
  logic [W-1:0] out_q;

  assign fresh_o        = known_q && begin_q == record_i && (record_i || after_q == node_i);
  assign table_begin_o  = fresh_o ? 1'b0 : record_i;
  assign table_after_o  = fresh_o ? slot_q.node : node_i;
  assign slot_o         = slot_q;
  assign seen_o         = (seen_i & ~clears_q) | sets_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) known_q <= 1'b0;
    else if (clr_i) known_q <= 1'b0;
    else known_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!fresh_o || jump_i) begin
      slot_q   <= table_i;
      clears_q <= table_clears_i;
      sets_q   <= table_sets_i;
      begin_q  <= table_begin_o;
      after_q  <= table_after_o;
      out_q    <= W'(~({{W{1'b0}}, {W{1'b1}}} >> table_i.length));
    end
  end

  // Whether the predicted text is at the end of the region, and allowed.
  logic [W-1:0] starts;
  logic allowed;
  (* keep *) logic here;
  always_comb begin
    starts = '0;
    for (int unsigned i = 0; i < Slots; i++) if (slot_q.number == 8'(i)) starts |= starts_i[i*W+:W];
  end
  assign allowed = slot_q.valid && fresh_o && !skip_i && (clears_q & ~seen_i) == '0 &&
                   (seen_i & ~clears_q & sets_q) == '0;
  assign here    = allowed && (starts & end_i) != '0;
  assign here_o  = here;

  // The first lane after which nothing ends and nothing is malformed in this beat: of a scalar, of
  // a run, of a string.
  logic [W-1:0] quiet_scalar, quiet_run, quiet_text, quiet;
  always_comb begin
    for (int unsigned i = 0; i < W; i++) begin
      quiet_scalar[i] = (~scalar_i >> i) == '0;
      quiet_run[i]    = ((value_end_i | stop_i | run_bad_i) >> i) == '0;
      quiet_text[i]   = ((quote_i | newline_i | bad_string_i | bad_utf8_i | escape_i) >> i) == '0 &&
                        W - i <= Window;
    end
    unique case (slot_q.kind)
      KindList, KindFixed: quiet = quiet_run;
      KindText, KindTime:  quiet = quiet_text;
      default:             quiet = quiet_scalar;
    endcase
  end
  assign out_o   = |(end_i & out_q);
  assign quiet_o = |(end_i & W'({{W{1'b0}}, quiet} >> slot_q.length));

endmodule

`default_nettype wire
