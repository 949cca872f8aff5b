// SPDX-License-Identifier: Apache-2.0
// Follows the plan through the text: which field does what stands here belong to, and where does it end.
//
// Two speeds. A value is a region of bytes whose end is found in one look at the beat; behind it the text that leads to the next
// field of the plan is predicted (`],"braking":[`), and when it stands there, to the byte, the route jumps over it into the next
// value. So a step is a value, or as many integers of a list as the beat has (at most L), and the way to the next. When the
// prediction fails, the route walks: a token a cycle, any order of keys, white space, unknown keys, nulls, any nesting; until the
// next value, where it is fast again.
//
// What a record has that this module does not take (an error, mostly) stops it: `fault_o` holds, rows before it are complete. It
// decides nothing about values: their text is checked where they are converted.
//
// The plan comes in as tables: `row_*` for two nodes, `slot_*` for a prediction, `map_*` for keys.
//
// Latency: 1 cycle. Throughput: a step a cycle, while `room_i`. `advance_o` depends on `beat_valid_i` and `room_i` within the cycle.
//
// Layer: json.
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
    // The prediction behind the node, or at a record's begin: whether there is one, its length, where it leads.
    output logic               slot_begin_o,
    output logic [        7:0] slot_behind_o,
    input  logic               slot_valid_i,
    input  logic [        7:0] slot_i,
    input  logic [        7:0] slot_length_i,
    input  logic [        7:0] slot_node_i,
    input  logic [        7:0] slot_parent_i,
    input  kind_e              slot_kind_i,
    input  logic [        3:0] slot_level_i,
    // It ends a record; fields of the objects that it closes; fields that it enters.
    input  logic               slot_newline_i,
    input  logic [  Nodes-1:0] slot_clears_i,
    input  logic [  Nodes-1:0] slot_sets_i,
    // Validity of what it opens.
    input  logic               slot_outer_i,
    input  logic [        7:0] slot_outer_buffer_i,

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

  typedef enum logic [3:0] {
    // Between records.
    ModeRecord,
    // Token by token.
    ModeWalk,
    // In a list of integers, a scalar, a string.
    ModeRun,
    ModeScalar,
    ModeText,
    // Behind a backslash in a string that is kept; behind an escape.
    ModeEscape,
    ModeEscaped,
    // Writes nulls for a node and all below.
    ModeFill
  } mode_e;

  typedef enum logic [2:0] {
    WalkKeyOrClose,
    WalkKey,
    WalkColon,
    WalkValue,
    WalkValueOrClose,
    WalkNext,
    WalkEnd
  } walk_e;

  localparam int unsigned IndexBits = $clog2(W);
  localparam int unsigned DepthBits = as_stream_pkg::count_bits(Depth);

  mode_e mode_q, mode_d;
  walk_e walk_q, walk_d;
  logic [7:0] node_q, node_d;
  logic [7:0] context_q, context_d;
  // The next lane, which may be beats away.
  logic [8:0] at_q, at_d;
  // The text in progress is a key; the value is one that the schema does not have.
  logic key_q, key_d;
  logic skip_q, skip_d;
  // The string in progress is one that a column keeps.
  logic kept_q, kept_d;
  // A scalar begins here.
  logic start_q, start_d;
  logic [DepthBits-1:0] depth_q, depth_d;
  logic [Depth-1:0] stack_q, stack_d;
  logic [Nodes-1:0] seen_q, seen_d;
  logic [15:0] items_q[Levels];
  logic [7:0] fill_q, fill_d;
  logic [7:0] fill_last_q, fill_last_d;
  logic [15:0] done_q, done_d;
  // A fixed-size list was filled: below it there may be more than one of each, which are counted a cycle before.
  logic deep_q;
  logic counted_q, counted_d;
  logic [15:0] left_q;
  logic back_q, back_d;
  logic empty_q, empty_d;
  logic unicode_q, unicode_d;
  // Bytes of the string in the beat before that are still to be taken.
  logic [7:0] owed_q, owed_d;
  logic [31:0] rows_q;
  logic [63:0] base_q;
  // Bytes of the record before the beat, less than none where it begins later; of one that has just ended. A run has less than 2^33.
  logic signed [33:0] used_q, length_q;
  logic ended_q, too_long;
  logic step_valid_q;
  (* keep *) fault_e fault_d;
  logic [63:0] fault_position_q;
  fault_e fault_q;
  logic   faulted_q;

  // How many of a filled node are due: one, or as many as the fixed-size lists around it have.
  logic [15:0] due_q[Levels+1];

  function automatic logic [7:0] index(input logic [W-1:0] lane);
    logic [7:0] result;
    result = '0;
    for (int unsigned i = 0; i < W; i++) if (lane[i]) result |= 8'(i);
    return result;
  endfunction

  // The bytes of the beat that are still to be read, and what ends the region that begins with them.
  // What is kept is on the slowest path, and is not to be taken apart for the sake of area.
  (* keep *) logic [W-1:0] end_lane, below;
  (* keep *) logic found;
  logic [W-1:0] rest, sought, key_sought, key_lane;
  logic [  7:0] at, stop;
  logic         here;

  assign here = at_q[8:IndexBits] == '0;
  assign rest = {W{1'b1}} << at_q[IndexBits-1:0];
  always_comb begin
    unique case (mode_q)
      ModeRecord: sought = ~space_i & ~newline_i;
      ModeWalk:   sought = ~space_i;
      ModeRun:    sought = stop_i;
      ModeScalar: sought = ~scalar_i;
      ModeText:   sought = quote_i | newline_i | (escape_i & {W{kept_q}});
      default:    sought = '1;
    endcase
  end
  assign end_lane = sought & rest & (~(sought & rest) + 1'b1);
  // Where a key ends, should one be read.
  assign key_sought = (quote_i | newline_i) & rest;
  assign key_lane   = key_sought & (~key_sought + 1'b1);
  assign found    = |(sought & rest);
  // All lanes when nothing was found.
  assign below    = end_lane - 1'b1;
  assign at       = at_q[7:0];
  assign stop     = index(end_lane);
  // What stands there: bytes are compared before it is known where.
  typedef struct packed {logic object_begin, object_end, list_begin, list_end, comma, colon, quote, unicode;} mark_t;
  (* keep *) mark_t mark;
  always_comb begin
    mark = '0;
    for (int unsigned i = 0; i < W; i++) begin
      mark.object_begin |= end_lane[i] && data_i[i*8+:8] == "{";
      mark.object_end   |= end_lane[i] && data_i[i*8+:8] == "}";
      mark.list_begin   |= end_lane[i] && data_i[i*8+:8] == "[";
      mark.list_end     |= end_lane[i] && data_i[i*8+:8] == "]";
      mark.comma        |= end_lane[i] && data_i[i*8+:8] == ",";
      mark.colon        |= end_lane[i] && data_i[i*8+:8] == ":";
      mark.quote        |= end_lane[i] && data_i[i*8+:8] == 8'h22;
      mark.unicode      |= end_lane[i] && data_i[i*8+:8] == "u";
    end
  end

  // The values that end in the region: the first L of them. They are counted before the end of the region is known.
  localparam int unsigned RankBits = $clog2(W + 1);
  logic [W-1:0] ends;
  logic [RankBits-1:0] rank[W];
  logic [W-1:0] nth[L+1];
  logic [L-1:0] has;
  logic [L*8-1:0] lanes;
  (* keep *) logic [7:0] value_count;
  (* keep *) logic more;
  logic [W-1:0] reached;
  always_comb begin
    ends = value_end_i & rest;
    // How many end at a lane or before it, by doubling the reach.
    for (int unsigned i = 0; i < W; i++) rank[i] = RankBits'(ends[i]);
    for (int unsigned reach = 1; reach < W; reach *= 2) begin
      for (int unsigned i = W - 1; i >= reach; i--) rank[i] += rank[i-reach];
    end
    for (int unsigned j = 0; j <= L; j++) begin
      for (int unsigned i = 0; i < W; i++) nth[j][i] = ends[i] && rank[i] == RankBits'(j + 1);
    end
    reached      = below | (end_lane & stop_ok_i);
    value_count = '0;
    for (int unsigned j = 0; j < L; j++) begin
      has[j] = |(nth[j] & reached);
      if (has[j]) value_count = 8'(j + 1);
      lanes[j*8+:8] = index(nth[j]);
    end
    more = |(nth[L] & reached);
  end

  // From which lanes on nothing ends, and nothing is wrong, in this beat: of a scalar, of a run, of a string.
  logic [W-1:0] quiet_scalar, quiet_run, quiet_text;
  always_comb begin
    for (int unsigned i = 0; i < W; i++) begin
      quiet_scalar[i] = (~scalar_i >> i) == '0;
      quiet_run[i]    = ((value_end_i | stop_i | run_bad_i) >> i) == '0;
      quiet_text[i]   = ((quote_i | newline_i | bad_string_i | bad_utf8_i | escape_i) >> i) == '0 &&
                        W - i <= Window;
    end
  end

  // Where a jump would lead from each lane: out of the beat, or to where nothing is left to do in it.
  logic [W-1:0] quiet, jump_out, jump_quiet;
  always_comb begin
    unique case (slot_kind_i)
      KindList, KindFixed: quiet = quiet_run;
      KindText, KindTime:  quiet = quiet_text;
      default:             quiet = quiet_scalar;
    endcase
    jump_out   = W'(~({{W{1'b0}}, {W{1'b1}}} >> slot_length_i));
    jump_quiet = W'({{W{1'b0}}, quiet} >> slot_length_i);
  end

  // Whether the predicted text stands at the end of the region, and may.
  logic [W-1:0] slot_starts;
  (* keep *) logic slot_here;
  logic slot_allowed;
  always_comb begin
    slot_starts = '0;
    for (int unsigned i = 0; i < Slots; i++) if (slot_i == 8'(i)) slot_starts |= slot_start_i[i*W+:W];
  end
  assign slot_begin_o  = mode_q == ModeRecord;
  assign slot_behind_o = node_q;
  assign slot_allowed = slot_valid_i && !skip_q && (slot_clears_i & ~seen_q) == '0 &&
                        (seen_q & ~slot_clears_i & slot_sets_i) == '0;
  assign slot_here    = slot_allowed && (slot_starts & end_lane) != '0;

  logic [7:0] missing_index;
  assign row_node_o    = mode_q == ModeFill ? fill_q : node_q;
  assign row_context_o = context_q;
  assign map_context_o = context_q;
  assign map_lane_o    = key_lane;
  assign missing_o     = missing_index;

  // The first field that is missing where an object closes.
  logic [Nodes-1:0] missing, missing_first;
  logic [Nodes-1:0] key_bit;
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

  // Where the next step begins, when no text is jumped over: here, at the end of the region, behind it, behind an escape of four
  // digits, behind the last value that was taken.
  typedef enum logic [2:0] {
    MoveNone,
    MoveEnd,
    MoveBehind,
    MoveUnicode,
    MoveValue
  } move_e;
  (* keep *) move_e move;
  logic   active;
  (* keep *) logic jump, leave, advance, record_end;
  logic [8:0] target, behind;
  logic   clear_items, add_items;
  logic [3:0] items_level;
  logic [7:0] items_add;
  step_t  step;
  logic [15:0] fill_left, fill_due;
  (* keep *) logic fill_over;
  logic [7:0] fill_most;
  logic [15:0] items_now, items_left;

  logic deepest;
  assign deepest = depth_q == DepthBits'(Depth - 1) || 16'(depth_q) >= depth_max_i;

  // A step holds half as many of 16 bytes.
  assign fill_most = row_i.size == 3'd4 ? 8'(L / 2) : 8'(L);
  assign active    = beat_valid_i && room_i && !faulted_q;

  always_comb begin
    items_now = '0;
    fill_due = '0;
    for (int unsigned i = 0; i <= Levels; i++) if (row_i.level == 4'(i)) fill_due |= due_q[i];
    for (int unsigned i = 0; i < Levels; i++) begin
      if (row_i.level == 4'(i) && mode_q == ModeRun) items_now |= items_q[i];
      if (context_i.level == 4'(i) && mode_q == ModeWalk) items_now |= items_q[i];
    end
    items_left = row_i.fixed - items_now;
  end

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
    fill_d         = fill_q;
    fill_last_d    = fill_last_q;
    done_d         = done_q;
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
    fill_left      = '0;
    fill_over      = 1'b0;
    counted_d      = 1'b0;
    step           = '0;
    step.row       = row_i;
    step.record    = rows_q[7:0];
    step.valid     = 1'b1;
    step.first     = at;
    step.counter   = row_i.counter;
    step.validity  = row_i.valid;
    step.outer_valid = 1'b1;
    step.outer_count = 8'd1;

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
          step.adds    = row_i.count;
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
            // White space, or what is no scalar, stands where the prediction led.
            mode_d = ModeWalk;
            walk_d = WalkValue;
          end else if (!found) advance = 1'b1;
          else if (|(end_lane & null_end_i) && !skip_q) begin
            move        = MoveEnd;
            mode_d      = ModeFill;
            back_d      = 1'b0;
            fill_d      = node_q;
            fill_last_d = row_i.last;
            done_d      = '0;
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
          else if (|(end_lane & newline_i)) fault_d = FaultSyntax;
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
          // What it says is taken once it lies behind.
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
          move = MoveBehind;
          if (!found) advance = 1'b1;
          else begin
            unique case (walk_q)
              WalkKeyOrClose, WalkKey: begin
                if (mark.quote) begin
                  mode_d = ModeText;
                  key_d  = 1'b1;
                  kept_d = 1'b0;
                end else if (mark.object_end && walk_q == WalkKeyOrClose) begin
                  walk_d = WalkNext;
                  move   = MoveEnd;
                end else fault_d = FaultSyntax;
              end
              WalkColon: begin
                walk_d = WalkValue;
                if (!mark.colon) fault_d = FaultSyntax;
              end
              WalkValue, WalkValueOrClose: begin
                if (mark.object_begin) begin
                  walk_d = WalkKeyOrClose;
                  if (skip_q) begin
                    depth_d = depth_q + 1'b1;
                    stack_d = {stack_q[Depth-2:0], 1'b1};
                    if (deepest) fault_d = FaultDepth;
                  end else if (row_i.kind == KindStruct) begin
                    context_d         = node_q;
                    step.outer        = row_i.outer;
                    step.outer_buffer = row_i.outer_buffer;
                  end else fault_d = FaultType;
                end else if (mark.list_begin) begin
                  walk_d = WalkValueOrClose;
                  if (skip_q) begin
                    depth_d = depth_q + 1'b1;
                    stack_d = {stack_q[Depth-2:0], 1'b0};
                    if (deepest) fault_d = FaultDepth;
                  end else if (row_i.kind == KindList || row_i.kind == KindFixed) begin
                    context_d         = node_q;
                    clear_items       = 1'b1;
                    step.outer        = row_i.outer;
                    step.outer_buffer = row_i.outer_buffer;
                    if (row_i.bulk) mode_d = ModeRun;
                    else node_d = row_i.item;
                  end else fault_d = FaultType;
                end else if (mark.quote) begin
                  mode_d = ModeText;
                  key_d  = 1'b0;
                  kept_d = !skip_q && row_i.kind == KindText;
                  if (!skip_q && !row_i.quoted) fault_d = FaultType;
                end else if (mark.list_end && walk_q == WalkValueOrClose) begin
                  walk_d  = WalkNext;
                  move    = MoveEnd;
                  empty_d = 1'b1;
                end else if (|(end_lane & scalar_i)) begin
                  mode_d  = ModeScalar;
                  start_d = 1'b0;
                  move    = MoveEnd;
                end else fault_d = FaultSyntax;
              end
              WalkNext: begin
                if (skip_q) begin
                  if (mark.comma) walk_d = stack_q[0] ? WalkKey : WalkValue;
                  else if (stack_q[0] ? mark.object_end : mark.list_end) begin
                    empty_d = 1'b0;
                    depth_d = depth_q - 1'b1;
                    stack_d = stack_q >> 1;
                    if (depth_q == DepthBits'(1)) skip_d = 1'b0;
                  end else fault_d = FaultSyntax;
                end else if (context_i.kind == KindStruct) begin
                  if (mark.comma) walk_d = WalkKey;
                  else if (mark.object_end) begin
                    if (missing != '0) begin
                      move = MoveEnd;
                      if ((missing & ~nullable_i) != '0) fault_d = FaultMissing;
                      else begin
                        mode_d      = ModeFill;
                        back_d      = 1'b1;
                        fill_d      = missing_index;
                        node_d      = missing_index;
                        fill_last_d = missing_last_i;
                        done_d      = '0;
                        seen_d      = seen_q | missing_first;
                      end
                    end else begin
                      seen_d = seen_q & ~fields_i;
                      if (context_q == '0) walk_d = WalkEnd;
                      else context_d = context_i.parent;
                    end
                  end else fault_d = FaultSyntax;
                end else begin
                  // In a list; those of integers have counted already.
                  items_level  = context_i.level;
                  step.counter = context_i.counter;
                  step.add     = 8'd1;
                  if (mark.comma) begin
                    if (context_i.bulk) begin
                      mode_d = ModeRun;
                      node_d = context_q;
                    end else begin
                      walk_d    = WalkValue;
                      node_d    = context_i.item;
                      step.adds = context_i.count;
                      add_items = 1'b1;
                    end
                  end else if (mark.list_end) begin
                    empty_d     = 1'b0;
                    context_d   = context_i.parent;
                    step.closes = context_i.count;
                    step.adds   = context_i.count && !context_i.bulk && !empty_q;
                    if (context_i.kind == KindFixed &&
                        items_now + 16'(!context_i.bulk && !empty_q) != context_i.fixed) begin
                      fault_d = FaultLength;
                    end
                  end else fault_d = FaultSyntax;
                end
              end
              default: begin
                if (|(end_lane & newline_i)) begin
                  mode_d     = ModeRecord;
                  record_end = 1'b1;
                end else fault_d = FaultSyntax;
              end
            endcase
          end
        end

        default: begin
          // Nulls for a node and all below it, a node a cycle, at most L of each at a time.
          counted_d = deep_q && !counted_q;
          if (!counted_d) begin
            fill_left        = deep_q ? left_q : 16'd1;
            fill_over        = !deep_q || left_q <= 16'd1;
            step.valid       = 1'b0;
            step.outer_valid = 1'b0;
            step.fill        = 1'b1;
            step.count       = 8'd1;
            unique case (row_i.kind)
              KindText, KindList: begin
                step.closes = fill_left != '0;
                if (row_i.kind == KindList) step.validity = 1'b0;
              end
              default: begin
                fill_over = !deep_q || left_q <= 16'(fill_most);
                step.count = fill_over ? fill_left[7:0] : fill_most;
                step.values = row_i.kind != KindStruct && row_i.kind != KindFixed && fill_left != '0;
                if (row_i.kind == KindFixed) step.validity = 1'b0;
                if (row_i.bulk && row_i.kind == KindInt) begin
                  step.adds   = row_i.count;
                  step.add    = step.count;
                  add_items   = fill_q == node_q && !back_q;
                  items_level = context_i.level;
                end
              end
            endcase
            if (fill_left == '0) step.validity = 1'b0;
            step.outer        = row_i.outer && fill_left != '0;
            step.outer_buffer = row_i.outer_buffer;
            step.outer_count  = step.count;
            done_d            = done_q + 16'(step.count);
            if (fill_over) begin
              done_d = '0;
              // What is in a list that is null is not there.
              fill_d = row_i.kind == KindList ? row_i.last + 8'd1 : fill_q + 8'd1;
              if ((row_i.kind == KindList ? row_i.last : fill_q) >= fill_last_q) begin
                if (back_q) mode_d = ModeWalk;
                else leave = 1'b1;
              end
            end
          end
        end
      endcase
    end

    // A value is complete: into the next by the predicted text, or token by token.
    if (leave) begin
      if (slot_here) jump = 1'b1;
      else if (mode_q == ModeScalar && !skip_q && context_i.item == node_q && !context_i.bulk &&
               (context_i.kind == KindList || context_i.kind == KindFixed) && mark.comma) begin
        // The next item, if it follows at once.
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
      node_d            = slot_node_i;
      context_d         = slot_parent_i;
      skip_d            = 1'b0;
      key_d             = 1'b0;
      kept_d            = slot_kind_i == KindText;
      start_d           = 1'b1;
      seen_d            = (seen_q & ~slot_clears_i) | slot_sets_i;
      clear_items       = 1'b1;
      // What opens is there, also behind a null.
      step.outer        = slot_outer_i;
      step.outer_buffer = slot_outer_buffer_i;
      step.outer_valid  = 1'b1;
      step.outer_count  = 8'd1;
      unique case (slot_kind_i)
        KindList, KindFixed: mode_d = ModeRun;
        KindText, KindTime:  mode_d = ModeText;
        default:             mode_d = ModeScalar;
      endcase
      if (slot_newline_i && mode_q != ModeRecord) begin
        record_end = 1'b1;
      end
    end
    // The beat is done with when nothing of it is left, or everything was looked at.
    target = 9'(stop) + 9'(slot_length_i);
    behind = jump ? target : 9'(stop) + 9'd1;
    if (!here) at_d = at_q - 9'(W);
    else if (jump) begin
      advance = |(end_lane & (jump_out | jump_quiet));
      if (|(end_lane & jump_out)) at_d = target - 9'(W);
      else if (|(end_lane & jump_quiet)) begin
        // Nothing to do for what is left of the beat: values are taken from the bytes before their end.
        at_d    = '0;
        start_d = 1'b0;
        if (slot_kind_i == KindText || slot_kind_i == KindTime) owed_d = 8'(W) - target[7:0];
      end else at_d = target;
    end else if (advance) at_d = '0;
    else begin
      unique case (move)
        MoveEnd:     at_d = 9'(stop);
        MoveBehind:  {advance, at_d} = {end_lane[W-1], 9'(IndexBits'(stop + 8'd1))};
        MoveUnicode: {advance, at_d} = {|end_lane[W-1-:5], 9'(IndexBits'(stop + 8'd5))};
        MoveValue:   {advance, at_d} = {nth[L-1][W-1], 9'(IndexBits'(lanes[(L-1)*8+:8] + 8'd1))};
        default:     at_d = 9'(at_q[IndexBits-1:0]);
      endcase
    end
  end

  // Outside of lists a node is filled once; in a fixed-size list, as often as that has items.
  logic fill_begins;
  assign fill_begins = mode_d == ModeFill && mode_q != ModeFill;

  assign advance_o        = active && advance;
  assign too_long         = ended_q && length_q > $signed({2'b00, record_bytes_max_i});
  assign step_valid_o     = step_valid_q && !faulted_q;
  assign idle_o           = mode_q == ModeRecord && !ended_q;
  assign fault_o          = faulted_q && !ended_q;
  assign fault_code_o     = fault_q;
  assign fault_position_o = fault_position_q;
  assign rows_o           = rows_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mode_q         <= ModeRecord;
      at_q           <= '0;
      seen_q         <= '0;
      skip_q         <= 1'b0;
      key_q          <= 1'b0;
      empty_q        <= 1'b0;
      owed_q         <= '0;
      depth_q        <= '0;
      rows_q         <= '0;
      base_q         <= '0;
      used_q         <= '0;
      ended_q        <= 1'b0;
      step_valid_q   <= 1'b0;
      faulted_q      <= 1'b0;
    end else if (clr_i) begin
      mode_q         <= ModeRecord;
      at_q           <= '0;
      seen_q         <= '0;
      skip_q         <= 1'b0;
      key_q          <= 1'b0;
      empty_q        <= 1'b0;
      owed_q         <= '0;
      depth_q        <= '0;
      rows_q         <= '0;
      base_q         <= '0;
      used_q         <= '0;
      ended_q        <= 1'b0;
      step_valid_q   <= 1'b0;
      faulted_q      <= 1'b0;
    end else begin
      step_valid_q <= active && here &&
                      (step.values || step.text || step.adds || step.closes || step.outer ||
                       (step.fill && step.validity));
      if (active) begin
        mode_q         <= mode_d;
        at_q           <= at_d;
        seen_q         <= seen_d;
        skip_q         <= skip_d;
        key_q          <= key_d;
        empty_q        <= empty_d;
        owed_q         <= owed_d;
        depth_q        <= depth_d;
        if (record_end) begin
          rows_q <= rows_q + 1'b1;
          used_q <= (advance ? 34'sd1 * W : 34'sd0) - 34'(behind);
        end else if (advance) used_q <= used_q + 34'(W);
        if (advance) base_q <= base_q + 64'(W);
      end
      ended_q <= active && record_end;
      if (active && fault_d != FaultNone) faulted_q <= 1'b1;
      // Both are known a cycle late: what was done since counts for nothing.
      if (too_long) begin
        faulted_q    <= 1'b1;
        ended_q      <= 1'b0;
        step_valid_q <= 1'b0;
      end
      if (ended_q && (faulted_q || too_long)) rows_q <= rows_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (active) begin
      walk_q      <= walk_d;
      node_q      <= node_d;
      context_q   <= context_d;
      start_q     <= start_d;
      kept_q      <= kept_d;
      stack_q     <= stack_d;
      fill_q      <= fill_d;
      fill_last_q <= fill_last_d;
      done_q      <= done_d;
      left_q      <= fill_due - done_q;
      counted_q   <= counted_d;
      if (mode_q == ModeFill) deep_q <= deep_q || row_i.kind == KindFixed;
      if (fill_begins) deep_q <= 1'b0;
      back_q      <= back_d;
      unicode_q   <= unicode_d;
      length_q    <= used_q + 34'(jump ? target : 9'(stop));
      if (fault_d != FaultNone) begin
        fault_q          <= fault_d;
        fault_position_q <= base_q + 64'(found ? stop : at);
      end
      for (int unsigned i = 0; i < Levels; i++) begin
        if (clear_items && (jump ? slot_level_i : row_i.level) == 4'(i)) items_q[i] <= '0;
        else if (add_items && items_level == 4'(i)) items_q[i] <= items_q[i] + 16'(items_add);
      end
      for (int unsigned i = 0; i <= Levels; i++) begin
        if (fill_begins) due_q[i] <= 16'd1;
        else if (i != 0 && mode_q == ModeFill && row_i.kind == KindFixed && row_i.level == 4'(i - 1)) begin
          due_q[i] <= 16'(32'(fill_due) * 32'(row_i.fixed));
        end
      end
    end
    if (too_long && !faulted_q) begin
      fault_q          <= FaultLong;
      fault_position_q <= base_q;
    end
    step_o  <= step;
    lanes_o <= mode_q == ModeRun ? lanes : (L * 8)'(stop);
  end

endmodule
