// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_feed that the kernel sees the bytes of the range, each once, in order, with
// spaces around them, and that exactly the range's beats are taken from memory.
//
// Every byte of memory holds its own address, counted from the first beat.

`default_nettype none

module as_json_feed_proof (
    input logic       clk_i,
    input logic       start_i,
    input logic [2:0] offset_i,
    input logic [3:0] length_i,
    input logic       valid_i,
    input logic       advance_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start, ready, valid, ended;
  logic [31:0] data;
  logic [63:0] beat;
  logic [2:0] beats_q = '0;
  assign start = start_i && rst_n && !started_q;
  for (genvar i = 0; i < 8; i++) begin : gen_beat
    assign beat[i*8+:8] = {2'b10, beats_q, 3'(i)};
  end

  as_json_feed #(
      .W         (4),
      .Bytes     (8),
      .LengthBits(4)
  ) i_feed (
      .clk_i,
      .rst_ni   (rst_n),
      .start_i  (start),
      .offset_i (offset_i),
      .length_i (length_i),
      .valid_i  (valid_i),
      .ready_o  (ready),
      .data_i   (beat),
      .valid_o  (valid),
      .ended_o  (ended),
      .advance_i(advance_i && valid),
      .data_o   (data)
  );

  // Where the text begins and ends, and the part the kernel is at.
  logic [5:0] begin_q = '0;
  logic [5:0] end_q = '0;
  logic [5:0] at_q = '0;
  always_ff @(posedge clk_i) begin
    if (start) begin
      started_q <= 1'b1;
      begin_q   <= 6'(offset_i);
      end_q     <= 6'(offset_i) + 6'(length_i);
      at_q      <= {3'd0, offset_i[2], 2'd0};
    end else if (started_q) begin
      if (valid && advance_i && !ended) at_q <= at_q + 6'd4;
      if (valid_i && ready) beats_q <= beats_q + 1'b1;
    end
  end

  always_comb begin
    if (rst_n && started_q) begin
      assert (ended == (at_q >= end_q || begin_q == end_q));
      assert (valid == (ended || valid_i));
      assert (!ready || !ended);
      if (valid) begin
        for (int unsigned i = 0; i < 4; i++) begin
          if (!ended && at_q + 6'(i) >= begin_q && at_q + 6'(i) < end_q) assert (data[i*8+:8] == {2'b10, at_q + 6'(i)});
          else assert (data[i*8+:8] == 8'h20);
        end
      end
      // At the end, exactly the range's beats were taken.
      if (ended && begin_q != end_q) assert (6'(beats_q) == (end_q + 6'd7) >> 3);
    end
  end

endmodule

`default_nettype wire
