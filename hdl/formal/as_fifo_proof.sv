// SPDX-License-Identifier: Apache-2.0
// Proves as_fifo: the properties are those of as_queue_properties.

`default_nettype none

module as_fifo_proof (
    input logic       clk_i,
    input logic       valid_i,
    input logic [3:0] data_i,
    input logic       ready_i,
    input logic       pick_i
);

  as_queue_properties #(
      .Queue(1)
  ) i_properties (
      .clk_i,
      .valid_i,
      .data_i,
      .ready_i,
      .pick_i
  );

endmodule

`default_nettype wire
