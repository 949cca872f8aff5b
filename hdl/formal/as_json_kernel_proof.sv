// SPDX-License-Identifier: Apache-2.0
// Proves that the kernel, as the parser of the examples `battery` or `trip`, is deadlock-free: it
// makes progress while there are bytes, for all bytes. If its steps are taken immediately, it takes
// a beat every few cycles, or is done. If they wait, it does one of these, or outputs a step,
// within a few cycles more. The converters are modelled by their latency only; they may fault at
// any step.

`default_nettype none

`ifndef PARSER
`define PARSER battery_parser
`endif
module as_json_kernel_proof (
    input logic        clk_i,
    input logic [63:0] data_i,
    input logic        ended_i,
    input logic        ready_i
);
  import as_json_pkg::*;

  // Whether steps wait.
  parameter bit Waits = 1'b0;
  // Cycles in which no progress is required.
  parameter int unsigned Bound = 12;
  // The most cycles that a step waits.
  localparam int unsigned WaitMax = 3;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic valid, advance, done, ended_q = 1'b0;
  logic [64:0] beat;
  as_stream_source #(
      .Width(65)
  ) i_feed (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(1'b1),
      // Blanks after the end.
      .data_i (ended_q || ended_i ? {1'b1, {8{8'h20}}} : {1'b0, data_i}),
      .ready_i(advance),
      .valid_o(valid),
      .data_o (beat)
  );

  logic op_valid, op_ready;
  logic [1:0] waited_q = '0;
  assign op_ready = !Waits || ready_i || waited_q == 2'(WaitMax);

  logic starved, blocked, fault;
  fault_e fault_code;
  logic [63:0] fault_position;
  logic [31:0] rows;
  op_t op;
  logic [127:0] op_data;
  `PARSER i_parser (
      .clk_i,
      .rst_ni            (rst_n),
      .clr_i             (1'b0),
      .unknown_refused_i (1'b0),
      .record_bytes_max_i('1),
      .depth_max_i       (16'd32),
      .feed_valid_i      (valid),
      .feed_ended_i      (beat[64]),
      .feed_advance_o    (advance),
      .feed_data_i       (beat[63:0]),
      .done_o            (done),
      .starved_o         (starved),
      .blocked_o         (blocked),
      .fault_o           (fault),
      .fault_code_o      (fault_code),
      .fault_position_o  (fault_position),
      .rows_o            (rows),
      .op_valid_o        (op_valid),
      .op_ready_i        (op_ready),
      .op_o              (op),
      .op_data_o         (op_data)
  );

  localparam int unsigned CountBits = $clog2(Bound + 2);
  logic [CountBits-1:0] stands_q = '0;
  always_ff @(posedge clk_i) begin
    if (advance && beat[64]) ended_q <= 1'b1;
    waited_q <= op_valid && !op_ready ? waited_q + 2'd1 : '0;
    stands_q <= !rst_n || advance || done || (Waits && op_valid && op_ready) ? '0 : stands_q + CountBits'(1);
  end

  always_comb begin
    if (rst_n) assert (32'(stands_q) <= Bound);
  end

  logic unused;
  assign unused = ^{starved, blocked, fault, fault_code, fault_position, rows, op, op_data};

endmodule

`default_nettype wire
