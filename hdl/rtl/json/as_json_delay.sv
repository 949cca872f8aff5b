// SPDX-License-Identifier: Apache-2.0
// Delays a payload by Stages beats: for data that waits while the matchers look ahead.
//
// Layer: json.

`default_nettype none

module as_json_delay #(
    parameter int unsigned Width = 8,
    parameter int unsigned Stages = 1
) (
    input  logic             clk_i,
    input  logic             advance_i,
    input  logic [Width-1:0] data_i,
    output logic [Width-1:0] data_o
);

  logic [Width-1:0] data_q[Stages];
  assign data_o = data_q[Stages-1];

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      data_q[0] <= data_i;
      for (int unsigned s = 1; s < Stages; s++) data_q[s] <= data_q[s-1];
    end
  end

endmodule

`default_nettype wire
