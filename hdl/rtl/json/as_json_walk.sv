// SPDX-License-Identifier: Apache-2.0
// The grammar, one token per step: what the route does where nothing is predicted. Any order of
// keys, white space, unknown keys, nesting.
//
// Latency: none.
//
// Layer: json.

`default_nettype none

module as_json_walk
  import as_json_pkg::*;
(
    input walk_e walk_i,
    // The token; there is one.
    input mark_t mark_i,

    input logic [7:0] node_i,
    input row_t       row_i,
    // The enclosing object or list.
    input logic [7:0] context_node_i,
    input row_t       context_i,
    // Items of that list so far.
    input logic [15:0] items_i,
    input logic        empty_i,
    // Inside a value that is not in the schema: in an object of it; at the depth limit.
    input logic skip_i,
    input logic in_object_i,
    input logic deepest_i,
    // Fields of the object are missing; some of them are not nullable.
    input logic missing_i,
    input logic missing_fault_i,

    output token_t token_o
);

  always_comb begin
    token_o       = '0;
    token_o.mode  = ModeWalk;
    token_o.walk  = walk_i;
    token_o.node  = node_i;
    token_o.above = context_node_i;
    token_o.move  = MoveBehind;
    token_o.fault = FaultNone;
    token_o.empty = empty_i;
    unique case (walk_i)
      WalkKeyOrClose, WalkKey: begin
        if (mark_i.quote) begin
          token_o.mode = ModeText;
          token_o.key  = 1'b1;
        end else if (mark_i.object_end && walk_i == WalkKeyOrClose) begin
          token_o.walk = WalkNext;
          token_o.move = MoveEnd;
        end else token_o.fault = FaultSyntax;
      end
      WalkColon: begin
        token_o.walk = WalkValue;
        if (!mark_i.colon) token_o.fault = FaultSyntax;
      end
      WalkValue, WalkValueOrClose: begin
        if (mark_i.object_begin) begin
          token_o.walk        = WalkKeyOrClose;
          token_o.push        = skip_i;
          token_o.push_object = 1'b1;
          if (skip_i) begin
            if (deepest_i) token_o.fault = FaultDepth;
          end else if (row_i.kind == KindStruct) begin
            token_o.above = node_i;
            token_o.outer = row_i.outer;
          end else token_o.fault = FaultType;
        end else if (mark_i.list_begin) begin
          token_o.walk = WalkValueOrClose;
          token_o.push = skip_i;
          if (skip_i) begin
            if (deepest_i) token_o.fault = FaultDepth;
          end else if (row_i.kind == KindList || row_i.kind == KindFixed) begin
            token_o.above       = node_i;
            token_o.clear_items = 1'b1;
            token_o.outer       = row_i.outer;
            if (row_i.bulk) token_o.mode = ModeRun;
            else token_o.node = row_i.item;
          end else token_o.fault = FaultType;
        end else if (mark_i.quote) begin
          token_o.mode = ModeText;
          token_o.kept = !skip_i && row_i.kind == KindText;
          if (!skip_i && !row_i.quoted) token_o.fault = FaultType;
        end else if (mark_i.list_end && walk_i == WalkValueOrClose) begin
          token_o.walk  = WalkNext;
          token_o.move  = MoveEnd;
          token_o.empty = 1'b1;
        end else if (mark_i.scalar) begin
          token_o.mode = ModeScalar;
          token_o.move = MoveEnd;
        end else token_o.fault = FaultSyntax;
      end
      WalkNext: begin
        if (skip_i) begin
          if (mark_i.comma) token_o.walk = in_object_i ? WalkKey : WalkValue;
          else if (in_object_i ? mark_i.object_end : mark_i.list_end) begin
            token_o.empty = 1'b0;
            token_o.pop   = 1'b1;
          end else token_o.fault = FaultSyntax;
        end else if (context_i.kind == KindStruct) begin
          if (mark_i.comma) token_o.walk = WalkKey;
          else if (mark_i.object_end) begin
            if (missing_i) begin
              token_o.move = MoveEnd;
              token_o.fill = !missing_fault_i;
              if (missing_fault_i) token_o.fault = FaultMissing;
            end else begin
              token_o.forget = 1'b1;
              if (context_node_i == '0) token_o.walk = WalkEnd;
              else token_o.above = context_i.parent;
            end
          end else token_o.fault = FaultSyntax;
        end else if (mark_i.comma) begin
          // In a list; a list of integers has already counted its items.
          if (context_i.bulk) begin
            token_o.mode = ModeRun;
            token_o.node = context_node_i;
          end else begin
            token_o.walk      = WalkValue;
            token_o.node      = context_i.item;
            token_o.adds      = context_i.count;
            token_o.add_items = 1'b1;
          end
        end else if (mark_i.list_end) begin
          token_o.empty  = 1'b0;
          token_o.above  = context_i.parent;
          token_o.closes = context_i.count;
          token_o.adds   = context_i.count && !context_i.bulk && !empty_i;
          if (context_i.kind == KindFixed && items_i + 16'(!context_i.bulk && !empty_i) != context_i.fixed) begin
            token_o.fault = FaultLength;
          end
        end else token_o.fault = FaultSyntax;
      end
      default: begin
        if (mark_i.newline) begin
          token_o.mode       = ModeRecord;
          token_o.record_end = 1'b1;
        end else token_o.fault = FaultSyntax;
      end
    endcase
  end

endmodule

`default_nettype wire
