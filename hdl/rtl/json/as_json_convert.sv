// SPDX-License-Identifier: Apache-2.0
// Converts the route's steps to values: takes the text of each value out of the beat, and makes
// elements of them, side by side.
//
// One bank of converters serves all columns, because a step names one column. Integers come up to L
// at a time; all other values one by one. Text that is not a value of its column raises `fault_o`
// with the number of its record. Slow converters are instantiated only if the plan needs them; then
// all steps take as long as the slowest, which keeps values in order.
//
// Latency: `ShortLatency` or `LongLatency`, plus 1 cycle. Throughput: one step per cycle. No
// stalls: the user reserves room for the steps in flight.
//
// Layer: json.

`default_nettype none

module as_json_convert
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8,
    parameter int unsigned L = 2,
    // Bytes of text that are looked at before the end of a value.
    parameter int unsigned Window = 32,
    // Whether the plan has such columns.
    parameter bit Floats = 1'b0,
    parameter bit Times = 1'b0,
    parameter bit Decimals = 1'b0,
    localparam int unsigned PieceBits = L * 64
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic                    valid_i,
    input step_t                   step_i,
    input logic [         L*8-1:0] lanes_i,
    // The step's beat, preceded by the Window bytes before it.
    input logic [(Window+W)*8-1:0] bytes_i,
    // The class of each of these bytes.
    input logic [(Window+W)*4-1:0] classes_i,

    output logic                 valid_o,
    output step_t                step_o,
    // Elements of values, or bytes of a string, from bit 0.
    output logic [PieceBits-1:0] data_o,
    output logic [          7:0] data_bytes_o,
    output logic                 flag_o,
    output logic                 busy_o,
    output logic                 fault_o,
    output fault_e               fault_code_o,
    output logic [          7:0] fault_record_o
);

  localparam int unsigned Stages = ShortLatency + 1;
  localparam int unsigned Extra = Floats || Times || Decimals ? LongLatency - ShortLatency : 0;
  // The stage of the step whose values leave the converters.
  localparam int unsigned Done = ShortLatency - 1;
  localparam int unsigned Short = 21;
  localparam int unsigned LaneBits = $clog2(W);
  // A string may begin this far before the beat.
  localparam int unsigned Reach = W < Window ? W : Window;
  localparam int unsigned ReachBits = $clog2(Reach + W);

  logic [Stages+Extra-1:0] valid_q;
  step_t step_q[Stages];
  // Stage 0: the text of each value, at the end of a window.
  numeral_t [L-1:0][Short-1:0] texts_q;
  logic [Window*8-1:0] text_q;
  logic [Window*4-1:0] classes_q;
  // Bytes of a string travel alongside.
  logic [PieceBits-1:0] string_q[Stages-1];

  localparam int unsigned NumeralBits = $bits(numeral_t);
  logic [(Short+W)*NumeralBits-1:0] numerals;
  logic [ReachBits-1:0] first;
  always_comb begin
    for (int unsigned i = 0; i < Short + W; i++) begin
      numerals[i*NumeralBits+:NumeralBits] = {classes_i[(Window-Short+i)*4+2+:2], bytes_i[(Window-Short+i)*8+:4]};
    end
    first = ReachBits'(step_i.first + 8'(Reach));
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned j = 0; j < L; j++) begin
      texts_q[j] <= (Short * NumeralBits)'(numerals >> 32'(lanes_i[j*8+:LaneBits]) * NumeralBits);
    end
    text_q      <= (Window * 8)'(bytes_i >> {lanes_i[LaneBits-1:0], 3'b000});
    classes_q   <= (Window * 4)'(classes_i >> {lanes_i[LaneBits-1:0], 2'b00});
    string_q[0] <= PieceBits'(bytes_i[(Window+W)*8-1:(Window-Reach)*8] >> {first, 3'b000});
    step_q[0]   <= step_i;
    for (int unsigned s = 1; s < Stages - 1; s++) begin
      step_q[s] <= step_q[s-1];
      string_q[s] <= string_q[s-1];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clr_i) valid_q <= '0;
    else valid_q <= {valid_q[Stages+Extra-2:0], valid_i};
  end

  logic [L*64-1:0] integers;
  logic [L-1:0] integers_ok;
  for (genvar j = 0; j < L; j++) begin : gen_integer
    as_json_integer i_integer (
        .clk_i,
        .text_i  (texts_q[j]),
        .signed_i(step_q[0].row.is_signed),
        .bits_i  (step_q[0].row.bits),
        .value_o (integers[j*64+:64]),
        .ok_o    (integers_ok[j])
    );
  end

  typedef struct packed {logic is_true, is_false, is_null, is_number, is_opened, is_long;} literal_t;
  literal_t told, literal;
  as_json_literal #(
      .Window(Window)
  ) i_literal (
      .clk_i,
      .classes_i(classes_q),
      .text_i   (text_q[Window*8-1-:40]),
      .true_o   (told.is_true),
      .false_o  (told.is_false),
      .null_o   (told.is_null),
      .number_o (told.is_number),
      .opened_o (told.is_opened),
      .long_o   (told.is_long)
  );
  as_json_delay #(
      .Width ($bits(literal_t)),
      .Stages(IntegerLatency - LiteralLatency)
  ) i_literal_wait (
      .clk_i,
      .advance_i(1'b1),
      .data_i   (told),
      .data_o   (literal)
  );

  // Decodes an escape to its bytes. In a surrogate pair the second escape yields all the bytes; the
  // first yields none, and the second must follow it at once.
  logic [19:0] code_q, code;
  logic [3:0] hex_ok_q;
  logic [7:0] simple_q;
  logic simple_ok_q, first_half_q, second_half_q;
  typedef struct packed {
    logic [31:0] bytes;
    logic [2:0]  count;
    // Half of a surrogate pair.
    logic        ok, first, second;
  } escape_t;
  escape_t escape_q, escape;
  logic awaited_q;
  logic [15:0] unit, unit_before;
  logic [3:0] unit_ok;

  function automatic logic [4:0] hex(input logic [7:0] c);
    if (c >= "0" && c <= "9") return {1'b1, c[3:0]};
    if ((c >= "a" && c <= "f") || (c >= "A" && c <= "F")) return {1'b1, c[3:0] + 4'd9};
    return '0;
  endfunction

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      {unit_ok[i], unit[i*4+:4]} = hex(text_q[(Window-1-i)*8+:8]);
      unit_before[i*4+:4] = 4'(hex(text_q[(Window-7-i)*8+:8]));
    end
    code = code_q;
  end
  // The plane of a pair is its upper bits plus one.
  logic [4:0] plane;
  assign plane = {1'b0, code_q[19:16]} + 5'd1;
  always_ff @(posedge clk_i) begin
    // A letter, or a UTF-16 code unit.
    unique case (text_q[(Window-1)*8+:8])
      "b": simple_q <= 8'h08;
      "f": simple_q <= 8'h0c;
      "n": simple_q <= 8'h0a;
      "r": simple_q <= 8'h0d;
      "t": simple_q <= 8'h09;
      default: simple_q <= text_q[(Window-1)*8+:8];
    endcase
    simple_ok_q   <= !step_q[0].unicode;
    hex_ok_q      <= unit_ok;
    first_half_q  <= step_q[0].unicode && unit[15:10] == 6'b110110;
    second_half_q <= step_q[0].unicode && unit[15:10] == 6'b110111;
    code_q        <= unit[15:10] == 6'b110111 ? {unit_before[9:0], unit[9:0]} : {4'd0, unit};
    // UTF-8 bytes.
    escape_q.ok     <= simple_ok_q || &hex_ok_q;
    escape_q.first  <= first_half_q;
    escape_q.second <= second_half_q;
    if (simple_ok_q) begin
      escape_q.bytes <= 32'(simple_q);
      escape_q.count <= 3'd1;
    end else if (first_half_q) begin
      escape_q.bytes <= '0;
      escape_q.count <= 3'd0;
    end else if (second_half_q) begin
      escape_q.bytes <= {2'b10, code[5:0], 2'b10, code[11:6], 2'b10, plane[1:0], code[15:12], 5'b11110, plane[4:2]};
      escape_q.count <= 3'd4;
    end else if (code[15:7] == '0) begin
      escape_q.bytes <= {24'd0, code[7:0]};
      escape_q.count <= 3'd1;
    end else if (code[15:11] == '0) begin
      escape_q.bytes <= {16'd0, 2'b10, code[5:0], 3'b110, code[10:6]};
      escape_q.count <= 3'd2;
    end else begin
      escape_q.bytes <= {8'd0, 2'b10, code[5:0], 2'b10, code[11:6], 4'b1110, code[15:12]};
      escape_q.count <= 3'd3;
    end
  end

  // Takes two cycles.
  as_json_delay #(
      .Width ($bits(escape_t)),
      .Stages(IntegerLatency - 2)
  ) i_escape_wait (
      .clk_i,
      .advance_i(1'b1),
      .data_i   (escape_q),
      .data_o   (escape)
  );

  step_t done;
  logic [PieceBits-1:0] elements;
  logic [L-1:0] wanted;
  fault_e fault;
  assign done = step_q[Done];
  always_comb begin
    elements = '0;
    wanted = '0;
    for (int unsigned j = 0; j < L; j++) begin
      wanted[j] = 8'(j) < done.count;
      if (wanted[j] && !done.fill) begin
        unique case (done.row.size)
          3'd0: elements[j*8+:8] = integers[j*64+:8];
          3'd1: elements[j*16+:16] = integers[j*64+:16];
          3'd2: elements[j*32+:32] = integers[j*64+:32];
          default: elements[j*64+:64] = integers[j*64+:64];
        endcase
      end
    end
    if (done.escape) elements = PieceBits'(escape.bytes);
    else if (done.text) elements = string_q[Done] & ~({PieceBits{1'b1}} << {24'd0, done.count, 3'b000});
    fault = FaultNone;
    if (done.text && awaited_q && !(done.escape && escape.second)) fault = FaultString;
    if (done.escape && (!escape.ok || (escape.second && !awaited_q))) fault = FaultString;
    if (done.values && !done.fill) begin
      // A list of integers is treated as its items.
      unique case (done.row.bulk ? KindInt : done.row.kind)
        KindInt:  if ((wanted & ~integers_ok) != '0) fault = FaultNumber;
        KindBool: if (!literal.is_true && !literal.is_false) fault = FaultType;
        KindSkip: begin
          if (literal.is_long) fault = FaultWindow;
          else if (!literal.is_true && !literal.is_false && !literal.is_null && !literal.is_number) fault = FaultSyntax;
        end
        KindFloat: begin
          if (literal.is_long) fault = FaultWindow;
          else if (!literal.is_number) fault = FaultNumber;
        end
        KindDecimal: begin
          if (literal.is_long) fault = FaultWindow;
          else if (!literal.is_number) fault = FaultNumber;
          else if (done.quoted && !literal.is_opened) fault = FaultValue;
        end
        // In quotes it goes to the slow converters; otherwise it is a number of days or units.
        KindTime: if (!done.quoted && !integers_ok[0]) fault = FaultNumber;
        default:  fault = FaultValue;
      endcase
    end
  end

  logic [PieceBits-1:0] data_q;
  logic flag_q;
  fault_e fault_q;
  always_ff @(posedge clk_i) begin
    data_q  <= elements;
    flag_q  <= literal.is_true && !done.fill;
    fault_q <= fault;
    step_q[ShortLatency] <= step_q[Done];
    if (done.escape) begin
      step_q[ShortLatency].count <= 8'(escape.count);
      step_q[ShortLatency].add   <= 8'(escape.count);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) awaited_q <= 1'b0;
    else if (clr_i) awaited_q <= 1'b0;
    else if (valid_q[Done] && done.text) awaited_q <= done.escape && escape.first;
  end

  // Results of `ShortLatency` cycles wait for those of `LongLatency`.
  typedef struct packed {
    step_t                step;
    logic [PieceBits-1:0] data;
    logic                 flag;
    fault_e               fault;
  } made_t;
  made_t made, last;
  assign made = '{step: step_q[ShortLatency], data: data_q, flag: flag_q, fault: fault_q};
  if (Extra == 0) begin : gen_short
    assign last = made;
  end else begin : gen_long
    as_json_delay #(
        .Width ($bits(made_t)),
        .Stages(Extra)
    ) i_wait (
        .clk_i,
        .advance_i(1'b1),
        .data_i   (made),
        .data_o   (last)
    );
  end

  logic [63:0] float;
  logic float_ok;
  if (Floats) begin : gen_float
    as_json_float #(
        .Window(Window)
    ) i_float (
        .clk_i,
        .text_i  (text_q),
        .single_i(!step_q[0].row.bits[6]),
        .value_o (float),
        .ok_o    (float_ok)
    );
  end else begin : gen_no_float
    assign float    = '0;
    assign float_ok = 1'b0;
  end

  logic [63:0] moment;
  logic moment_ok;
  if (Times) begin : gen_time
    as_json_time #(
        .Window(Window)
    ) i_time (
        .clk_i,
        .text_i (text_q),
        .form_i (time_form_t'(step_q[0].row.form[4:0])),
        .value_o(moment),
        .ok_o   (moment_ok)
    );
  end else begin : gen_no_time
    assign moment    = '0;
    assign moment_ok = 1'b0;
  end

  logic [127:0] decimal;
  logic decimal_ok;
  if (Decimals) begin : gen_decimal
    as_json_decimal #(
        .Window(Window)
    ) i_decimal (
        .clk_i,
        .text_i     (text_q),
        .scale_i    (step_q[0].row.form),
        .precision_i(step_q[0].row.bits),
        .value_o    (decimal),
        .ok_o       (decimal_ok)
    );
  end else begin : gen_no_decimal
    assign decimal    = '0;
    assign decimal_ok = 1'b0;
  end

  logic [PieceBits-1:0] last_data;
  fault_e last_fault;
  always_comb begin
    last_data  = last.data;
    last_fault = last.fault;
    if (last.step.values && !last.step.fill) begin
      unique case (last.step.row.kind)
        KindFloat: begin
          last_data = PieceBits'(float);
          if (last.fault == FaultNone && !float_ok) last_fault = FaultNumber;
        end
        KindDecimal: begin
          last_data = PieceBits'(decimal);
          if (last.fault == FaultNone && !decimal_ok) last_fault = FaultValue;
        end
        KindTime: begin
          if (last.step.quoted) begin
            // Zero after the last counted element.
            last_data = last.step.row.size == 3'd2 ? PieceBits'(moment[31:0]) : PieceBits'(moment);
            if (!moment_ok) last_fault = FaultValue;
          end
        end
        default: ;
      endcase
    end
  end

  localparam int unsigned End = Stages + Extra - 1;
  assign valid_o        = valid_q[End];
  assign step_o         = last.step;
  assign data_o         = last_data;
  assign data_bytes_o   = last.step.text ? last.step.count : 8'(last.step.count << last.step.row.size);
  assign flag_o         = last.flag;
  assign busy_o         = |valid_q;
  assign fault_o        = valid_q[End] && last_fault != FaultNone;
  assign fault_code_o   = last_fault;
  assign fault_record_o = last.step.record;

endmodule

`default_nettype wire
