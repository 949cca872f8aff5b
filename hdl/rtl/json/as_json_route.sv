// SPDX-License-Identifier: Apache-2.0
// Follows the plan through the text: which field the text here belongs to, and where it ends.
//
// It has two speeds. A value is a region of bytes whose end is found in one look at the beat. The
// text after it that leads to the next field of the plan is predicted (`],"braking":[`); if it is
// there, byte for byte, the route jumps over it into the next value. So a step is one value, or as
// many integers of a list as the beat has (at most L), plus the way to the next value. If the
// prediction fails, the route walks, one token per cycle, through any order of keys, white space,
// unknown keys, nulls and nesting, until the next value, where it is fast again.
//
// A record that this module does not take (mostly one with an error) stops it: `fault_o` holds, and
// the rows before it are complete. It does not check values: the converters check their text.
//
// The plan comes in as tables: `row_*` for two nodes, `slot_*` for the prediction after one,
// `map_*` for keys.
//
// This module decides; separate modules look and count: as_json_region finds the end of a value,
// as_json_predict knows what should follow it, as_json_walk is the grammar, as_json_values counts
// the integers of a run, as_json_items those of lists, as_json_fill nulls, as_json_account records.
//
// Latency: 1 cycle. Throughput: one step per cycle while `room_i`. `advance_o` depends on
// `beat_valid_i` and `room_i` within the cycle.
//
// Layer: json.

`default_nettype none

module as_json_route
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8,
    parameter int unsigned L = 2,
    parameter int unsigned Nodes = 2,
    parameter int unsigned Slots = 1,
    parameter int unsigned Levels = 1,
    // Bytes before a beat that the converters still see.
    parameter int unsigned Window = 32,
    // Deepest nesting inside values that are skipped.
    parameter int unsigned Depth = 64
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic        unknown_refused_i,
    input logic [31:0] record_bytes_max_i,
    input logic [15:0] depth_max_i,

    input  logic           beat_valid_i,
    output logic           advance_o,
    input  logic [W*8-1:0] data_i,
    input  logic [  W-1:0] space_i,
    input  logic [  W-1:0] newline_i,
    input  logic [  W-1:0] scalar_i,
    input  logic [  W-1:0] quote_i,
    input  logic [  W-1:0] escape_i,
    input  logic [  W-1:0] bad_string_i,
    input  logic [  W-1:0] bad_utf8_i,
    input  logic [  W-1:0] stop_i,
    input  logic [  W-1:0] stop_ok_i,
    input  logic [  W-1:0] stop_value_i,
    input  logic [  W-1:0] run_bad_i,
    input  logic [  W-1:0] value_end_i,
    input  logic [  W-1:0] null_end_i,
    // Where each predicted text begins.
    input  logic [Slots*W-1:0] slot_start_i,

    // The lane at which a key of a node may end.
    output logic [        7:0] map_context_o,
    output logic [      W-1:0] map_lane_o,
    input  logic               map_known_i,
    input  logic [        7:0] map_node_i,
    output logic [        7:0] row_node_o,
    input  row_t               row_i,
    output logic [        7:0] row_context_o,
    input  row_t               context_i,
    // The fields of the context.
    input  logic [  Nodes-1:0] fields_i,
    // Fields that may be null.
    input  logic [  Nodes-1:0] nullable_i,
    // The last node below a field that is missing.
    output logic [        7:0] missing_o,
    input  logic [        7:0] missing_last_i,
    // The text predicted after a node, or at a record's start; fields of the objects that it
    // closes, fields that it enters.
    output logic               slot_begin_o,
    output logic [        7:0] slot_after_o,
    input  slot_t              slot_i,
    input  logic [  Nodes-1:0] slot_clears_i,
    input  logic [  Nodes-1:0] slot_sets_i,

    input  logic               room_i,
    output logic               step_valid_o,
    output step_t              step_o,
    output logic [    L*8-1:0] lanes_o,

    output logic               idle_o,
    output logic               fault_o,
    output fault_e             fault_code_o,
    output logic [       63:0] fault_position_o,
    output logic [       31:0] rows_o
);

  localparam int unsigned IndexBits = $clog2(W);
  localparam int unsigned DepthBits = as_stream_pkg::count_bits(Depth);

  mode_e mode_q, mode_d;
  walk_e walk_q, walk_d;
  logic [7:0] node_q, node_d;
  logic [7:0] context_q, context_d;
  // The next lane, which may be in a later beat.
  logic [8:0] at_q, at_d;
  // The text in progress is a key; the value is not in the schema.
  logic key_q, key_d;
  logic skip_q, skip_d;
  // The string in progress is one that a column keeps.
  logic kept_q, kept_d;
  // A scalar begins here.
  logic start_q, start_d;
  // Inside a skipped value: the depth, and which of the enclosing values are objects.
  logic [DepthBits-1:0] depth_q, depth_d;
  logic [Depth-1:0] stack_q, stack_d;
  logic [Nodes-1:0] seen_q, seen_d;
  // A missing field is being filled: its value is not the one that the route reads.
  logic back_q, back_d;
  logic empty_q, empty_d;
  logic unicode_q, unicode_d;
  // Bytes of the string in the previous beat that are still to be taken.
  logic [7:0] owed_q, owed_d;
  logic step_valid_q;
  // `keep`: these signals are on the slowest path, and synthesis must not restructure them to save
  // area.
  (* keep *) fault_e fault_d;
  (* keep *) move_e move;
  logic active;
  (* keep *) logic jump, leave, advance, record_end;
  logic [8:0] target;
  logic clear_items, add_items;
  logic [3:0] items_level;
  logic [7:0] items_add;
  step_t step;

  logic here;
  logic [7:0] at;
  assign here = at_q[8:IndexBits] == '0;
  assign at   = at_q[7:0];

  logic [W-1:0] rest, end_lane, below, key_lane;
  logic [7:0] stop;
  logic found;
  mark_t mark;
  as_json_region #(
      .W(W)
  ) i_region (
      .mode_i(mode_q),
      .kept_i(kept_q),
      .at_i  (at_q[IndexBits-1:0]),
      .data_i,
      .space_i,
      .newline_i,
      .scalar_i,
      .quote_i,
      .escape_i,
      .stop_i,
      .rest_o (rest),
      .end_o  (end_lane),
      .stop_o (stop),
      .below_o(below),
      .found_o(found),
      .mark_o (mark),
      .key_o  (key_lane)
  );

  logic [L*8-1:0] lanes;
  logic [7:0] value_count;
  logic more, value_edge;
  as_json_values #(
      .W(W),
      .L(L)
  ) i_values (
      .value_end_i,
      .rest_i   (rest),
      .reached_i(below | (end_lane & stop_ok_i)),
      .count_o  (value_count),
      .more_o   (more),
      .lanes_o  (lanes),
      .edge_o   (value_edge)
  );

  slot_t slot;
  logic fresh, slot_here, slot_out, slot_quiet;
  logic [Nodes-1:0] slot_seen;
  as_json_predict #(
      .W     (W),
      .Nodes (Nodes),
      .Slots (Slots),
      .Window(Window)
  ) i_predict (
      .clk_i,
      .rst_ni,
      .clr_i,
      .record_i      (mode_q == ModeRecord),
      .node_i        (node_q),
      .jump_i        (active && jump),
      .skip_i        (skip_q),
      .table_begin_o (slot_begin_o),
      .table_after_o (slot_after_o),
      .table_i       (slot_i),
      .table_clears_i(slot_clears_i),
      .table_sets_i  (slot_sets_i),
      .starts_i      (slot_start_i),
      .end_i         (end_lane),
      .newline_i,
      .scalar_i,
      .quote_i,
      .escape_i,
      .bad_string_i,
      .bad_utf8_i,
      .stop_i,
      .run_bad_i,
      .value_end_i,
      .seen_i        (seen_q),
      .fresh_o       (fresh),
      .slot_o        (slot),
      .here_o        (slot_here),
      .seen_o        (slot_seen),
      .out_o         (slot_out),
      .quiet_o       (slot_quiet)
  );

  // The first missing field when an object closes.
  logic [Nodes-1:0] missing, missing_first, key_bit;
  logic [7:0] missing_index;
  assign missing       = fields_i & ~seen_q;
  assign missing_first = missing & (~missing + 1'b1);
  always_comb begin
    missing_index = '0;
    key_bit = '0;
    for (int unsigned i = 0; i < Nodes; i++) begin
      if (missing_first[i]) missing_index |= 8'(i);
      key_bit[i] = map_node_i == 8'(i);
    end
  end

  logic [7:0] fill_node, fill_count;
  logic fill_step, fill_some, fill_over;
  assign row_node_o    = mode_q == ModeFill ? fill_node : node_q;
  assign row_context_o = context_q;
  assign map_context_o = context_q;
  assign map_lane_o    = key_lane;
  assign missing_o     = missing_index;

  logic [15:0] items, items_left;
  assign items_left = row_i.fixed - items;
  as_json_items #(
      .Levels(Levels)
  ) i_items (
      .clk_i,
      .enable_i     (active),
      .clear_i      (clear_items),
      .clear_level_i(jump ? slot.level : row_i.level),
      .add_i        (add_items),
      .add_level_i  (items_level),
      .add_count_i  (items_add),
      .level_i      (mode_q == ModeRun ? row_i.level : context_i.level),
      .items_o      (items)
  );

  as_json_fill #(
      .L     (L),
      .Levels(Levels)
  ) i_fill (
      .clk_i,
      .rst_ni,
      .enable_i (active),
      .begin_i  (mode_d == ModeFill && mode_q != ModeFill),
      // A value that is null, or a field that is missing.
      .first_i  (mode_q == ModeScalar ? node_q : missing_index),
      .last_i   (mode_q == ModeScalar ? row_i.last : missing_last_i),
      .filling_i(mode_q == ModeFill),
      .node_o   (fill_node),
      .row_i,
      .step_o   (fill_step),
      .some_o   (fill_some),
      .count_o  (fill_count),
      .over_o   (fill_over)
  );

  token_t token;
  as_json_walk i_walk (
      .walk_i         (walk_q),
      .mark_i         (mark),
      .node_i         (node_q),
      .row_i,
      .context_node_i (context_q),
      .context_i,
      .items_i        (items),
      .empty_i        (empty_q),
      .skip_i         (skip_q),
      .in_object_i    (stack_q[0]),
      .deepest_i      (depth_q == DepthBits'(Depth - 1) || 16'(depth_q) >= depth_max_i),
      .missing_i      (missing != '0),
      .missing_fault_i((missing & ~nullable_i) != '0),
      .token_o        (token)
  );

  logic too_long, ended, faulted;
  as_json_account #(
      .W(W)
  ) i_account (
      .clk_i,
      .rst_ni,
      .clr_i,
      .record_bytes_max_i,
      .active_i    (active),
      .advance_i   (advance),
      .record_end_i(record_end),
      .jump_i      (jump),
      .stop_i      (stop),
      .length_i    (slot.length),
      .fault_i     (fault_d),
      .fault_lane_i(found ? stop : at),
      .too_long_o  (too_long),
      .ended_o     (ended),
      .faulted_o   (faulted),
      .fault_o     (fault_code_o),
      .position_o  (fault_position_o),
      .rows_o      (rows_o)
  );

  // If the prediction that could be followed is not there yet, the route waits for it.
  logic waits;
  assign waits  = !fresh && (mode_q == ModeRecord || mode_q == ModeRun || mode_q == ModeScalar);
  assign active = beat_valid_i && room_i && !faulted && !waits;

  always_comb begin
    mode_d         = mode_q;
    walk_d         = walk_q;
    node_d         = node_q;
    context_d      = context_q;
    move           = MoveNone;
    key_d          = key_q;
    skip_d         = skip_q;
    kept_d         = kept_q;
    start_d        = start_q;
    depth_d        = depth_q;
    stack_d        = stack_q;
    seen_d         = seen_q;
    back_d         = back_q;
    empty_d        = empty_q;
    unicode_d      = unicode_q;
    owed_d         = owed_q;
    record_end     = 1'b0;
    fault_d        = FaultNone;
    advance        = 1'b0;
    jump           = 1'b0;
    leave          = 1'b0;
    clear_items    = 1'b0;
    add_items      = 1'b0;
    items_level    = row_i.level;
    items_add      = 8'd1;
    step           = '0;
    step.row       = row_i;
    step.record    = rows_o[7:0];
    step.valid     = 1'b1;
    step.first     = at;
    step.counter   = row_i.counter;
    step.validity  = row_i.valid;
    step.outer_valid  = 1'b1;
    step.outer_count  = 8'd1;
    step.outer_buffer = row_i.outer_buffer;
    step.add          = 8'd1;

    if (!here) begin
      // On the way to a later beat.
      advance = 1'b1;
    end else begin
      unique case (mode_q)
        ModeRecord: begin
          if (!found) advance = 1'b1;
          else if (slot_here) jump = 1'b1;
          else if (mark.object_begin) begin
            context_d = '0;
            walk_d    = WalkKeyOrClose;
            mode_d    = ModeWalk;
            move      = MoveBehind;
          end else fault_d = FaultSyntax;
        end

        ModeRun: begin
          step.values  = value_count != '0;
          step.count   = value_count;
          // If no value ends, there is nothing to write.
          step.adds    = row_i.count && step.values;
          step.add     = value_count;
          items_add    = value_count;
          add_items    = 1'b1;
          if (more) move = MoveValue;
          else if (!found) advance = 1'b1;
          else if (|(end_lane & stop_ok_i)) begin
            if (row_i.kind == KindFixed && items_left != 16'(value_count)) fault_d = FaultLength;
            if (slot_here) begin
              step.closes = row_i.count;
              jump        = 1'b1;
            end else begin
              move      = MoveEnd;
              mode_d    = ModeWalk;
              walk_d    = WalkNext;
              context_d = node_q;
            end
          end else if (|(end_lane & stop_value_i) && !mark.list_end) begin
            move      = MoveEnd;
            mode_d    = ModeScalar;
            start_d   = 1'b1;
            context_d = node_q;
            node_d    = row_i.item;
          end else fault_d = FaultSyntax;
          if (|(run_bad_i & rest & below)) fault_d = FaultNumber;
        end

        ModeScalar: begin
          start_d = 1'b0;
          if (start_q && |(end_lane & ~(rest << 1))) begin
            // White space, or text that is not a scalar, where the prediction led.
            mode_d = ModeWalk;
            walk_d = WalkValue;
          end else if (!found) advance = 1'b1;
          else if (|(end_lane & null_end_i) && !skip_q) begin
            move        = MoveEnd;
            mode_d      = ModeFill;
            back_d      = 1'b0;
            if (!row_i.nullable) fault_d = FaultMissing;
          end else begin
            if (!skip_q && !row_i.plain) fault_d = FaultType;
            step.values = 1'b1;
            step.count  = 8'd1;
            step.adds   = row_i.count && row_i.bulk;
            step.add    = 8'd1;
            if (skip_q) begin
              step.row      = '0;
              step.row.kind = KindSkip;
              step.validity = 1'b0;
              step.adds     = 1'b0;
            end
            if (!skip_q && row_i.bulk) begin
              add_items   = 1'b1;
              items_level = context_i.level;
            end
            leave = 1'b1;
          end
        end

        ModeText: begin
          step.text  = kept_q;
          step.first = at - owed_q;
          step.count = (found ? stop : 8'(W)) - at + owed_q;
          owed_d     = '0;
          step.adds  = step.text;
          step.add   = step.count;
          if (!found) advance = 1'b1;
          else if (mark.newline) fault_d = FaultSyntax;
          else if (|(end_lane & escape_i)) begin
            step.text = step.count != '0;
            mode_d    = ModeEscape;
            move      = MoveBehind;
          end else if (key_q) begin
            move   = MoveBehind;
            key_d  = 1'b0;
            mode_d = ModeWalk;
            walk_d = WalkColon;
            if (!skip_q) begin
              node_d = map_node_i;
              if (!map_known_i) begin
                skip_d  = 1'b1;
                depth_d = '0;
                if (unknown_refused_i) fault_d = FaultUnknown;
              end else if (|(seen_q & key_bit)) fault_d = FaultDuplicate;
              else seen_d = seen_q | key_bit;
            end
          end else begin
            if (step.text) step.closes = 1'b1;
            else if (!skip_q) begin
              // A date, or a number in quotes.
              step.values = 1'b1;
              step.quoted = 1'b1;
              step.count  = 8'd1;
            end
            move = MoveBehind;
            leave = 1'b1;
          end
          if (|(bad_string_i & rest & (below | end_lane)) ||
              (|(escape_i & rest & below) && !skip_q && !kept_q) ||
              (|(bad_utf8_i & rest & (below | end_lane)) && !skip_q && !key_q)) fault_d = FaultString;
        end

        ModeEscape: begin
          // An escape is decoded once the step is past it.
          unicode_d = mark.unicode;
          move      = mark.unicode ? MoveUnicode : MoveBehind;
          mode_d    = ModeEscaped;
          if (|(end_lane & bad_string_i)) fault_d = FaultString;
        end

        ModeEscaped: begin
          step.text    = 1'b1;
          step.escape  = 1'b1;
          step.unicode = unicode_q;
          step.count   = 8'd1;
          step.adds    = 1'b1;
          mode_d       = ModeText;
        end

        ModeWalk: begin
          if (!found) advance = 1'b1;
          else begin
            mode_d       = token.mode;
            walk_d       = token.walk;
            node_d       = token.node;
            context_d    = token.above;
            move         = token.move;
            fault_d      = token.fault;
            empty_d      = token.empty;
            record_end   = token.record_end;
            clear_items  = token.clear_items;
            add_items    = token.add_items;
            items_level  = context_i.level;
            step.outer   = token.outer;
            step.counter = context_i.counter;
            step.adds    = token.adds;
            step.closes  = token.closes;
            if (token.mode == ModeText) {key_d, kept_d} = {token.key, token.kept};
            if (token.mode == ModeScalar) start_d = 1'b0;
            if (token.push) begin
              depth_d = depth_q + 1'b1;
              stack_d = {stack_q[Depth-2:0], token.push_object};
            end
            if (token.pop) begin
              depth_d = depth_q - 1'b1;
              stack_d = stack_q >> 1;
              if (depth_q == DepthBits'(1)) skip_d = 1'b0;
            end
            if (token.forget) seen_d = seen_q & ~fields_i;
            if (token.fill) begin
              mode_d      = ModeFill;
              back_d      = 1'b1;
              node_d      = missing_index;
              seen_d      = seen_q | missing_first;
            end
          end
        end

        default: begin
          // Nulls for a node and all below it.
          if (fill_step) begin
            step.fill        = 1'b1;
            step.count       = fill_count;
            step.valid       = 1'b0;
            step.validity    = row_i.valid && fill_some && row_i.kind != KindList && row_i.kind != KindFixed;
            step.outer       = row_i.outer && fill_some;
            step.outer_valid = 1'b0;
            step.outer_count = fill_count;
            if (row_i.kind == KindText || row_i.kind == KindList) step.closes = fill_some;
            else step.values = row_i.kind != KindStruct && row_i.kind != KindFixed && fill_some;
            if (row_i.bulk && row_i.kind == KindInt) begin
              step.adds   = row_i.count;
              step.add    = fill_count;
              add_items   = fill_node == node_q && !back_q;
              items_level = context_i.level;
            end
            if (fill_over) begin
              if (back_q) mode_d = ModeWalk;
              else leave = 1'b1;
            end
          end
        end
      endcase
    end

    // A value is complete: go on to the next by the predicted text, or token by token.
    if (leave) begin
      if (slot_here) jump = 1'b1;
      else if (mode_q == ModeScalar && !skip_q && context_i.item == node_q && !context_i.bulk &&
               (context_i.kind == KindList || context_i.kind == KindFixed) && mark.comma) begin
        // The next item, if it follows immediately.
        move         = MoveBehind;
        start_d      = 1'b1;
        step.counter = context_i.counter;
        step.adds    = context_i.count;
        step.add     = 8'd1;
        add_items    = 1'b1;
        items_level  = context_i.level;
      end else begin
        mode_d = ModeWalk;
        walk_d = WalkNext;
        if (mode_q != ModeText) move = MoveEnd;
        if (depth_q == '0) skip_d = 1'b0;
      end
    end
    if (jump) begin
      node_d            = slot.node;
      context_d         = slot.parent;
      skip_d            = 1'b0;
      key_d             = 1'b0;
      kept_d            = slot.kind == KindText;
      start_d           = 1'b1;
      seen_d            = slot_seen;
      clear_items       = 1'b1;
      // An opened object or list is valid, also after a null.
      step.outer        = slot.outer;
      step.outer_buffer = slot.outer_buffer;
      step.outer_valid  = 1'b1;
      step.outer_count  = 8'd1;
      unique case (slot.kind)
        KindList, KindFixed: mode_d = ModeRun;
        KindText, KindTime:  mode_d = ModeText;
        default:             mode_d = ModeScalar;
      endcase
      if (slot.newline && mode_q != ModeRecord) begin
        record_end = 1'b1;
      end
    end
    // The beat is finished when none of it is left, or all of it was looked at.
    target = 9'(stop) + 9'(slot.length);
    if (!here) at_d = at_q - 9'(W);
    else if (jump) begin
      advance = slot_out || slot_quiet;
      if (slot_out) at_d = target - 9'(W);
      else if (slot_quiet) begin
        // The rest of the beat needs no work: values are taken from the bytes before their end.
        at_d    = '0;
        start_d = 1'b0;
        if (slot.kind == KindText || slot.kind == KindTime) owed_d = 8'(W) - target[7:0];
      end else at_d = target;
    end else if (advance) at_d = '0;
    else begin
      unique case (move)
        MoveEnd:     at_d = 9'(stop);
        MoveBehind:  {advance, at_d} = {end_lane[W-1], 9'(IndexBits'(stop + 8'd1))};
        MoveUnicode: {advance, at_d} = {|end_lane[W-1-:5], 9'(IndexBits'(stop + 8'd5))};
        MoveValue:   {advance, at_d} = {value_edge, 9'(IndexBits'(lanes[(L-1)*8+:8] + 8'd1))};
        default:     at_d = 9'(at_q[IndexBits-1:0]);
      endcase
    end
  end

  assign advance_o    = active && advance;
  assign step_valid_o = step_valid_q && !faulted;
  assign idle_o       = mode_q == ModeRecord && !ended;
  assign fault_o      = faulted && !ended;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mode_q       <= ModeRecord;
      at_q         <= '0;
      seen_q       <= '0;
      skip_q       <= 1'b0;
      key_q        <= 1'b0;
      empty_q      <= 1'b0;
      owed_q       <= '0;
      depth_q      <= '0;
      step_valid_q <= 1'b0;
    end else if (clr_i) begin
      mode_q       <= ModeRecord;
      at_q         <= '0;
      seen_q       <= '0;
      skip_q       <= 1'b0;
      key_q        <= 1'b0;
      empty_q      <= 1'b0;
      owed_q       <= '0;
      depth_q      <= '0;
      step_valid_q <= 1'b0;
    end else begin
      step_valid_q <= active && here && !too_long &&
                      (step.values || step.text || step.adds || step.closes || step.outer ||
                       (step.fill && step.validity));
      if (active) begin
        mode_q  <= mode_d;
        at_q    <= at_d;
        seen_q  <= seen_d;
        skip_q  <= skip_d;
        key_q   <= key_d;
        empty_q <= empty_d;
        owed_q  <= owed_d;
        depth_q <= depth_d;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (active) begin
      walk_q    <= walk_d;
      node_q    <= node_d;
      context_q <= context_d;
      start_q   <= start_d;
      kept_q    <= kept_d;
      stack_q   <= stack_d;
      back_q    <= back_d;
      unicode_q <= unicode_d;
    end
    step_o  <= step;
    lanes_o <= mode_q == ModeRun ? lanes : (L * 8)'(stop);
  end

endmodule

`default_nettype wire
