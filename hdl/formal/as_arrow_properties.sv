// SPDX-License-Identifier: Apache-2.0
// Proves for as_arrow_values and as_arrow_offsets that offered beats do not change, have no gap,
// and are full except a buffer's last one, and that a buffer has what was put into it: the same
// number of elements; for offsets one more, the first zero and the last the sum of the lengths.
//
// `Offsets` selects as_arrow_offsets, whose lengths are below 8 here. Elements are two bytes,
// offsets four.

`default_nettype none

module as_arrow_properties #(
    parameter bit Offsets = 1'b0
) (
    input logic        clk_i,
    input logic        valid_i,
    input logic [ 1:0] count_i,
    input logic [31:0] data_i,
    input logic        last_i,
    input logic        ready_i
);

  localparam int unsigned Bytes = 8;
  localparam int unsigned Size = Offsets ? 4 : 2;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] count;
  logic ready, valid, last, overflow;
  logic [2:0] first, second;
  logic [Bytes*8-1:0] data;
  logic [Bytes-1:0] strobe;
  assign count  = count_i == 2'd3 ? 2'd2 : count_i;
  assign first  = count == 2'd0 ? '0 : data_i[2:0];
  assign second = count == 2'd2 ? data_i[5:3] : '0;

  if (Offsets) begin : gen_offsets
    as_arrow_offsets #(
        .Lanes(2),
        .Bytes(Bytes)
    ) i_offsets (
        .clk_i,
        .rst_ni    (rst_n),
        .clr_i     (1'b0),
        .valid_i   (valid_i && rst_n),
        .ready_o   (ready),
        .length_i  ({29'd0, data_i[5:3], 29'd0, data_i[2:0]}),
        .count_i   (count),
        .last_i,
        .valid_o   (valid),
        .ready_i,
        .data_o    (data),
        .strobe_o  (strobe),
        .last_o    (last),
        .overflow_o(overflow)
    );
  end else begin : gen_values
    as_arrow_values #(
        .ElementBits(16),
        .Lanes      (2),
        .Bytes      (Bytes)
    ) i_values (
        .clk_i,
        .rst_ni  (rst_n),
        .clr_i   (1'b0),
        .valid_i (valid_i && rst_n),
        .ready_o (ready),
        .data_i,
        .count_i (count),
        .last_i,
        .valid_o (valid),
        .ready_i,
        .data_o  (data),
        .strobe_o(strobe),
        .last_o  (last)
    );
    assign overflow = 1'b0;
  end

  logic kept;
  as_stream_rules #(
      .Width(1 + Bytes * 9)
  ) i_output (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(ready_i),
      .data_i ({last, strobe, data}),
      .kept_o (kept)
  );

  // Tracks one arbitrary buffer of the first four: what went in, what came out.
  logic [5:0] in_q = '0, out_q = '0;
  logic [7:0] sum_q = '0;
  logic whole_q = 1'b0, begun_q = 1'b0;
  logic [5:0] kept_elements;
  logic [31:0] greatest;
  always_comb begin
    kept_elements = '0;
    greatest      = data[31:0];
    for (int unsigned i = 0; i < Bytes / Size; i++) kept_elements += 6'(strobe[i*Size]);
    if (Offsets && strobe[4]) greatest = data[63:32];
  end
  // Buffers completed at the input or the output: the tracked one is the first for which both are
  // counted, then the next.
  always_ff @(posedge clk_i) begin
    if (rst_n && valid_i && ready && !whole_q) begin
      in_q    <= in_q + 6'(count);
      sum_q   <= sum_q + 8'(first) + 8'(second);
      whole_q <= last_i;
    end
    if (rst_n && valid && ready_i && !begun_q) begin
      out_q   <= out_q + kept_elements;
      begun_q <= last;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept && !overflow);
      if (valid) begin
        assert ((strobe & (strobe + 1'b1)) == '0 && (last || strobe == '1));
        // The content is known of the first buffer only; begun_q: its output has begun.
        if (!begun_q) begin
          assert (out_q + kept_elements <= in_q + 6'(Offsets));
          if (last) assert (whole_q && out_q + kept_elements == in_q + 6'(Offsets));
          if (Offsets && out_q == '0) assert (data[31:0] == '0);
          if (Offsets && last && strobe != '0) assert (greatest == 32'(sum_q));
        end
      end
    end
  end

endmodule

`default_nettype wire
