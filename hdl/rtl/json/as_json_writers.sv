// SPDX-License-Identifier: Apache-2.0
// A set of writers: turns the parsers' write commands into beats for Arrow buffers, with a packer
// for each kind of buffer.
//
// A single parser is wired to its set directly. Several parsers share a set round-robin, one step
// of one parser per cycle: each has its own rows in the packers' RAMs, after those of the parsers
// before it; the beats carry buffer numbers, which are unique already.
//
// Latency: that of as_json_pack, plus a cycle if several parsers share. Throughput: one step per
// cycle, unless it ends more than one beat. If several share, a register takes the parsers' steps;
// the beats' `ready` reaches that register, or else the parser.
//
// Layer: json.

`default_nettype none

module as_json_writers
  import as_json_pkg::*;
#(
    parameter int unsigned L = 2,
    parameter int unsigned Bytes = 16,
    parameter int unsigned Parsers = 1,
    // Of one parser; a kind without buffers has no packer.
    parameter int unsigned DataBuffers = 1,
    parameter int unsigned Counters = 1,
    parameter int unsigned ValidBuffers = 1,
    parameter int unsigned OuterBuffers = 1,
    parameter int unsigned FlagBuffers = 1,
    // For each parser: the numbers of its first buffer of data, of offsets, of validity of values,
    // of lists and objects, of flags.
    parameter logic [Parsers*5*8-1:0] First = '0,
    localparam int unsigned Sources = 5,
    localparam int unsigned PieceBits = L * 64
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic [          Parsers-1:0] op_valid_i,
    output logic [          Parsers-1:0] op_ready_o,
    input  op_t  [          Parsers-1:0] op_i,
    input  logic [Parsers*PieceBits-1:0] op_data_i,

    // High from when all parsers are done until the packers are empty.
    input  logic flush_i,
    output logic flushed_o,

    output logic [        Sources-1:0] beat_valid_o,
    input  logic [        Sources-1:0] beat_ready_i,
    output logic [      Sources*8-1:0] beat_buffer_o,
    output logic [     Sources*32-1:0] beat_number_o,
    output logic [Sources*Bytes*8-1:0] beat_data_o
);

  localparam int unsigned Rows[Sources] = '{DataBuffers, Counters, ValidBuffers, OuterBuffers, FlagBuffers};

  logic valid, ready, flush;
  op_t op;
  logic [PieceBits-1:0] data;
  logic [Sources-1:0] pack_valid, pack_ready, pack_idle;

  if (Parsers > 1) begin : gen_turns
    logic [Parsers-1:0] pick, turn_q;
    logic valid_q, step;
    op_t picked, op_q;
    logic [PieceBits-1:0] picked_data, data_q;

    // A parser's rows are after those of the parsers before it.
    function automatic op_t in_rows(input op_t one, input int unsigned parser);
      in_rows = one;
      in_rows.data_buffer  = one.data_buffer + 8'(parser * DataBuffers);
      in_rows.counter      = one.counter + 8'(parser * Counters);
      in_rows.valid_buffer = one.valid_buffer + 8'(parser * ValidBuffers);
      in_rows.outer_buffer = one.outer_buffer + 8'(parser * OuterBuffers);
      in_rows.flag_buffer  = one.flag_buffer + 8'(parser * FlagBuffers);
    endfunction

    assign pick       = Parsers'(as_stream_pkg::in_turn(64'(op_valid_i), 64'(turn_q)));
    assign step       = !valid_q || ready;
    assign op_ready_o = step ? pick : '0;
    always_comb begin
      picked      = '0;
      picked_data = '0;
      for (int unsigned p = 0; p < Parsers; p++) begin
        if (pick[p]) begin
          picked      |= in_rows(op_i[p], p);
          picked_data |= op_data_i[p*PieceBits+:PieceBits];
        end
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q <= 1'b0;
        turn_q  <= '0;
      end else if (clr_i) begin
        valid_q <= 1'b0;
        turn_q  <= '0;
      end else if (step) begin
        valid_q <= op_valid_i != '0;
        if (op_valid_i != '0) turn_q <= Parsers'(as_stream_pkg::after(64'(pick)));
      end
    end
    always_ff @(posedge clk_i) begin
      if (step) begin
        op_q   <= picked;
        data_q <= picked_data;
      end
    end

    assign valid = valid_q;
    assign op    = op_q;
    assign data  = data_q;
    // No piece may come with it.
    assign flush = flush_i && !valid_q;
  end else begin : gen_wires
    assign valid      = op_valid_i[0];
    assign op_ready_o = ready;
    assign op         = op_i[0];
    assign data       = op_data_i;
    assign flush      = flush_i;
  end

  // Offsets: elements of a list, or bytes of a string, so far.
  localparam int unsigned Sums = Counters == 0 ? 1 : Parsers * Counters;
  localparam int unsigned CounterBits = as_stream_pkg::index_bits(Sums);
  logic [31:0] sums[Sums];
  logic [Sums-1:0] counted_q;
  logic [CounterBits-1:0] counter;
  logic [31:0] sum;
  assign counter = CounterBits'(op.counter);
  assign sum     = (counted_q[counter] ? sums[counter] : '0) + (op.adds ? 32'(op.add) : '0);

  assign pack_valid = {op.has_flag, op.has_outer, op.has_valid, op.closes, op.has_data} &
                      {Sources{valid && ready}};
  assign ready      = &pack_ready;
  assign flushed_o  = &pack_idle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) counted_q <= '0;
    else if (clr_i) counted_q <= '0;
    else if (valid && ready && (op.adds || op.closes)) counted_q[counter] <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (valid && ready && (op.adds || op.closes)) sums[counter] <= sum;
  end

  // What each kind of buffer takes of a step.
  localparam int unsigned Granule[Sources] = '{8, 32, 1, 1, 1};
  localparam int unsigned Granules[Sources] = '{L * 8, 1, L, L, L};
  logic [L-1:0] values, lists;
  assign values = ~({L{1'b1}} << op.count);
  assign lists  = ~({L{1'b1}} << op.outer_count);
  logic [PieceBits-1:0] piece[Sources];
  logic [7:0] buffer[Sources];
  logic [7:0] count[Sources];
  always_comb begin
    piece[0]  = data;
    buffer[0] = op.data_buffer;
    count[0]  = op.bytes;
    piece[1]  = PieceBits'(sum);
    buffer[1] = op.counter;
    count[1]  = 8'd1;
    piece[2]  = op.valid ? PieceBits'(values) : '0;
    buffer[2] = op.valid_buffer;
    count[2]  = op.count;
    piece[3]  = op.outer ? PieceBits'(lists) : '0;
    buffer[3] = op.outer_buffer;
    count[3]  = op.outer_count;
    piece[4]  = PieceBits'(op.flag);
    buffer[4] = op.flag_buffer;
    count[4]  = op.count;
  end

  for (genvar s = 0; s < Sources; s++) begin : gen_kind
    if (Rows[s] == 0) begin : gen_none
      assign pack_ready[s]                    = 1'b1;
      assign pack_idle[s]                     = 1'b1;
      assign beat_valid_o[s]                  = 1'b0;
      assign beat_buffer_o[s*8+:8]            = '0;
      assign beat_number_o[s*32+:32]          = '0;
      assign beat_data_o[s*Bytes*8+:Bytes*8]  = '0;
    end else begin : gen_some
      logic [7:0] row;
      as_json_pack #(
          .Bytes        (Bytes),
          .GranuleBits  (Granule[s]),
          .PieceGranules(Granules[s]),
          .Buffers      (Parsers * Rows[s]),
          .Lead         (s == 1)
      ) i_pack (
          .clk_i,
          .rst_ni,
          .clr_i,
          .valid_i (pack_valid[s]),
          .ready_o (pack_ready[s]),
          .buffer_i(buffer[s]),
          .data_i  (piece[s][Granule[s]*Granules[s]-1:0]),
          .count_i (count[s]),
          .flush_i (flush),
          .idle_o  (pack_idle[s]),
          .valid_o (beat_valid_o[s]),
          .ready_i (beat_ready_i[s]),
          .buffer_o(row),
          .beat_o  (beat_number_o[s*32+:32]),
          .data_o  (beat_data_o[s*Bytes*8+:Bytes*8])
      );
      // From rows to numbers.
      always_comb begin
        beat_buffer_o[s*8+:8] = row + First[s*8+:8];
        for (int unsigned p = 1; p < Parsers; p++) begin
          if (row >= 8'(p * Rows[s])) beat_buffer_o[s*8+:8] = row + First[(p*Sources+s)*8+:8] - 8'(p * Rows[s]);
        end
      end
    end
  end

endmodule

`default_nettype wire
