// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_pack, for one arbitrary buffer of two, that its granules come out in order,
// each once, in beats that are numbered without a gap, and that after a flush none is missing.
//
// Tracks one arbitrary granule: the input marks one in some cycle as "the first of this piece".

`default_nettype none

module as_json_pack_proof (
    input logic       clk_i,
    input logic       which_i,
    input logic       valid_i,
    input logic       buffer_i,
    input logic [1:0] count_i,
    input logic [1:0] data_i,
    input logic       flush_i,
    input logic       ready_i,
    input logic       pick_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The checked buffer is chosen in the first cycle. No piece comes once the flush has begun.
  logic which_q = 1'b0;
  logic flush_q = 1'b0;
  logic ready, idle, valid, flush;
  logic [7:0] buffer, data;
  logic [31:0] beat;
  logic [1:0] count, first, second;
  assign count  = count_i == 2'd3 ? 2'd2 : count_i;
  assign first  = count == 2'd0 ? '0 : data_i;
  assign second = count == 2'd2 ? ~data_i : '0;
  assign flush  = (flush_i || flush_q) && rst_n;

  as_json_pack #(
      .Bytes        (1),
      .GranuleBits  (2),
      .PieceGranules(2),
      .Buffers      (2)
  ) i_pack (
      .clk_i,
      .rst_ni  (rst_n),
      .clr_i   (1'b0),
      .valid_i (valid_i && !flush && rst_n),
      .ready_o (ready),
      .buffer_i(8'(buffer_i)),
      .data_i  ({second, first}),
      .count_i (8'(count)),
      .flush_i (flush),
      .idle_o  (idle),
      .valid_o (valid),
      .ready_i (ready_i),
      .buffer_o(buffer),
      .beat_o  (beat),
      .data_o  (data)
  );

  logic kept;
  as_stream_rules #(
      .Width(48)
  ) i_output (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(ready_i),
      .data_i ({buffer, beat, data}),
      .kept_o (kept)
  );

  // Granules inside, beats that came out (modulo 16), granules before the tracked one.
  logic [3:0] inside_q = '0;
  logic [3:0] beats_q = '0;
  logic       follow_q = 1'b0;
  logic [3:0] before_q = '0;
  logic [1:0] wanted_q = '0;
  logic in, out;
  assign in  = valid_i && !flush && ready && buffer_i == which_q && rst_n;
  assign out = valid && ready_i && buffer == 8'(which_q) && rst_n;

  logic [3:0] left;
  assign left = !out ? 4'd0 : inside_q < 4'd4 ? inside_q : 4'd4;

  always_ff @(posedge clk_i) begin
    if (!rst_n) which_q <= which_i;
    flush_q  <= flush;
    inside_q <= inside_q + (in ? 4'(count) : 4'd0) - left;
    if (out) beats_q <= beats_q + 1'b1;
    if (in && pick_i && count != '0 && !follow_q) begin
      follow_q <= 1'b1;
      before_q <= inside_q - left;
      wanted_q <= first;
    end else if (follow_q) begin
      before_q <= before_q - left;
      if (before_q < left) follow_q <= 1'b0;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      if (valid) assert (buffer < 8'd2);
      if (valid && buffer == 8'(which_q)) begin
        assert (beat[3:0] == beats_q);
        // Full beats before the flush; at a flush, one more for the rest.
        assert (inside_q >= 4'd4 || (flush && inside_q != '0));
        if (follow_q && before_q < 4'd4) assert (data[before_q[1:0]*2+:2] == wanted_q);
      end
      if (flush && idle) assert (inside_q == '0);
    end
  end

endmodule

`default_nettype wire
