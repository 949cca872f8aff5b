// SPDX-License-Identifier: Apache-2.0
// From a column chunk in memory to its pages: the ingester, the aligner and the metadata interpreter.
//
// For each page a descriptor comes out, and the page's bytes, decompressed if `Snappy`, in beats that begin with the page. Kinds of pages
// that nobody knows are passed over. The end is when the data pages have the values that were asked for, or the chunk ends; `done_o`
// holds then, with the fault if there is one.
//
// Latency: a header takes as many cycles as it has bytes, and two; it overlaps with the decoding of the page before. Throughput: a beat a
// cycle, less if Snappy.
//
// Layer: parquet.
module as_parquet_pages #(
    parameter bit          Snappy       = 1'b0,
    parameter int unsigned HistoryBytes = 65536,
    localparam int unsigned Bytes       = 64
) (
    input logic clk_i,
    input logic rst_ni,
    // Gives up: beats that are on the way are swallowed; `idle_o` says when.
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

  logic               window_ready;
  logic   [Bytes*8-1:0] window;
  logic   [     31:0] left;
  logic   [      6:0] take;
  logic               move;
  logic               window_idle;
  logic               unused_ahead_ready;
  logic   [      7:0] unused_ahead;

  as_stream_window #(
      .Bytes(Bytes),
      .LengthBits(32)
  ) i_window (
      .clk_i,
      .rst_ni,
      .start_i,
      .offset_i,
      .length_i,
      .finish_i    (state_q == Finish),
      .idle_o      (window_idle),
      .beat_valid_i,
      .beat_ready_o,
      .beat_i,
      .ready_o     (window_ready),
      .window_o    (window),
      .left_o      (left),
      .take_i      (take),
      .move_i      (move),
      .ahead_ready_o(unused_ahead_ready),
      .ahead_o     (unused_ahead)
  );

  logic header_take, header_done, header_fault, header_other, header_compressed;
  page_e header_kind;
  logic [31:0] encoding, count, uncompressed, compressed, definition_bytes, repetition_bytes;
  logic header_byte;
  // The byte at the front of the window, a register away from it.
  logic       front_valid_q;
  logic [7:0] front_q;

  assign header_byte = state_q == Header && window_ready && left != '0 && front_valid_q;

  always_ff @(posedge clk_i) begin
    if (state_q != Header) front_valid_q <= 1'b0;
    else if (window_ready) front_valid_q <= 1'b1;
    if (window_ready) front_q <= header_byte && header_take ? window[15:8] : window[7:0];
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

  // A body goes on as it is, or through the decompressor; a page that is passed over goes nowhere.
  logic        pass_q;
  logic [31:0] stored;
  logic [ 6:0] piece_bytes;
  logic [ 6:0] body_take;
  logic        body_move;
  logic        body_idle;
  logic [ 7:0] body_fault;

  assign piece_bytes = left_q >= 32'd64 ? 7'd64 : 7'(left_q);

  always_comb begin
    take = 7'd1;
    move = header_byte && header_take;
    if (state_q == Body) begin
      take = pass_q ? piece_bytes : body_take;
      move = pass_q ? window_ready : body_move;
    end
  end

  if (Snappy) begin : gen_snappy
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
        .idle_o        (body_idle),
        .fault_o       (body_fault),
        .window_ready_i(window_ready && state_q == Body),
        .window_i      (window),
        .take_o        (body_take),
        .valid_o       (body_valid_o),
        .ready_i       (body_ready_i),
        .data_o        (body_o)
    );
    assign body_move = 1'b1;
  end else begin : gen_stored
    assign body_valid_o = state_q == Body && window_ready && left_q != '0 && !pass_q;
    assign body_o       = window;
    assign body_take    = piece_bytes;
    assign body_move    = body_valid_o && body_ready_i;
    assign body_idle    = 1'b1;
    assign body_fault   = FaultNone;
    logic unused;
    assign unused = ^stored;
  end

  // What is known of the page when its header has been read.
  logic [31:0] levels;
  logic        bad_size;
  logic        passed;
  assign levels   = definition_bytes + repetition_bytes;
  assign bad_size = compressed > left || uncompressed[31] ||
                    (header_kind == PageV2 && ({1'b0, definition_bytes} + {1'b0, repetition_bytes} > {1'b0, compressed} ||
                                               levels > uncompressed)) ||
                    (!(Snappy && (header_kind != PageV2 || header_compressed)) && compressed != uncompressed);
  // Bytes of the body that are not compressed.
  assign stored   = header_kind == PageV2 ? (header_compressed ? levels : compressed) : '0;
  assign passed   = header_other || (header_kind != PageDictionary && count == '0);

  fault_e check;
  // A cycle later, when the page waits to go.
  logic   checked_q;
  fault_e check_q;
  logic   passed_q;
  logic   goes;
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
  assign idle_o       = window_idle && state_q == Finish;
  assign fault_o      = fault_q;
  assign position_o   = position_q;
  assign starved_o    = state_q inside {Header, Body} && !window_ready;

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
        end else if (window_ready && left == '0) begin
          state_q <= Finish;
          // The chunk ends between pages, too early, or inside of a header.
          fault_q <= left == 32'(length_q - position_q) ? FaultCount : FaultHeader;
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
      Begin: position_q <= length_q - left;
      // The descriptor before may still wait.
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
      end
      Body: if (move) left_q <= left_q - 32'(take);
      default: ;
    endcase
    // A page is counted when it goes out.
    if (goes && !header_other && header_kind != PageDictionary) owed_q <= owed_q - 64'(count);
  end

endmodule
