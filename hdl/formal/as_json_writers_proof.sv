// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_writers, with a set for one parser or shared by two, for one arbitrary parser
// and buffer: the parser's elements for the buffer come out as pieces of that buffer, in order,
// each once, offsets summed up; after a flush nothing is missing, and the next run starts empty.
// Offered beats do not change, none is for a buffer that does not exist, a step is taken while
// beats are, and a parser waits for at most one turn of the other.
//
// The packers are stubs that make a beat of every piece; as_json_pack_proof covers the packing.
// Pieces have one or two bytes.

`default_nettype none

module as_json_writers_proof
  import as_json_pkg::*;
(
    input logic               clk_i,
    input logic               parser_i,
    input logic               row_i,
    input logic       [  1:0] valid_i,
    input op_t        [  1:0] op_i,
    input logic       [ 31:0] data_i,
    input logic               flush_i,
    input logic               clr_i,
    input logic       [  4:0] ready_i
);

  parameter bit Shared = 1'b0;
  localparam int unsigned Parsers = Shared ? 2 : 1;
  localparam int unsigned L = 2;
  localparam int unsigned Bytes = 8;
  localparam int unsigned Sources = 5;
  // For each parser: how many buffers of each kind, and the first of them.
  localparam int unsigned Rows[Sources] = '{2, 2, 1, 1, 1};
  localparam logic [2*Sources*8-1:0] First = {8'd23, 8'd22, 8'd21, 8'd17, 8'd12, 8'd6, 8'd5, 8'd4, 8'd2, 8'd0};
  localparam int unsigned Width = $bits(op_t) + 16;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The checked parser and buffers are chosen in the first cycle.
  logic parser_q = 1'b0, row_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      parser_q <= Shared && parser_i;
      row_q    <= row_i;
    end
  end

  // Input of the parsers: one or two bytes per step, for buffers that they have. Once they are
  // done, nothing more comes until the next run.
  logic [Parsers-1:0] valid, ready;
  op_t [Parsers-1:0] op;
  logic [Parsers-1:0][127:0] data;
  logic flush, flush_q = 1'b0, flushed, clear;
  for (genvar p = 0; p < Parsers; p++) begin : gen_parser
    op_t made;
    logic [15:0] bytes;
    logic [Width-1:0] offered;
    always_comb begin
      made              = op_i[p];
      made.bytes        = op_i[p].bytes[0] ? 8'd2 : 8'd1;
      made.data_buffer  = 8'(op_i[p].data_buffer[0]);
      made.counter      = 8'(op_i[p].counter[0]);
      made.valid_buffer = '0;
      made.outer_buffer = '0;
      made.flag_buffer  = '0;
      // A flag that is high comes alone.
      made.count        = op_i[p].count[0] && !(op_i[p].has_flag && op_i[p].flag) ? 8'd2 : 8'd1;
      made.outer_count  = op_i[p].outer_count[0] ? 8'd2 : 8'd1;
      bytes             = {op_i[p].bytes[0] ? data_i[p*16+8+:8] : 8'd0, data_i[p*16+:8]};
    end
    as_stream_source #(
        .Width(Width)
    ) i_source (
        .clk_i,
        .rst_ni (rst_n),
        .valid_i(valid_i[p] && !flush_q),
        .data_i ({made, bytes}),
        .ready_i(ready[p]),
        .valid_o(valid[p]),
        .data_o (offered)
    );
    assign op[p]   = op_t'(offered[Width-1:16]);
    assign data[p] = 128'(offered[15:0]);
  end
  assign flush = rst_n && (flush_q || (flush_i && valid == '0));
  assign clear = flush && flushed && clr_i;
  always_ff @(posedge clk_i) flush_q <= flush && !clear;

  logic [Sources-1:0] beat_valid;
  logic [Sources*8-1:0] beat_buffer;
  logic [Sources*32-1:0] beat_number;
  logic [Sources*64-1:0] beat;
  as_json_writers #(
      .L           (L),
      .Bytes       (Bytes),
      .Parsers     (Parsers),
      .DataBuffers (Rows[0]),
      .Counters    (Rows[1]),
      .ValidBuffers(Rows[2]),
      .OuterBuffers(Rows[3]),
      .FlagBuffers (Rows[4]),
      .First       (First[Parsers*Sources*8-1:0])
  ) i_writers (
      .clk_i,
      .rst_ni       (rst_n),
      .clr_i        (clear),
      .op_valid_i   (valid),
      .op_ready_o   (ready),
      .op_i         (op),
      .op_data_i    (data),
      .flush_i      (flush),
      .flushed_o    (flushed),
      .beat_valid_o (beat_valid),
      .beat_ready_i (ready_i),
      .beat_buffer_o(beat_buffer),
      .beat_number_o(beat_number),
      .beat_data_o  (beat)
  );

  // The step of the checked parser; if parsers share, it goes through a register, and leaves it
  // when all packers take it.
  logic take, moves, give, counts;
  op_t given;
  logic [15:0] bytes;
  assign take  = rst_n && valid[parser_q] && ready[parser_q];
  assign moves = (~beat_valid | ready_i) == '1;
  logic late_q = 1'b0;
  if (Shared) begin : gen_late
    op_t op_q;
    logic [15:0] bytes_q;
    always_ff @(posedge clk_i) begin
      late_q <= take || (late_q && !moves);
      if (take) begin
        op_q    <= op[parser_q];
        bytes_q <= data[parser_q][15:0];
      end
    end
    assign give  = late_q && moves;
    assign given = op_q;
    assign bytes = bytes_q;
  end else begin : gen_now
    assign give  = take;
    assign given = op[0];
    assign bytes = data[0][15:0];
  end

  // Its checked counter, modulo 1024.
  logic [9:0] sum_q = '0, sum;
  assign counts = given.counter == 8'(row_q);
  assign sum    = sum_q + (given.adds ? 10'(given.add) : 10'd0);
  always_ff @(posedge clk_i) begin
    if (clear) sum_q <= '0;
    else if (give && counts) sum_q <= sum;
  end

  // Its elements for the checked buffers.
  logic [Sources-1:0] has;
  logic [7:0] count[Sources];
  logic [15:0] piece[Sources];
  assign has      = {given.has_flag, given.has_outer, given.has_valid, given.closes && counts, given.has_data && given.data_buffer == 8'(row_q)};
  assign count    = '{given.bytes, 8'd1, given.count, given.outer_count, given.count};
  assign piece[0] = bytes;
  assign piece[1] = 16'(sum);
  assign piece[2] = 16'({given.valid && given.count == 8'd2, given.valid});
  assign piece[3] = 16'({given.outer && given.outer_count == 8'd2, given.outer});
  assign piece[4] = 16'(given.flag);

  // Each packer has at most one piece, which is offered; whether it is of the checked buffer.
  logic [Sources-1:0] packed_q = '0;
  for (genvar s = 0; s < Sources; s++) begin : gen_kind
    logic [7:0] buffer, first;
    logic [31:0] number;
    assign buffer = beat_buffer[s*8+:8];
    assign number = beat_number[s*32+:32];
    assign first  = (parser_q ? First[(Sources+s)*8+:8] : First[s*8+:8]) + (Rows[s] > 1 ? 8'(row_q) : 8'd0);

    logic kept;
    as_stream_rules #(
        .Width(104)
    ) i_output (
        .clk_i,
        .rst_ni (rst_n),
        .valid_i(beat_valid[s]),
        .ready_i(ready_i[s]),
        .data_i ({buffer, number, beat[s*64+:64]}),
        .kept_o (kept)
    );

    logic in, out;
    logic [1:0] pieces_q = '0;
    logic [23:0] wanted_q;
    logic [15:0] content;
    assign content = s == 1 ? 16'(beat[s*64+:10]) : beat[s*64+:16];
    assign in  = give && has[s];
    assign out = rst_n && beat_valid[s] && ready_i[s] && buffer == first;
    always_ff @(posedge clk_i) begin
      packed_q[s] <= in || (packed_q[s] && !out);
      pieces_q    <= clear ? '0 : pieces_q + 2'(out);
      if (in) wanted_q <= {count[s], piece[s]};
    end

    always_comb begin
      if (rst_n) begin
        assert (kept);
        assert (packed_q[s] == (beat_valid[s] && buffer == first));
        if (packed_q[s]) assert ({number[7:0], content} == wanted_q && number[31:8] == 24'(pieces_q));
        if (beat_valid[s]) begin
          assert (buffer - First[s*8+:8] < 8'(Rows[s]) || (Shared && buffer - First[(Sources+s)*8+:8] < 8'(Rows[s])));
        end
      end
    end
  end

  // Turns of the other parser while this one waits.
  logic [1:0] others_q = '0;
  always_ff @(posedge clk_i) begin
    if (take || !valid[parser_q]) others_q <= '0;
    else if (rst_n && (valid & ready) != '0) others_q <= others_q + 1'b1;
  end
  always_comb begin
    if (rst_n) begin
      if (valid != '0 && ready_i == '1) assert ((valid & ready) != '0);
      assert (others_q < 2'd2 && !(take && late_q && !moves));
      if (flush && flushed) assert (!late_q && beat_valid == '0);
    end
  end

endmodule

`default_nettype wire
