// SPDX-License-Identifier: Apache-2.0
// Classifies each of the W bytes of a beat, one bit per byte and class. All later stages work on
// these classes.
//
// A byte's class depends on its neighbours: which quotes are escaped, where a number ends, whether
// a byte is allowed at its place in a run of integers (`[1, 2,-3]`), in an escape, in a UTF-8
// sequence. Only a few bits are carried over from the previous beat, so W bytes take one cycle
// whatever they are.
//
// It keeps no mask of strings: the route always knows whether it is inside one.
//
// Latency: 1 cycle. Throughput: one beat per cycle, held while `advance_i` is low.
//
// Layer: json.

`default_nettype none

module as_json_scan #(
    parameter int unsigned W = 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic           advance_i,
    input logic [W*8-1:0] data_i,

    output logic [W*8-1:0] data_o,
    // Space, tab, carriage return.
    output logic [  W-1:0] space_o,
    output logic [  W-1:0] newline_o,
    // A byte of a number, of a literal, or of invalid text.
    output logic [  W-1:0] scalar_o,
    // A quote that no backslash escapes.
    output logic [  W-1:0] quote_o,
    // A backslash that begins an escape.
    output logic [  W-1:0] escape_o,
    // Not allowed inside a string: control characters, broken escapes.
    output logic [  W-1:0] bad_string_o,
    // Invalid UTF-8.
    output logic [  W-1:0] bad_utf8_o,
    // Ends a run of integers; ends it correctly; is invalid in it; the byte after an integer.
    output logic [  W-1:0] stop_o,
    output logic [  W-1:0] stop_ok_o,
    output logic [  W-1:0] stop_value_o,
    output logic [  W-1:0] run_bad_o,
    output logic [  W-1:0] value_end_o,
    // The byte after `null`.
    output logic [  W-1:0] null_end_o
);

  // The last byte apart from white space, as its class in a run of integers.
  localparam logic [1:0] ClassOpen = 2'd0;
  localparam logic [1:0] ClassComma = 2'd1;
  localparam logic [1:0] ClassDigit = 2'd2;
  localparam logic [1:0] ClassOther = 2'd3;
  localparam int unsigned Back = 5;

  // This beat's bytes, preceded by the last bytes of the previous one.
  logic [(W+Back)*8-1:0] bytes;
  logic [Back*8-1:0]     back_q;
  assign bytes = {data_i, back_q};

  logic [W-1:0] space, newline, scalar, digit, minus, comma, close, backslash, quote, control;
  logic [W-1:0] bad_utf8, null_end, hex;
  logic [  W:0] escaped;
  logic         escaped_q;
  // Escapes of four hexadecimal digits: where one of the last four bytes was the `u`.
  logic [W+3:0] unicode;
  logic [  3:0] unicode_q;
  logic         digit_q, number_q;
  logic [W-1:0] digit_before, number_before;

  // A backslash that is escaped itself escapes nothing.
  always_comb begin
    logic open;
    open = escaped_q;
    for (int unsigned i = 0; i < W; i++) begin
      escaped[i] = open;
      open = backslash[i] && !open;
    end
    escaped[W] = open;
  end
  assign unicode[3:0]  = unicode_q;
  assign digit_before  = W'({digit, digit_q});
  assign number_before = W'({digit | minus, number_q});

  for (genvar i = 0; i < W; i++) begin : gen_lane
    logic [7:0] c, p1, p2, p3;
    logic continues, due;
    assign c  = bytes[(i+Back)*8+:8];
    assign p1 = bytes[(i+Back-1)*8+:8];
    assign p2 = bytes[(i+Back-2)*8+:8];
    assign p3 = bytes[(i+Back-3)*8+:8];

    assign space[i]     = c == " " || c == 8'h09 || c == 8'h0d;
    assign newline[i]   = c == 8'h0a;
    assign quote[i]     = c == 8'h22;
    assign backslash[i] = c == 8'h5c;
    assign comma[i]     = c == ",";
    assign close[i]     = c == "]";
    assign minus[i]     = c == "-";
    assign digit[i]     = c >= "0" && c <= "9";
    assign hex[i]       = digit[i] || (c >= "a" && c <= "f") || (c >= "A" && c <= "F");
    assign control[i]   = c < 8'h20;
    assign scalar[i]    = !(space[i] || newline[i] || quote[i] || comma[i] || close[i] ||
                            c == "{" || c == "}" || c == "[" || c == ":");

    assign unicode[i+4] = escaped[i] && c == "u";

    // Every byte of a sequence is checked against those before it.
    assign continues   = c[7:6] == 2'b10;
    assign due         = p1 >= 8'hc2 || p2 >= 8'he0 || p3 >= 8'hf0;
    assign bad_utf8[i] = continues != due || c == 8'hc0 || c == 8'hc1 || c >= 8'hf5 ||
                         (p1 == 8'he0 && c < 8'ha0) || (p1 == 8'hed && c >= 8'ha0) ||
                         (p1 == 8'hf0 && c < 8'h90) || (p1 == 8'hf4 && c >= 8'h90);

    logic [7:0] p5;
    logic       alone;
    assign p5 = bytes[i*8+:8];
    assign alone = p5 == " " || p5 == 8'h09 || p5 == 8'h0d || p5 == 8'h0a || p5 == 8'h22 || p5 == "," ||
                   p5 == "]" || p5 == "{" || p5 == "}" || p5 == "[" || p5 == ":";
    assign null_end[i] = !scalar[i] && alone && bytes[(i+1)*8+:32] == {"l", "l", "u", "n"};
  end

  // The last significant class before each byte, by doubling the distance.
  logic [    1:0] class_q;
  logic [    1:0] class_after;
  logic [W*2-1:0] class_before;
  always_comb begin
    logic [(W+1)*2-1:0] last;
    logic [        W:0] known;
    last[1:0] = class_q;
    known[0]  = 1'b1;
    for (int unsigned i = 0; i < W; i++) begin
      known[i+1] = !space[i] && !newline[i];
      last[(i+1)*2+:2] = data_i[i*8+:8] == "[" ? ClassOpen : comma[i] ? ClassComma : digit[i] ? ClassDigit : ClassOther;
    end
    for (int unsigned reach = 1; reach <= W; reach *= 2) begin
      for (int unsigned i = W; i >= reach; i--) begin
        if (!known[i]) last[i*2+:2] = last[(i-reach)*2+:2];
        known[i] = known[i] || known[i-reach];
      end
    end
    class_before = last[W*2-1:0];
    class_after  = last[W*2+:2];
  end

  logic [W-1:0] stop, stop_ok, stop_value, run_bad, bad_string;
  for (genvar i = 0; i < W; i++) begin : gen_run
    logic [1:0] prior;
    logic fresh;
    assign prior        = class_before[i*2+:2];
    assign fresh         = prior == ClassOpen || prior == ClassComma;
    assign stop[i]       = !(digit[i] || minus[i] || comma[i] || space[i]);
    assign stop_ok[i]    = close[i] && (prior == ClassOpen || prior == ClassDigit);
    assign stop_value[i] = fresh;
    assign run_bad[i]    = (minus[i] && !fresh) || (digit[i] && !number_before[i] && !fresh) ||
                           (comma[i] && prior != ClassDigit);
    assign bad_string[i] = control[i] || ((|unicode[i+:4]) && !hex[i]) ||
                           (escaped[i] && !(quote[i] || backslash[i] || data_i[i*8+:8] == "/" ||
                            data_i[i*8+:8] == "b" || data_i[i*8+:8] == "f" || data_i[i*8+:8] == "n" ||
                            data_i[i*8+:8] == "r" || data_i[i*8+:8] == "t" || data_i[i*8+:8] == "u"));
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      back_q    <= {Back{8'h20}};
      escaped_q <= 1'b0;
      unicode_q <= '0;
      digit_q   <= 1'b0;
      number_q  <= 1'b0;
      class_q   <= ClassOther;
    end else if (clr_i) begin
      back_q    <= {Back{8'h20}};
      escaped_q <= 1'b0;
      unicode_q <= '0;
      digit_q   <= 1'b0;
      number_q  <= 1'b0;
      class_q   <= ClassOther;
    end else if (advance_i) begin
      back_q    <= bytes[W*8+:Back*8];
      escaped_q <= escaped[W];
      unicode_q <= unicode[W+:4];
      digit_q   <= digit[W-1];
      number_q  <= digit[W-1] || minus[W-1];
      class_q   <= class_after;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      data_o       <= data_i;
      space_o      <= space;
      newline_o    <= newline;
      scalar_o     <= scalar;
      quote_o      <= quote & ~escaped[W-1:0];
      escape_o     <= escaped[W:1];
      bad_string_o <= bad_string;
      bad_utf8_o   <= bad_utf8;
      stop_o       <= stop;
      stop_ok_o    <= stop_ok;
      stop_value_o <= stop_value;
      run_bad_o    <= run_bad;
      value_end_o  <= ~(digit | minus) & digit_before;
      null_end_o   <= null_end;
    end
  end

endmodule

`default_nettype wire
