// SPDX-License-Identifier: Apache-2.0
// Proves as_stream_packer: the properties are those of as_pack_properties.

`default_nettype none

module as_stream_packer_proof (
    input logic       clk_i,
    input logic       valid_i,
    input logic [1:0] count_i,
    input logic       skip_i,
    input logic [7:0] data_i,
    input logic       last_i,
    input logic       ready_i,
    input logic       pick_i
);

  as_pack_properties #(
      .Stream(1'b1)
  ) i_properties (
      .clk_i,
      .valid_i,
      .count_i,
      .skip_i,
      .data_i,
      .last_i,
      .ready_i,
      .pick_i
  );

endmodule

`default_nettype wire
