// SPDX-License-Identifier: Apache-2.0
// Turns a column's values or lengths into its validity, and its values or offsets: nulls and the
// Arrow writers.
//
// Pieces come dense, tokens mark the null rows; if not `Nullable` every row has a value. `ends_i`
// stays high at the end of the chunk, when the piece with `last_i` was offered; `ended_o`: the end
// of the levels was taken too. Streams out: 0 validity, 1 values or offsets.
//
// Throughput: Lanes rows per cycle.
//
// Layer: parquet.

`default_nettype none

module as_parquet_rows #(
    parameter  int unsigned Width      = 64,
    parameter  bit          Strings    = 1'b0,
    parameter  bit          Nullable   = 1'b0,
    // Limit of a page: words of 64 levels.
    parameter  int unsigned LevelWords = 4096,
    localparam int unsigned Bytes      = 64,
    localparam int unsigned Lanes      = 512 / Width,
    localparam int unsigned CountBits  = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    input logic start_i,

    input  logic                   piece_valid_i,
    output logic                   piece_ready_o,
    input  logic [Lanes*Width-1:0] piece_i,
    input  logic [  CountBits-1:0] piece_count_i,
    input  logic                   piece_last_i,

    input  logic        token_valid_i,
    output logic        token_ready_o,
    input  logic [96:0] token_i,
    input  logic        ends_i,
    output logic        ended_o,
    // Levels of a page are in flight; they do not fit.
    input  logic        levels_i,
    output logic        full_o,
    // Offsets exceed 31 bits.
    output logic        overflow_o,

    output logic [          1:0] valid_o,
    input  logic [          1:0] ready_i,
    output logic [2*Bytes*8-1:0] data_o,
    output logic [  2*Bytes-1:0] strobe_o,
    output logic [          1:0] last_o
);

  logic                   value_valid, value_ready, value_last;
  logic [Lanes*Width-1:0] value;
  logic [  CountBits-1:0] value_count;

  as_skid_buffer #(
      .Width(512 + CountBits + 1)
  ) i_hold (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(piece_valid_i),
      .ready_o(piece_ready_o),
      .data_i ({piece_last_i, piece_count_i, piece_i}),
      .valid_o(value_valid),
      .ready_i(value_ready),
      .data_o ({value_last, value_count, value})
  );

  logic                   row_valid, row_ready, row_last;
  logic [Lanes*Width-1:0] row;
  logic [  CountBits-1:0] row_count;

  if (Nullable) begin : gen_nullable
    logic             waiting_valid, waiting_ready;
    logic [     96:0] waiting;
    logic             bits_valid, bits_ready;
    logic [Lanes-1:0] bits;
    logic             values_missing;
    logic             end_sent_q;

    // All levels of a page are known before its first value.
    as_fifo_block #(
        .Width(97),
        .Depth(LevelWords)
    ) i_tokens (
        .clk_i,
        .rst_ni,
        .clr_i,
        .valid_i(token_valid_i || (ends_i && !end_sent_q)),
        .ready_o(token_ready_o),
        .data_i (ends_i ? '0 : token_i),
        .valid_o(waiting_valid),
        .ready_i(waiting_ready),
        .data_o (waiting)
    );

    as_parquet_expand #(
        .Width(Width),
        .Lanes(Lanes)
    ) i_expand (
        .clk_i,
        .rst_ni,
        .clr_i,
        .token_valid_i(waiting_valid),
        .token_ready_o(waiting_ready),
        .token_i      (waiting),
        .value_valid_i(value_valid),
        .value_ready_o(value_ready),
        .value_i      (value),
        .value_count_i(value_count),
        .value_last_i (value_last),
        .valid_o      (row_valid),
        .ready_i      (row_ready),
        .data_o       (row),
        .bits_valid_o (bits_valid),
        .bits_ready_i (bits_ready),
        .bits_o       (bits),
        .count_o      (row_count),
        .last_o       (row_last),
        .waits_o      (values_missing)
    );

    // Validity bits and rows come from one piece, but each may wait without the other.
    as_arrow_values #(
        .ElementBits(1),
        .Lanes(Lanes),
        .Bytes(Bytes)
    ) i_validity (
        .clk_i,
        .rst_ni,
        .clr_i,
        .valid_i (bits_valid),
        .ready_o (bits_ready),
        .data_i  (bits),
        .count_i (row_count),
        .last_i  (row_last),
        .valid_o (valid_o[0]),
        .ready_i (ready_i[0]),
        .data_o  (data_o[0+:Bytes*8]),
        .strobe_o(strobe_o[0+:Bytes]),
        .last_o  (last_o[0])
    );

    // The queue is full of one page's levels while rows wait for its values: the page does not fit.
    // Values of the previous page that are still in flight arrive within this many cycles; cycles
    // in which memory does not take rows are not counted.
    logic [7:0] missing_q;
    assign full_o  = levels_i && missing_q == '1;
    assign ended_o = end_sent_q || token_ready_o;
    always_ff @(posedge clk_i) begin
      if (levels_i && token_valid_i && !token_ready_o && values_missing) begin
        if (missing_q != '1) missing_q <= missing_q + 8'd1;
      end else begin
        missing_q <= '0;
      end
      end_sent_q <= ends_i && ended_o;
    end
  end else begin : gen_dense
    assign row_valid          = value_valid;
    assign value_ready        = row_ready;
    assign row                = value;
    assign row_count          = value_count;
    assign row_last           = value_last;
    assign token_ready_o      = 1'b1;
    assign full_o             = 1'b0;
    assign ended_o            = 1'b1;
    assign valid_o[0]         = 1'b0;
    assign data_o[0+:Bytes*8] = '0;
    assign strobe_o[0+:Bytes] = '0;
    assign last_o[0]          = 1'b0;
    logic unused;
    assign unused = ^{token_i, token_valid_i, ready_i[0], ends_i, levels_i};
  end

  if (Strings) begin : gen_offsets
    as_arrow_offsets #(
        .Lanes(Lanes),
        .Bytes(Bytes)
    ) i_offsets (
        .clk_i,
        .rst_ni,
        .clr_i     (clr_i || start_i),
        .valid_i   (row_valid),
        .ready_o   (row_ready),
        .length_i  (row),
        .count_i   (row_count),
        .last_i    (row_last),
        .valid_o   (valid_o[1]),
        .ready_i   (ready_i[1]),
        .data_o    (data_o[Bytes*8+:Bytes*8]),
        .strobe_o  (strobe_o[Bytes+:Bytes]),
        .last_o    (last_o[1]),
        .overflow_o
    );
  end else begin : gen_values
    assign overflow_o = 1'b0;
    as_arrow_values #(
        .ElementBits(Width),
        .Lanes(Lanes),
        .Bytes(Bytes)
    ) i_values (
        .clk_i,
        .rst_ni,
        .clr_i,
        .valid_i (row_valid),
        .ready_o (row_ready),
        .data_i  (row),
        .count_i (row_count),
        .last_i  (row_last),
        .valid_o (valid_o[1]),
        .ready_i (ready_i[1]),
        .data_o  (data_o[Bytes*8+:Bytes*8]),
        .strobe_o(strobe_o[Bytes+:Bytes]),
        .last_o  (last_o[1])
    );
    logic unused_start;
    assign unused_start = start_i;
  end

endmodule

`default_nettype wire
