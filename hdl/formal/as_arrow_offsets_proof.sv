// SPDX-License-Identifier: Apache-2.0
// Proves as_arrow_offsets: the properties are those of as_arrow_properties.

`default_nettype none

module as_arrow_offsets_proof (
    input logic        clk_i,
    input logic        valid_i,
    input logic [ 1:0] count_i,
    input logic [31:0] data_i,
    input logic        last_i,
    input logic        ready_i
);

  as_arrow_properties #(
      .Offsets(1'b1)
  ) i_properties (
      .clk_i,
      .valid_i,
      .count_i,
      .data_i,
      .last_i,
      .ready_i
  );

endmodule

`default_nettype wire
