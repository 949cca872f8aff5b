// SPDX-License-Identifier: Apache-2.0
// Merges beats of several sources into one stream, round-robin, each with its buffer number.
//
// Latency: none. Throughput: one beat per cycle. An offered beat may change until it is taken.
//
// Layer: json.

`default_nettype none

module as_json_merge #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned Sources = 5
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic [        Sources-1:0] valid_i,
    output logic [        Sources-1:0] ready_o,
    input  logic [      Sources*8-1:0] buffer_i,
    input  logic [     Sources*32-1:0] beat_i,
    input  logic [Sources*Bytes*8-1:0] data_i,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [        7:0] buffer_o,
    output logic [       31:0] beat_o,
    output logic [Bytes*8-1:0] data_o
);

  logic [Sources-1:0] turn_q, pick;

  assign pick    = Sources'(as_stream_pkg::in_turn(64'(valid_i), 64'(turn_q)));
  assign valid_o = valid_i != '0;
  assign ready_o = ready_i ? pick : '0;
  always_comb begin
    buffer_o = '0;
    beat_o   = '0;
    data_o   = '0;
    for (int unsigned s = 0; s < Sources; s++) begin
      if (pick[s]) begin
        buffer_o |= buffer_i[s*8+:8];
        beat_o   |= beat_i[s*32+:32];
        data_o   |= data_i[s*Bytes*8+:Bytes*8];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= '0;
    else if (valid_o && ready_i) turn_q <= Sources'(as_stream_pkg::after(64'(pick)));
  end

endmodule

`default_nettype wire
