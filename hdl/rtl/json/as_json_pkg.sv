// SPDX-License-Identifier: Apache-2.0
// Shared by the JSON modules: kinds of a plan's nodes, reasons to stop.
//
// Layer: below json. Holds no logic.

`default_nettype none

package as_json_pkg;

  // The type of value a node of the plan takes.
  typedef enum logic [3:0] {
    KindStruct,
    KindList,
    KindFixed,
    KindInt,
    KindBool,
    KindFloat,
    KindDecimal,
    KindTime,
    KindText,
    KindNull,
    // A value that the schema does not have: checked, not kept.
    KindSkip
  } kind_e;

  // Why a record is handed back. The host reads the record again and reports the error, if there is
  // one.
  typedef enum logic [7:0] {
    FaultNone = 8'd0,
    // A byte that the grammar does not allow here.
    FaultSyntax = 8'd16,
    // A value of a type that the field does not take.
    FaultType = 8'd17,
    // A number that does not fit its field, or is malformed.
    FaultNumber = 8'd18,
    // A field that is not nullable is null or missing.
    FaultMissing = 8'd19,
    // A duplicate key.
    FaultDuplicate = 8'd20,
    // A key that is not in the schema, where unknown keys are refused.
    FaultUnknown = 8'd21,
    // A list whose length differs from its type's.
    FaultLength = 8'd22,
    // Bytes in a string that JSON or UTF-8 does not allow, or a key with escapes.
    FaultString = 8'd23,
    // Nested deeper than the limit.
    FaultDepth = 8'd24,
    // A record longer than the limit.
    FaultLong = 8'd25,
    // A date, time or decimal in a form that the circuit leaves to the host.
    FaultValue = 8'd26,
    // A scalar longer than the circuit's text window.
    FaultWindow = 8'd27
  } fault_e;

  // The class of a byte within a number, or next to one. No class: the byte ends any text.
  typedef enum logic [1:0] {
    CoarseNone,
    CoarseMinus,
    CoarseOther,
    CoarseDigit
  } coarse_e;
  typedef enum logic [3:0] {
    ClassNone = {CoarseNone, 2'd0},
    ClassQuote = {CoarseNone, 2'd1},
    ClassMinus = {CoarseMinus, 2'd0},
    ClassOther = {CoarseOther, 2'd0},
    ClassPlus = {CoarseOther, 2'd1},
    ClassPoint = {CoarseOther, 2'd2},
    // `e` or `E`.
    ClassPower = {CoarseOther, 2'd3},
    ClassDigit = {CoarseDigit, 2'd0},
    ClassZero = {CoarseDigit, 2'd1}
  } class_e;
  // The bits of a byte that an integer needs.
  typedef struct packed {
    coarse_e    coarse;
    logic [3:0] nibble;
  } numeral_t;

  function automatic class_e classify(input logic [7:0] c);
    if (c == 8'h22) return ClassQuote;
    if (c == " " || c == 8'h09 || c == 8'h0d || c == 8'h0a || c == "," || c == "[" || c == "]" || c == "{" || c == "}" ||
        c == ":")
      return ClassNone;
    if (c == "0") return ClassZero;
    if (c > "0" && c <= "9") return ClassDigit;
    if (c == "-") return ClassMinus;
    if (c == "+") return ClassPlus;
    if (c == ".") return ClassPoint;
    if (c == "e" || c == "E") return ClassPower;
    return ClassOther;
  endfunction

  // Cycles from a text to its result: of integers and literals; of all values that take as long; of
  // the others.
  localparam int unsigned IntegerLatency = 6;
  localparam int unsigned LiteralLatency = 3;
  localparam int unsigned ShortLatency = IntegerLatency + 1;
  localparam int unsigned LongLatency = 13;

  // Date and time texts: what they denote.
  typedef enum logic [1:0] {
    TimeDate,
    TimeOfDay,
    // A date, or a date and a time.
    TimeStamp
  } time_kind_e;
  typedef struct packed {
    time_kind_e kind;
    // The text must have an offset from UTC.
    logic       zoned;
    // Seconds, milliseconds, microseconds, nanoseconds.
    logic [1:0] unit;
  } time_form_t;

  // What the route and the converters need to know about a node: a row of the plan's table.
  typedef struct packed {
    kind_e       kind;
    logic        nullable;
    // A list of integers, taken several per cycle; an item of one.
    logic        bulk;
    // Takes text in quotes; takes numbers and literals.
    logic        quoted;
    logic        plain;
    logic [7:0]  parent;
    // The last node of the subtree.
    logic [7:0]  last;
    // Lists: the node of their items.
    logic [7:0]  item;
    // How many lists are around it.
    logic [3:0]  level;
    // Fixed-size lists: how many items.
    logic [15:0] fixed;
    // The text that is expected after a value of this node, and its number.
    logic        slot_valid;
    logic [7:0]  slot;
    // Values or bytes of strings: which data buffer, log2 of the bytes of an element.
    logic        data;
    logic [7:0]  data_buffer;
    logic [2:0]  size;
    // Booleans: which bit buffer.
    logic        flag;
    logic [7:0]  flag_buffer;
    // Validity of values; of the items, if several are taken per cycle.
    logic        valid;
    logic [7:0]  valid_buffer;
    // Validity of a list or an object.
    logic        outer;
    logic [7:0]  outer_buffer;
    // Offsets: the counter that elements of this node are added to.
    logic        count;
    logic [7:0]  counter;
    // Integers: range. Floats: bits. Decimals: precision. Times: range of integers.
    logic        is_signed;
    logic [6:0]  bits;
    // Decimals: scale. Times: time_form_t.
    logic [7:0]  form;
  } row_t;

  // A prediction: the text expected after a value, and the node it leads to.
  typedef struct packed {
    logic       valid;
    logic [7:0] number;
    logic [7:0] length;
    logic [7:0] node;
    logic [7:0] parent;
    kind_e      kind;
    logic [3:0] level;
    // It ends a record.
    logic       newline;
    // Validity of the objects it opens.
    logic       outer;
    logic [7:0] outer_buffer;
  } slot_t;

  // The route's states.
  typedef enum logic [3:0] {
    // Between records.
    ModeRecord,
    // Token by token.
    ModeWalk,
    // In a list of integers, a scalar, a string.
    ModeRun,
    ModeScalar,
    ModeText,
    // After a backslash in a string that is kept; after an escape.
    ModeEscape,
    ModeEscaped,
    // Writes nulls for a node and all below.
    ModeFill
  } mode_e;

  // Which tokens are allowed next.
  typedef enum logic [2:0] {
    WalkKeyOrClose,
    WalkKey,
    WalkColon,
    WalkValue,
    WalkValueOrClose,
    WalkNext,
    WalkEnd
  } walk_e;

  // Where the next step begins, if no text is jumped over: here, at the end of the region, after
  // it, after an escape of four digits, after the last value taken.
  typedef enum logic [2:0] {
    MoveNone,
    MoveEnd,
    MoveBehind,
    MoveUnicode,
    MoveValue
  } move_e;

  // What is at the end of the region.
  typedef struct packed {logic object_begin, object_end, list_begin, list_end, comma, colon, quote, unicode, scalar, newline;} mark_t;

  // The effect of a token on the route.
  typedef struct packed {
    mode_e      mode;
    walk_e      walk;
    logic [7:0] node;
    logic [7:0] above;
    move_e      move;
    fault_e     fault;
    // The string that begins is a key; one that a column keeps.
    logic       key;
    logic       kept;
    // Of a value that the schema does not have: one opens, an object; one closes.
    logic       push;
    logic       push_object;
    logic       pop;
    // The list that is closed next has no item after its last comma.
    logic       empty;
    // An object ends: its fields are no longer seen; a missing one is filled first.
    logic       forget;
    logic       fill;
    logic       record_end;
    logic       clear_items;
    logic       add_items;
    // For the writers.
    logic       outer;
    logic       adds;
    logic       closes;
  } token_t;

  // The route's request to the writers in a step, besides the positions of values.
  typedef struct packed {
    // Values of node `row`; none, if `fill` marks them as nulls or defaults.
    logic        values;
    logic        fill;
    // Bytes of a string, from lane `first`, which may be before the beat: negative.
    logic        text;
    logic [7:0]  first;
    // The bytes of an escape that ends at the lane; of one with four hexadecimal digits.
    logic        escape;
    logic        unicode;
    // The value was in quotes.
    logic        quoted;
    // The number of values, filled values, or bytes.
    logic [7:0]  count;
    // Whether a validity bit accompanies each value, and its state.
    logic        validity;
    logic        valid;
    // Offsets: adds to a counter; its list or string ends here, this many times.
    logic        adds;
    logic [7:0]  add;
    logic        closes;
    logic [7:0]  counter;
    // Validity of a list or object that opens here, or is null.
    logic        outer;
    logic        outer_valid;
    logic [7:0]  outer_count;
    logic [7:0]  outer_buffer;
    row_t        row;
    // The record number, modulo 256.
    logic [7:0]  record;
  } step_t;

  // A step as the writers get it; its values, or bytes of strings, travel alongside.
  typedef struct packed {
    logic       has_data;
    logic [7:0] data_buffer;
    logic [7:0] bytes;
    logic       has_flag;
    logic       flag;
    logic [7:0] flag_buffer;
    logic       has_valid;
    logic       valid;
    logic [7:0] valid_buffer;
    logic [7:0] count;
    logic       has_outer;
    logic       outer;
    logic [7:0] outer_buffer;
    logic [7:0] outer_count;
    // Offsets: adds to a counter, and writes its new value.
    logic       adds;
    logic       closes;
    logic [7:0] counter;
    logic [7:0] add;
  } op_t;

endpackage

`default_nettype wire
