// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_expand that rows come out in order: as many as the tokens have, each
// non-null row with the next value, each null with zero, and that both offered outputs do not
// change. The values of a message are numbered, so that a lost, doubled or swapped one is detected.
// A message with fewer values than its tokens need is not checked: the column counts both.

`default_nettype none

module as_parquet_expand_proof (
    input logic       clk_i,
    input logic       token_valid_i,
    input logic       run_i,
    input logic [1:0] rows_i,
    input logic [2:0] bits_i,
    input logic       value_valid_i,
    input logic [1:0] value_count_i,
    input logic       value_last_i,
    input logic       ready_i,
    input logic       bits_ready_i
);

  localparam int unsigned Width = 4;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // Tokens: of 0 to 3 rows; one of none ends a message.
  logic token_valid, token_ready;
  logic [5:0] token;
  logic [2:0] ones;
  as_stream_source #(
      .Width(6)
  ) i_tokens (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(token_valid_i),
      .data_i ({run_i, rows_i, bits_i}),
      .ready_i(token_ready),
      .valid_o(token_valid),
      .data_o (token)
  );
  assign ones = token[5] ? (token[0] ? 3'b111 : 3'b000) : token[2:0];

  // Values: 0 to 2 per transfer, numbered from 1 in each message.
  logic value_valid, value_ready;
  logic [2:0] value;
  logic [1:0] value_count;
  logic [Width-1:0] number_q = 4'd1;
  as_stream_source #(
      .Width(3)
  ) i_values (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(value_valid_i && (number_q < 4'd14 || value_last_i)),
      .data_i ({value_last_i, value_count_i}),
      .ready_i(value_ready),
      .valid_o(value_valid),
      .data_o (value)
  );
  assign value_count = value[1:0] == 2'd3 ? 2'd2 : value[1:0];

  logic valid, bits_valid, last, waits;
  logic [2*Width-1:0] data;
  logic [1:0] bits, count;
  as_parquet_expand #(
      .Width(Width),
      .Lanes(2)
  ) i_expand (
      .clk_i,
      .rst_ni       (rst_n),
      .clr_i        (1'b0),
      .token_valid_i(token_valid),
      .token_ready_o(token_ready),
      .token_i      ({token[5], 30'd0, token[4:3], 61'd0, token[2:0]}),
      .value_valid_i(value_valid),
      .value_ready_o(value_ready),
      .value_i      ({number_q + Width'(1), number_q}),
      .value_count_i(value_count),
      .value_last_i (value[2]),
      .valid_o      (valid),
      .ready_i,
      .data_o       (data),
      .bits_valid_o (bits_valid),
      .bits_ready_i,
      .bits_o       (bits),
      .count_o      (count),
      .last_o       (last),
      .waits_o      (waits)
  );

  logic kept, bits_kept;
  as_stream_rules #(
      .Width(2 * Width + 3)
  ) i_data (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i,
      .data_i ({last, count, data}),
      .kept_o (kept)
  );
  as_stream_rules #(
      .Width(5)
  ) i_bits (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(bits_valid),
      .ready_i(bits_ready_i),
      .data_i ({last, count, bits}),
      .kept_o (bits_kept)
  );

  // Values of this message that came out, rows that both outputs still have to deliver.
  logic [Width-1:0] next_q = 4'd1;
  logic [5:0] data_rows_q = '0, bit_rows_q = '0;
  logic bits_begun_q = 1'b0;
  // Values of the first message so far, whether these are all, and whether the message is out.
  logic [Width-1:0] given_q = '0;
  logic whole_q = 1'b0, out_q = 1'b0;
  // Levels of rows to come, the next one first; only those of the first token with rows are
  // tracked.
  logic [2:0] first_q = '0;
  logic [1:0] first_rows_q = '0;
  logic followed_q = 1'b0;
  logic [5:0] rows;
  assign rows = token_valid && token_ready ? 6'(token[4:3]) : 6'd0;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (value_valid && value_ready) number_q <= value[2] ? 4'd1 : number_q + Width'(value_count);
      if (value_valid && value_ready && !whole_q) begin
        given_q <= given_q + Width'(value_count);
        whole_q <= value[2];
      end
      if (valid && ready_i && last) out_q <= 1'b1;
      if (token_valid && token_ready) begin
        if (!followed_q && token[4:3] != '0) begin
          followed_q   <= 1'b1;
          first_q      <= ones;
          first_rows_q <= token[4:3];
        end
      end
      data_rows_q <= data_rows_q + rows - (valid && ready_i ? 6'(count) : 6'd0);
      bit_rows_q  <= bit_rows_q + rows - (bits_valid && bits_ready_i ? 6'(count) : 6'd0);
      if (valid && ready_i) begin
        next_q      <= last ? 4'd1 : next_q + Width'(bits[0]) + Width'(bits[1]);
      end
      if (bits_valid && bits_ready_i && count != '0) bits_begun_q <= 1'b1;
    end
  end

  logic [Width-1:0] wanted[2];
  assign wanted[0] = next_q;
  assign wanted[1] = next_q + Width'(bits[0]);

  always_comb begin
    if (rst_n) begin
      assert (kept && bits_kept);
      if (valid) begin
        assert (count <= 2'd2 && 6'(count) <= data_rows_q && last == (count == '0));
        for (int unsigned i = 0; i < 2; i++) begin
          if (!bits[i]) assert (data[i*Width+:Width] == '0);
          else if (!out_q) assert (wanted[i] <= given_q ? data[i*Width+:Width] == wanted[i] : whole_q);
        end
        // No bit after the rows.
        assert ((bits & ~(2'b11 >> (2'd2 - count))) == '0);
      end
      if (bits_valid) assert (6'(count) <= bit_rows_q);
      if (bits_valid && count != '0 && !bits_begun_q) begin
        assert (bits[0] == first_q[0] && (first_rows_q < 2'd2 || bits[1] == first_q[1]));
      end
    end
  end

endmodule

`default_nettype wire
