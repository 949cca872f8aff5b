// SPDX-License-Identifier: Apache-2.0
// Beats of memory to beats of the kernel: W of the Bytes bytes of a memory beat; the bytes around
// the text become spaces.
//
// A run is a range of bytes anywhere in memory. After the last of them come blanks, as many as are
// taken; `ended_o` is then high.
//
// Latency: none. Throughput: W bytes per cycle.
//
// Layer: json.

`default_nettype none

module as_json_feed #(
    parameter int unsigned W = 8,
    parameter int unsigned Bytes = 16,
    parameter int unsigned LengthBits = 32,
    localparam int unsigned OffsetBits = $clog2(Bytes),
    localparam int unsigned LaneBits = $clog2(W)
) (
    input logic clk_i,
    input logic rst_ni,

    input logic                  start_i,
    input logic [OffsetBits-1:0] offset_i,
    input logic [LengthBits-1:0] length_i,

    input  logic               valid_i,
    output logic               ready_o,
    input  logic [Bytes*8-1:0] data_i,

    output logic           valid_o,
    output logic           ended_o,
    input  logic           advance_i,
    output logic [W*8-1:0] data_o
);

  // Position in the memory's beats; where the text begins and ends there.
  logic [LengthBits:0] at_q, begin_q, end_q;
  logic [W*8-1:0] part;
  logic more;

  // An empty range has no beats, wherever it begins.
  assign more    = at_q < end_q && begin_q != end_q;
  assign ended_o = !more;
  assign valid_o = !more || valid_i;
  // The last part of a memory beat, or of the text.
  assign ready_o = more && advance_i &&
                   (at_q[OffsetBits-1:LaneBits] == '1 || at_q + (LengthBits + 1)'(W) >= end_q);
  assign part    = data_i[32'(at_q[OffsetBits-1:LaneBits])*W*8+:W*8];

  always_comb begin
    for (int unsigned i = 0; i < W; i++) begin
      data_o[i*8+:8] = at_q + (LengthBits + 1)'(i) >= begin_q && at_q + (LengthBits + 1)'(i) < end_q ?
          part[i*8+:8] : 8'h20;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      at_q    <= '0;
      begin_q <= '0;
      end_q   <= '0;
    end else if (start_i) begin
      at_q    <= {(LengthBits + 1 - OffsetBits)'(0), offset_i[OffsetBits-1:LaneBits], LaneBits'(0)};
      begin_q <= (LengthBits + 1)'(offset_i);
      end_q   <= (LengthBits + 1)'(offset_i) + (LengthBits + 1)'(length_i);
    end else if (advance_i && more && valid_i) at_q <= at_q + (LengthBits + 1)'(W);
  end

endmodule

`default_nettype wire
