// SPDX-License-Identifier: Apache-2.0
// Splits a column chunk in memory into its pages: the ingester and the metadata interpreter.
//
// For each page it outputs a descriptor and the beats that hold its bytes: the descriptor's
// `offset` is the position of the first byte in the first beat. A beat shared by two pages goes out
// for both, so no shifter is needed here. If `Snappy`, a page is decompressed and starts at the
// beginning of a beat. Unknown kinds of pages are skipped. It ends when the data pages have the
// requested number of values, or the chunk ends; then `done_o` holds, with the fault if there is
// one.
//
// Latency: a header takes one cycle per byte, one more in every beat, and four; it overlaps with
// decoding the previous page. Throughput: one beat per cycle, less if Snappy.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_pages #(
    parameter bit          Snappy       = 1'b0,
    parameter int unsigned HistoryBytes = 65536,
    localparam int unsigned Bytes       = 64
) (
    input logic clk_i,
    input logic rst_ni,
    // Gives up: beats in flight are discarded; `idle_o` is high once they have all arrived.
    input logic clr_i,

    input  logic        start_i,
    input  logic [ 5:0] offset_i,
    input  logic [31:0] length_i,
    input  logic [63:0] values_i,
    output logic        done_o,
    output logic        idle_o,
    output logic [ 7:0] fault_o,
    output logic [31:0] position_o,
    output logic        starved_o,

    input  logic               beat_valid_i,
    output logic               beat_ready_o,
    input  logic [Bytes*8-1:0] beat_i,

    output logic                  page_valid_o,
    input  logic                  page_ready_i,
    output as_parquet_pkg::page_t page_o,

    output logic               body_valid_o,
    input  logic               body_ready_i,
    output logic [Bytes*8-1:0] body_o
);
  import as_parquet_pkg::*;

  typedef enum logic [2:0] {
    Begin,
    Header,
    Check,
    Body,
    Finish
  } state_e;

  state_e             state_q;
  logic   [     31:0] length_q;
  logic   [     63:0] owed_q;
  logic   [     31:0] position_q;
  logic   [     31:0] left_q;
  logic   [      7:0] fault_q;
  page_t              page_q;
  logic               page_valid_q;

  // The position of the next byte in the offered beat, that of the byte after it, and the bytes of
  // the chunk left from there.
  logic   [      5:0] at_q;
  logic   [      5:0] after_q;
  logic   [     31:0] rest_q;
  logic   [     26:0] beats_q;
  logic   [     32:0] span;
  logic               pop;
  logic               swallow;
  // A piece of a body: its bytes within this beat.
  logic   [      6:0] here;
  logic   [      6:0] piece;
  logic               body_beat;
  logic               body_ready;

  logic unused_span;
  assign unused_span  = ^span[5:0];
  assign span         = 33'(length_i) + 33'(offset_i) + 33'd63;
  assign here         = 7'd64 - 7'(at_q);
  assign piece        = left_q < 32'(here) ? 7'(left_q) : here;
  assign swallow      = state_q == Finish && beats_q != '0;
  assign body_beat    = state_q == Body && left_q != '0 && beat_valid_i;
  assign beat_ready_o = pop || swallow;

  logic header_take, header_done, header_fault, header_other, header_compressed;
  page_e header_kind;
  logic [31:0] encoding, count, uncompressed, compressed, definition_bytes, repetition_bytes;
  logic header_byte;
  // The next byte, registered.
  logic       front_valid_q;
  logic [7:0] front_q;
  logic [7:0] front;

  // A body that is discarded: its page is skipped, or has no values.
  logic       pass_q;
  // A page with a valid header is output; of one without values only the header.
  logic       goes;
  logic       passed_q;

  assign header_byte = state_q == Header && front_valid_q;

  as_funnel #(
      .Unit  (8),
      .In    (64),
      .Out   (1),
      .AtBits(6)
  ) i_front (
      .data_i(beat_i),
      .at_i  (header_byte && header_take ? after_q : at_q),
      .data_o(front)
  );

  always_comb begin
    pop = 1'b0;
    if (header_byte && header_take) pop = at_q == '1;
    if (body_beat && (pass_q || body_ready)) pop = piece == here;
  end

  always_ff @(posedge clk_i) begin
    front_valid_q <= state_q == Header && beat_valid_i &&
                     (header_byte && header_take ? at_q != '1 && rest_q[31:1] != '0 : rest_q != '0);
    front_q       <= front;
    if (state_q == Finish && start_i) begin
      at_q     <= offset_i;
      after_q  <= offset_i + 6'd1;
      rest_q   <= length_i;
      beats_q  <= length_i == '0 ? '0 : span[32:6];
    end else begin
      if (header_byte && header_take) begin
        at_q     <= after_q;
        after_q  <= after_q + 6'd1;
        rest_q   <= rest_q - 32'd1;
      end
      if (body_beat && (pass_q || body_ready)) begin
        at_q     <= at_q + 6'(piece);
        after_q  <= at_q + 6'(piece) + 6'd1;
        rest_q   <= rest_q - 32'(piece);
      end
      if (beat_valid_i && beat_ready_o) beats_q <= beats_q - 27'd1;
    end
  end

  as_parquet_header i_header (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i           (state_q == Begin),
      .valid_i           (header_byte),
      .take_o            (header_take),
      .byte_i            (front_q),
      .done_o            (header_done),
      .fault_o           (header_fault),
      .other_o           (header_other),
      .kind_o            (header_kind),
      .encoding_o        (encoding),
      .count_o           (count),
      .uncompressed_o    (uncompressed),
      .compressed_o      (compressed),
      .definition_bytes_o(definition_bytes),
      .repetition_bytes_o(repetition_bytes),
      .is_compressed_o   (header_compressed)
  );

  // A body goes out unchanged, or through the decompressor.
  logic [31:0] stored;
  logic        body_idle;
  logic [ 7:0] body_fault;

  if (Snappy) begin : gen_snappy
    logic         window_idle, window_ready, snappy_idle, begun_q;
    logic [511:0] window;
    logic [ 31:0] window_left;
    logic [  6:0] take;
    logic         move;
    logic         unused_ready;
    logic [  7:0] unused_ahead;

    as_stream_window #(
        .Bytes     (64),
        .LengthBits(32)
    ) i_window (
        .clk_i,
        .rst_ni,
        .clr_i,
        .start_i      (goes && !passed_q),
        .offset_i     (at_q),
        .length_i     (compressed),
        .finish_i     (begun_q && snappy_idle),
        .idle_o       (window_idle),
        .beat_valid_i (body_beat && !pass_q),
        .beat_ready_o (body_ready),
        .beat_i,
        .ready_o      (window_ready),
        .window_o     (window),
        .left_o       (window_left),
        .take_i       (take),
        .move_i       (move),
        .ahead_ready_o(unused_ready),
        .ahead_o      (unused_ahead)
    );

    as_parquet_snappy #(
        .HistoryBytes(HistoryBytes)
    ) i_snappy (
        .clk_i,
        .rst_ni,
        .clr_i,
        .start_i       (goes && !passed_q),
        .bytes_i       (uncompressed),
        .stored_i      (stored),
        .left_i        (compressed),
        .idle_o        (snappy_idle),
        .fault_o       (body_fault),
        .window_ready_i(window_ready),
        .window_i      (window),
        .take_o        (take),
        .move_o        (move),
        .valid_o       (body_valid_o),
        .ready_i       (body_ready_i),
        .data_o        (body_o)
    );

    // The decompressor has begun too, a cycle after the window.
    always_ff @(posedge clk_i) begun_q <= !window_idle;

    assign body_idle = snappy_idle && window_idle;
    logic unused;
    assign unused = ^window_left;
  end else begin : gen_stored
    assign body_valid_o = body_beat && !pass_q;
    assign body_o       = beat_i;
    assign body_ready   = body_ready_i;
    assign body_idle    = 1'b1;
    assign body_fault   = FaultNone;
    logic unused;
    assign unused = ^stored;
  end

  // The page's fields once its header has been read.
  logic [31:0] levels;
  logic        bad_size;
  logic        passed;
  assign levels   = definition_bytes + repetition_bytes;
  assign bad_size = compressed > rest_q || uncompressed[31] ||
                    (header_kind == PageV2 && ({1'b0, definition_bytes} + {1'b0, repetition_bytes} > {1'b0, compressed} ||
                                               levels > uncompressed)) ||
                    (!(Snappy && (header_kind != PageV2 || header_compressed)) && compressed != uncompressed);
  // Uncompressed bytes of the body.
  assign stored   = header_kind == PageV2 ? (header_compressed ? levels : compressed) : '0;
  assign passed   = header_other || (header_kind != PageDictionary && count == '0);

  fault_e check;
  // A cycle later, when the page waits to go out.
  logic   checked_q;
  fault_e check_q;
  always_comb begin
    check = FaultNone;
    if (header_fault) check = FaultHeader;
    else if (bad_size) check = FaultPage;
    else if (header_other) check = FaultNone;
    else if (encoding > 32'd15) check = FaultEncoding;
    else if (header_kind != PageDictionary && 64'(count) > owed_q) check = FaultCount;
    else if (header_kind == PageV2 && repetition_bytes != '0) check = FaultLevels;
  end
  assign goes = state_q == Check && checked_q && check_q == FaultNone && !page_valid_q && body_idle;

  always_ff @(posedge clk_i) begin
    checked_q <= state_q == Check;
    check_q   <= check;
    passed_q  <= passed;
  end

  assign page_valid_o = page_valid_q;
  assign page_o       = page_q;
  assign done_o       = state_q == Finish;
  assign idle_o       = state_q == Finish && beats_q == '0;
  assign fault_o      = fault_q;
  assign position_o   = position_q;
  assign starved_o    = state_q inside {Header, Body} && !beat_valid_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= Finish;
      page_valid_q <= 1'b0;
      fault_q      <= FaultNone;
    end else if (clr_i) begin
      state_q      <= Finish;
      page_valid_q <= 1'b0;
      fault_q      <= FaultNone;
    end else begin
      if (page_ready_i) page_valid_q <= 1'b0;
      unique case (state_q)
        Finish:
        if (start_i) begin
          state_q <= values_i == '0 ? Finish : Begin;
          fault_q <= FaultNone;
        end
        Begin: begin
          state_q <= Header;
        end
        Header:
        if (header_done) begin
          state_q <= Check;
        end else if (rest_q == '0) begin
          state_q <= Finish;
          // The chunk ends between pages, too early, or inside of a header.
          fault_q <= position_q == length_q ? FaultCount : FaultHeader;
        end
        Check:
        if (checked_q && check_q != FaultNone) begin
          state_q <= Finish;
          fault_q <= check_q;
        end else if (goes) begin
          page_valid_q <= !passed_q;
          state_q      <= Body;
        end
        Body: begin
          if (body_fault != FaultNone) begin
            state_q <= Finish;
            fault_q <= body_fault;
          end else if (left_q == '0 && body_idle) begin
            state_q <= owed_q == '0 ? Finish : Begin;
          end
        end
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Finish:
      if (start_i) begin
        length_q   <= length_i;
        owed_q     <= values_i;
        position_q <= '0;
      end
      Begin: position_q <= length_q - rest_q;
      // The previous descriptor may still wait.
      Check:
      if (goes) begin
        left_q                  <= compressed;
        pass_q                  <= passed_q;
        page_q.kind             <= header_kind;
        page_q.encoding         <= encoding[3:0];
        page_q.count            <= count;
        page_q.bytes            <= uncompressed;
        page_q.definition_bytes <= definition_bytes;
        page_q.position         <= position_q;
        page_q.offset           <= Snappy ? '0 : at_q;
      end
      Body: if (body_beat && (pass_q || body_ready)) left_q <= left_q - 32'(piece);
      default: ;
    endcase
    // A page is counted when it goes out.
    if (goes && !header_other && header_kind != PageDictionary) owed_q <= owed_q - 64'(count);
  end

  `AS_STREAM_STABLE(page, page_valid_o, page_ready_i, page_o, clr_i)
  `AS_STREAM_STABLE(body, body_valid_o, body_ready_i, body_o, clr_i)

endmodule

`default_nettype wire
