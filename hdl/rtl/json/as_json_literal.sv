// SPDX-License-Identifier: Apache-2.0
// Tells `true`, `false`, `null` and the grammar of JSON's numbers apart from all other text. The text stands at the end of the window.
//
// Latency: 2 cycles. Throughput: one a cycle. No stalls.
//
// Layer: json.
module as_json_literal #(
    parameter int unsigned Window = 32
) (
    input logic clk_i,

    input logic [Window*8-1:0] text_i,

    output logic true_o,
    output logic false_o,
    output logic null_o,
    output logic number_o,
    // It stands right behind a quote.
    output logic opened_o,
    // Too long to say.
    output logic long_o
);

  // Bytes of the token, from its end; those before it are taken for spaces.
  logic [Window-1:0] tokens;
  always_comb begin
    for (int unsigned i = 0; i < Window; i++) begin
      logic [7:0] c;
      c = text_i[i*8+:8];
      tokens[i] = !(c == " " || c == 8'h09 || c == 8'h0d || c == 8'h0a || c == 8'h22 || c == "," || c == "[" ||
                    c == "]" || c == "{" || c == "}" || c == ":");
    end
    for (int unsigned i = Window - 1; i > 0; i--) tokens[i-1] = tokens[i-1] && tokens[i];
  end
  logic [Window-1:0] tokens_q;
  logic [Window*8-1:0] text_q;
  always_ff @(posedge clk_i) begin
    tokens_q <= tokens;
    text_q   <= text_i;
  end

  // Where in a number the byte before stood.
  typedef enum logic [3:0] {
    Before,
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Letter,
    Sign,
    Exponent,
    Broken
  } state_e;
  state_e state[Window+1];
  always_comb begin
    state[0] = Before;
    for (int unsigned i = 0; i < Window; i++) begin
      logic [7:0] c;
      logic digit, letter;
      c = text_q[i*8+:8];
      digit = c >= "0" && c <= "9";
      letter = c == "e" || c == "E";
      state[i+1] = Broken;
      if (!tokens_q[i]) state[i+1] = Before;
      else begin
        unique case (state[i])
          Before:
            if (c == "-") state[i+1] = Minus;
            else if (c == "0") state[i+1] = Zero;
            else if (digit) state[i+1] = Whole;
          Minus:
            if (c == "0") state[i+1] = Zero;
            else if (digit) state[i+1] = Whole;
          Zero:
            if (c == ".") state[i+1] = Point;
            else if (letter) state[i+1] = Letter;
          Whole:
            if (digit) state[i+1] = Whole;
            else if (c == ".") state[i+1] = Point;
            else if (letter) state[i+1] = Letter;
          Point:
            if (digit) state[i+1] = Fraction;
          Fraction:
            if (digit) state[i+1] = Fraction;
            else if (letter) state[i+1] = Letter;
          Letter:
            if (digit) state[i+1] = Exponent;
            else if (c == "+" || c == "-") state[i+1] = Sign;
          Sign, Exponent:
            if (digit) state[i+1] = Exponent;
          default: ;
        endcase
      end
    end
  end

  logic opened;
  always_comb begin
    opened = 1'b0;
    for (int unsigned i = 1; i < Window; i++) begin
      if (tokens_q[i] && !tokens_q[i-1] && text_q[(i-1)*8+:8] == 8'h22) opened = 1'b1;
    end
  end

  localparam int unsigned End = Window * 8;
  always_ff @(posedge clk_i) begin
    opened_o <= opened;
    long_o   <= tokens_q[0];
    true_o   <= text_q[End-32+:32] == {"e", "u", "r", "t"} && tokens_q[Window-4] && !tokens_q[Window-5];
    false_o  <= text_q[End-40+:40] == {"e", "s", "l", "a", "f"} && tokens_q[Window-5] && !tokens_q[Window-6];
    null_o   <= text_q[End-32+:32] == {"l", "l", "u", "n"} && tokens_q[Window-4] && !tokens_q[Window-5];
    number_o <= state[Window] == Zero || state[Window] == Whole || state[Window] == Fraction ||
                state[Window] == Exponent;
  end

endmodule
