// SPDX-License-Identifier: Apache-2.0
// Assertions of the library's modules: on in simulation and in proofs, which define FORMAL; off in
// synthesis, where tools define SYNTHESIS. A failed assertion ends a simulation.
//
// They use the module's `clk_i` and `rst_ni`. NAME is unique in the module. VALUE is a constant,
// the others are expressions.

`ifndef AS_ASSERTIONS_SVH
`define AS_ASSERTIONS_SVH

`ifdef FORMAL
`define AS_ASSERTIONS
`elsif SYNTHESIS
`else
`define AS_ASSERTIONS
`endif

`ifdef AS_ASSERTIONS

// The rule of as_stream_pkg for an output: once VALID is high, it and DATA hold until the transfer,
// except when CLEAR drops them. In simulation neither VALID nor READY is unknown.
`define AS_STREAM_STABLE(NAME, VALID, READY, DATA, CLEAR) \
  if (1) begin : gen_stable_``NAME \
    logic asserted_held_q; \
    logic [$bits(DATA)-1:0] asserted_data_q; \
    always_ff @(posedge clk_i or negedge rst_ni) begin \
      if (!rst_ni) asserted_held_q <= 1'b0; \
      else asserted_held_q <= (VALID) && !(READY) && !(CLEAR); \
    end \
    always_ff @(posedge clk_i) begin \
      asserted_data_q <= DATA; \
      stable : assert (!asserted_held_q || ((VALID) && (DATA) == asserted_data_q)); \
    end \
  end \
  `AS_KNOWN(NAME, {VALID, READY})

// A parameter that has to be a power of two: an error of elaboration otherwise.
`define AS_POWER_OF_TWO(NAME, VALUE) \
  if ((VALUE) < 1 || ((VALUE) & ((VALUE) - 1)) != 0) begin : gen_power_of_two_``NAME \
    $error("%0d is no power of two", VALUE); \
  end

`else

`define AS_STREAM_STABLE(NAME, VALID, READY, DATA, CLEAR)
`define AS_POWER_OF_TWO(NAME, VALUE)

`endif

// No bit of EXPR is unknown out of reset. Proofs and Verilator know two states only.
`ifdef FORMAL
`define AS_KNOWN(NAME, EXPR)
`elsif SYNTHESIS
`define AS_KNOWN(NAME, EXPR)
`else
`define AS_KNOWN(NAME, EXPR) \
  always_ff @(posedge clk_i or negedge rst_ni) begin \
    if (rst_ni) NAME``_known : assert (!$isunknown(EXPR)); \
  end
`endif

`endif
