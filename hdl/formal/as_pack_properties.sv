// SPDX-License-Identifier: Apache-2.0
// Proves for as_arrow_pack and as_stream_packer that elements come out in order, each once,
// unchanged, and all of them once a message ends.
//
// Elements are numbered over all messages. One arbitrary element is tracked: the input marks one in
// some cycle as "the first of this piece". When the output reaches its number, it must be that
// element. `Stream` selects as_stream_packer, whose elements are bytes.

`default_nettype none

module as_pack_properties #(
    parameter bit Stream = 1'b0
) (
    input logic       clk_i,
    input logic       valid_i,
    input logic [1:0] count_i,
    input logic       skip_i,
    input logic [7:0] data_i,
    input logic       last_i,
    input logic       ready_i,
    input logic       pick_i
);

  localparam int unsigned Bits = Stream ? 8 : 2;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A piece has at most two elements, one of them zero if it is skipped; uncounted elements are
  // zero.
  logic [1:0] count;
  logic       skip;
  logic [Bits-1:0] first;
  assign skip  = Stream && skip_i && count_i != 2'd0;
  assign count = count_i == 2'd3 ? 2'd2 : count_i;
  assign first = count == 2'd0 ? '0 : data_i[Bits-1:0];

  logic ready, valid, last;
  logic [4*Bits-1:0] data;
  logic [2:0] counted;

  if (Stream) begin : gen_stream
    logic [3:0] strobe;
    as_stream_packer #(
        .Bytes       (4),
        .GranuleBytes(1)
    ) i_pack (
        .clk_i,
        .rst_ni  (rst_n),
        .clr_i   (1'b0),
        .valid_i (valid_i),
        .ready_o (ready),
        .data_i  ({16'd0, count == 2'd2 ? ~first : 8'd0, first}),
        .count_i ({2'd0, count}),
        .skip_i  (skip),
        .last_i  (last_i),
        .valid_o (valid),
        .ready_i (ready_i),
        .data_o  (data),
        .strobe_o(strobe)
    );
    // Strobes mark the first bytes, without a gap.
    assign counted = 3'(strobe[0]) + 3'(strobe[1]) + 3'(strobe[2]) + 3'(strobe[3]);
    assign last    = 1'b0;
    always_comb if (rst_n && valid) assert ((strobe & (strobe + 4'd1)) == '0 && strobe != '0);
  end else begin : gen_arrow
    as_arrow_pack #(
        .ElementBits(2),
        .Lanes      (2),
        .Slots      (4)
    ) i_pack (
        .clk_i,
        .rst_ni (rst_n),
        .clr_i  (1'b0),
        .valid_i(valid_i),
        .ready_o(ready),
        .data_i ({~first, first}),
        .count_i(count),
        .last_i (last_i),
        .valid_o(valid),
        .ready_i(ready_i),
        .data_o (data),
        .count_o(counted),
        .last_o (last)
    );
    // Only the last word of a message is not full.
    always_comb if (rst_n && valid) assert (counted == 3'd4 || last);
  end

  logic kept;
  as_stream_rules #(
      .Width(4 * Bits + 4)
  ) i_output (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(ready_i),
      .data_i ({last, counted, data}),
      .kept_o (kept)
  );

  // Elements inside, messages that are not out yet, cycles without output while it was requested,
  // and elements before the tracked one.
  logic [5:0] inside_q = '0;
  logic [3:0] open_q = '0;
  logic [2:0] waited_q = '0;
  logic       ended_q = 1'b1;
  logic       follow_q = 1'b0;
  logic [5:0] before_q = '0;
  logic [Bits-1:0] wanted_q = '0;
  logic in, out;
  assign in  = valid_i && ready && rst_n;
  assign out = valid && ready_i && rst_n;
  logic [5:0] left;
  assign left = out ? 6'(counted) : 6'd0;

  always_ff @(posedge clk_i) begin
    inside_q <= inside_q + (in ? 6'(count) + 6'(skip) : 6'd0) - left;
    if (in) ended_q <= last_i;
    open_q   <= open_q + 4'(in && last_i) - 4'(out && last);
    waited_q <= in || !rst_n || valid || !ready_i ? '0 : waited_q == 3'd7 ? 3'd7 : waited_q + 3'd1;
    if (!follow_q && in && pick_i && count != '0) begin
      follow_q <= 1'b1;
      before_q <= inside_q + 6'(skip) - left;
      wanted_q <= first;
    end else if (follow_q) begin
      before_q <= before_q - left;
      if (before_q < left) follow_q <= 1'b0;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      // Nothing is invented, and once a message has ended and the output is empty, nothing is
      // missing.
      assert (!valid || 6'(counted) <= inside_q);
      assert (!(ended_q && waited_q >= 3'd3) || (inside_q == '0 && (Stream || open_q == '0)));
      // The tracked one comes in its turn, unchanged.
      if (follow_q && valid && before_q < 6'(counted)) assert (data[before_q[1:0]*Bits+:Bits] == wanted_q);
    end
  end

endmodule

`default_nettype wire
