// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_rows that levels and values reach as_parquet_expand and from there the
// writers (all three proved separately) in order, none lost or invented; that each buffer ends
// once, after all rows; that offered transfers of both sides do not change; and that it makes
// progress. If not `Nullable`, values are rows.
//
// A chunk comes as as_parquet_column sends it: levels and values in any order, then the end of
// both; the next one follows when its buffers are complete. If there are levels, each token with a
// one has one piece of values, because the stub of as_parquet_expand makes it so. Tracks one
// arbitrary token and one arbitrary piece.

`default_nettype none

module as_parquet_rows_proof #(
    parameter bit Nullable = 1'b1
) (
    input logic       clk_i,
    input logic       token_valid_i,
    input logic [1:0] rows_i,
    input logic [1:0] bits_i,
    input logic       value_valid_i,
    input logic [1:0] value_count_i,
    input logic       value_i,
    input logic       ends_i,
    input logic       again_i,
    input logic       ready_i,
    input logic       bits_ready_i,
    input logic       pick_i,
    input logic       pick_token_i
);

  localparam int unsigned Width = 256;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // At the end, `sent_q`: the last piece was taken. The number of pieces minus tokens, which must
  // become equal.
  logic last_q = 1'b0, stopped_q = 1'b0, sent_q = 1'b0;
  logic ended;
  logic [2:0] more_q = '0;

  // Tokens of 1 or 2 rows, then the token of no rows.
  logic token_valid, token_ready, token_in, token_need;
  logic [3:0] token;
  logic tail_q = 1'b0;
  as_stream_source #(
      .Width(4)
  ) i_tokens (
      .clk_i,
      .rst_ni (rst_n && Nullable && !last_q && !stopped_q),
      .valid_i(token_valid_i && (rows_i == 2'd1 || rows_i == 2'd2) && more_q != 3'd4),
      .data_i ({rows_i, bits_i}),
      .ready_i(token_ready),
      .valid_o(token_valid),
      .data_o (token)
  );
  assign token_in = (token_valid && token_ready) || (Nullable && last_q && !tail_q && token_ready);

  // The lowest bit of a piece marks the tracked one.
  logic value_valid, piece_valid, piece_ready, piece_in;
  logic [2:0] value;
  logic [1:0] value_count;
  as_stream_source #(
      .Width(3)
  ) i_values (
      .clk_i,
      .rst_ni (rst_n && !last_q && !stopped_q),
      .valid_i(value_valid_i && value_count_i != 2'd3 && more_q != 3'd3),
      .data_i ({value_count_i, value_i}),
      .ready_i(piece_ready),
      .valid_o(value_valid),
      .data_o (value)
  );
  assign token_need  = last_q || token[1:0] != '0;
  assign value_count = last_q ? '0 : value[2:1];
  assign piece_valid = value_valid || (last_q && !sent_q);
  assign piece_in    = piece_valid && piece_ready;

  logic full, overflow;
  logic [1:0] valid, last;
  logic [1023:0] data;
  logic [127:0] strobe;
  as_parquet_rows #(
      .Width     (Width),
      .Nullable  (Nullable),
      .LevelWords(2)
  ) i_rows (
      .clk_i,
      .rst_ni       (rst_n),
      .clr_i        (1'b0),
      .start_i      (1'b0),
      .piece_valid_i(piece_valid),
      .piece_ready_o(piece_ready),
      .piece_i      ({255'd0, value[0], 256'd1}),
      .piece_count_i(value_count),
      .piece_last_i (last_q),
      .token_valid_i(token_valid),
      .token_ready_o(token_ready),
      .token_i      ({31'd0, token[3:2], 62'd0, token[1:0]}),
      .ends_i       (last_q),
      .ended_o      (ended),
      .levels_i     (token_valid),
      .full_o       (full),
      .overflow_o   (overflow),
      .valid_o      (valid),
      .ready_i      ({ready_i, bits_ready_i}),
      .data_o       (data),
      .strobe_o     (strobe),
      .last_o       (last)
  );

  // One bit per lane represents all of its bits.
  logic kept, bits_kept, out, piece, piece_out, bits_out;
  as_stream_rules #(
      .Width(5)
  ) i_data (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid[1]),
      .ready_i,
      .data_i ({last[1], strobe[65:64], data[768], data[512]}),
      .kept_o (kept)
  );
  as_stream_rules #(
      .Width(5)
  ) i_bits (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid[0]),
      .ready_i(bits_ready_i),
      .data_i ({last[0], strobe[1:0], data[1:0]}),
      .kept_o (bits_kept)
  );
  assign out      = valid[1] && ready_i;
  assign piece    = data[512] || last[1];
  assign piece_out = out && piece;
  assign bits_out = valid[0] && bits_ready_i;

  // Pieces and tokens inside, how many are before the tracked one, and its content.
  logic [2:0] inside_q = '0, before_q = '0;
  logic [3:0] tokens_q = '0, token_rows_q = '0, before_token_q = '0;
  logic follow_q = 1'b0, follow_token_q = 1'b0;
  logic [2:0] piece_q;
  logic [3:0] token_q;
  logic [1:0] over_q = '0;
  logic [2:0] waited_q = '0;

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (ends_i && !token_valid && !value_valid && !stopped_q && (!Nullable || more_q == 3'd0)) last_q <= 1'b1;
      if (last_q) begin
        sent_q <= sent_q || piece_in;
        tail_q <= tail_q || token_in;
        if ((sent_q || piece_in) && ended) {last_q, stopped_q} <= 2'b01;
      end
      if (Nullable && !last_q) more_q <= more_q + 3'(piece_in) - 3'(token_in && token_need);
      inside_q <= inside_q + 3'(piece_in) - 3'(piece_out);
      tokens_q <= tokens_q + 4'(token_in) - 4'(bits_out);
      token_rows_q <= token_rows_q + 4'(token_in) - 4'(out && Nullable);
      if (piece_in && pick_i && !follow_q) begin
        follow_q <= 1'b1;
        before_q <= inside_q - 3'(piece_out);
        piece_q  <= {value_count, value[0]};
      end else if (follow_q && piece_out) begin
        before_q <= before_q - 3'd1;
        if (before_q == '0) follow_q <= 1'b0;
      end
      if (token_in && pick_token_i && !follow_token_q) begin
        follow_token_q <= 1'b1;
        before_token_q <= tokens_q - 4'(bits_out);
        token_q        <= last_q ? '0 : token;
      end else if (follow_token_q && bits_out) begin
        before_token_q <= before_token_q - 4'd1;
        if (before_token_q == '0) follow_token_q <= 1'b0;
      end
      over_q <= over_q | {out && last[1], bits_out && last[0]};
      // The next chunk.
      if (stopped_q && over_q == {1'b1, Nullable} && again_i) {stopped_q, sent_q, tail_q, over_q} <= '0;
    end
    waited_q <= out || bits_out || !ready_i || !bits_ready_i || inside_q == '0 || (Nullable && tokens_q == '0 && token_rows_q == '0) ? '0 : waited_q + 3'd1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept && bits_kept && !overflow);
      if (valid[1]) begin
        assert ((inside_q != '0 || !piece) && !over_q[1] && (token_rows_q != '0 || !Nullable));
        if (last[1]) assert (sent_q && inside_q == 3'd1 && (token_rows_q == 4'd1 || !Nullable));
        if (!piece) assert (Nullable && !data[768]);
        if (follow_q && before_q == '0 && piece && !last[1]) assert (data[768] == piece_q[0]);
        if (!Nullable && follow_q && before_q == '0) assert (strobe[65:64] == piece_q[2:1]);
        if (Nullable) assert (last[1] == (strobe[65:64] == '0));
      end
      if (valid[0]) begin
        assert (Nullable && tokens_q != '0 && !over_q[0] && last[0] == (strobe[1:0] == '0));
        if (last[0]) assert (tail_q && tokens_q == 4'd1);
        if (follow_token_q && before_token_q == '0) assert (strobe[1:0] == token_q[3:2] && (last[0] || data[1:0] == token_q[1:0]));
      end
      if (stopped_q) assert (sent_q && tail_q == Nullable);
      assert (waited_q < (Nullable ? 3'd3 : 3'd1));
    end
  end

endmodule

`default_nettype wire
