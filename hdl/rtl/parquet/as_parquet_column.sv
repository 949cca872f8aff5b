// SPDX-License-Identifier: Apache-2.0
// Converts one column chunk to the buffers of one Arrow array: the full pipeline of the Parquet
// paper (Fig. 2) for one column.
//
// as_parquet_pages brings pages; levels become tokens, values go through the decoder of their
// encoding, as_parquet_expand combines both, the Arrow writers make beats. Streams to the write
// port: 0 validity, 1 values or offsets, 2 bytes of strings; streams that a column does not have
// stay idle.
//
// `Strings`: UTF-8 or binary with 32-bit offsets (Width is then 32, for lengths), else numbers of
// Width bits. `Delta`, `Plain` and `Dictionary` select the encodings it decodes. On a fault it
// stops: `fault_o` with `position_o`, the offset of the page in the chunk; `done_o` follows when no
// access is in flight. A start is taken while `done_o` is high.
//
// Throughput: 64 bytes of numbers per cycle; 64 bytes of strings per cycle after 16 lengths per
// cycle.
//
// Layer: parquet.

`default_nettype none

module as_parquet_column #(
    parameter int unsigned Width        = 64,
    parameter bit          Strings      = 1'b0,
    parameter bit          Nullable     = 1'b0,
    parameter bit          Plain        = 1'b1,
    parameter bit          Delta        = 1'b1,
    parameter bit          Dictionary   = 1'b0,
    parameter bit          Snappy       = 1'b0,
    // Limits of a dictionary: entries, and bytes of strings.
    parameter int unsigned Entries      = 4096,
    parameter int unsigned EntryBytes   = 65536,
    // Limit of a page: words of 64 levels.
    parameter int unsigned LevelWords   = 4096,
    parameter int unsigned HistoryBytes = 65536,
    localparam int unsigned Bytes       = 64
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic        start_i,
    input  logic        abort_i,
    input  logic [63:0] address_i,
    input  logic [31:0] length_i,
    input  logic [63:0] values_i,
    output logic        done_o,
    output logic [ 7:0] fault_o,
    output logic [31:0] position_o,
    output logic [63:0] rows_o,
    output logic        starved_o,
    output logic        blocked_o,

    output logic         ar_valid_o,
    input  logic         ar_ready_i,
    output logic [ 63:0] ar_addr_o,
    output logic [  7:0] ar_len_o,
    input  logic         r_valid_i,
    output logic         r_ready_o,
    input  logic [511:0] r_data_i,
    input  logic [  1:0] r_resp_i,

    output logic [          2:0] valid_o,
    input  logic [          2:0] ready_i,
    output logic [3*Bytes*8-1:0] data_o,
    output logic [  3*Bytes-1:0] strobe_o,
    output logic [          2:0] last_o
);
  import as_parquet_pkg::*;

  localparam int unsigned Lanes = 512 / Width;
  localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes);

  typedef enum logic [3:0] {
    Stopped,
    Wait,
    Size,
    Levels,
    Choose,
    Values,
    Drain,
    Finish,
    Last,
    Fault
  } state_e;

  state_e      state_q;
  logic [ 7:0] fault_q;
  logic [31:0] position_q;
  logic [63:0] rows_q;
  page_t       page_q;
  logic [31:0] count_q;
  logic        clear;

  // On a fault all state except that of memory accesses is reset until the next start.
  assign clear = state_q == Fault && !start_i;

  logic         pages_done, source_idle, source_starved, refused;
  logic  [ 7:0] pages_fault;
  logic  [31:0] pages_position;
  logic         page_valid, page_begins;
  page_t        page;
  logic         body_idle, window_ready, window_dry;
  logic [511:0] window;
  logic [ 31:0] left;
  logic [  6:0] take;
  logic         move;
  logic [  7:0] ahead;
  logic         ahead_ready;
  logic [143:0] ahead_bytes;

  as_parquet_source #(
      .Snappy(Snappy),
      .HistoryBytes(HistoryBytes)
  ) i_source (
      .clk_i,
      .rst_ni,
      .clr_i         (clear),
      .start_i,
      .address_i,
      .length_i,
      .values_i,
      .idle_o        (source_idle),
      .done_o        (pages_done),
      .fault_o       (pages_fault),
      .position_o    (pages_position),
      .starved_o     (source_starved),
      .refused_o     (refused),
      .ar_valid_o,
      .ar_ready_i,
      .ar_addr_o,
      .ar_len_o,
      .r_valid_i,
      .r_ready_o,
      .r_data_i,
      .r_resp_i,
      .begin_i       (state_q == Wait),
      .page_begins_o (page_begins),
      .page_valid_o  (page_valid),
      .page_o        (page),
      .finish_i      (state_q == Finish),
      .window_idle_o (body_idle),
      .window_dry_o  (window_dry),
      .window_ready_o(window_ready),
      .window_o      (window),
      .left_o        (left),
      .take_i        (take),
      .move_i        (move),
      .ahead_i       (ahead),
      .ahead_ready_o (ahead_ready),
      .ahead_o       (ahead_bytes)
  );

  // Levels.
  logic        levels_start, levels_idle;
  logic [ 7:0] levels_fault;
  logic [31:0] levels_bytes, levels_valid;
  logic [ 6:0] levels_take;
  logic        levels_move;
  logic        token_valid, token_ready, token_full;
  logic [96:0] token;

  if (Nullable) begin : gen_levels
    as_parquet_levels i_levels (
        .clk_i,
        .rst_ni,
        .clr_i         (clear),
        .start_i       (levels_start),
        .count_i       (page_q.count),
        .bytes_i       (levels_bytes),
        .idle_o        (levels_idle),
        .fault_o       (levels_fault),
        .valid_count_o (levels_valid),
        .window_ready_i(window_ready && state_q == Levels),
        .window_i      (window[63:0]),
        .take_o        (levels_take),
        .move_o        (levels_move),
        .token_valid_o (token_valid),
        .token_ready_i (token_ready),
        .token_o       (token)
    );
  end else begin : gen_no_levels
    // A page of version 2 may have levels even so: they carry no information.
    logic [31:0] skip_q;
    assign levels_idle  = skip_q == '0;
    assign levels_fault = FaultNone;
    assign levels_valid = '0;
    assign levels_take  = skip_q < 32'd64 ? 7'(skip_q) : 7'd64;
    assign levels_move  = window_ready && skip_q != '0;
    assign token_valid  = 1'b0;
    assign token        = '0;
    logic unused;
    assign unused = token_ready;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) skip_q <= '0;
      else if (clear) skip_q <= '0;
      else if (levels_start) skip_q <= levels_bytes;
      else if (state_q == Levels && levels_move) skip_q <= skip_q - 32'(levels_take);
    end
  end

  logic                   values_known, values_busy, values_move, values_ended;
  logic [            7:0] values_fault;
  logic [            6:0] values_take;
  logic                   piece_valid, piece_ready, piece_last;
  logic [Lanes*Width-1:0] piece;
  logic [  CountBits-1:0] piece_count;

  as_parquet_values #(
      .Width(Width),
      .Strings(Strings),
      .Plain(Plain),
      .Delta(Delta),
      .Dictionary(Dictionary),
      .Entries(Entries),
      .EntryBytes(EntryBytes)
  ) i_values (
      .clk_i,
      .rst_ni,
      .clr_i         (clear),
      .start_i,
      .begin_i       (state_q == Choose),
      .page_i        (page_q),
      .count_i       (count_q),
      .known_o       (values_known),
      .values_i      (state_q == Values),
      .busy_o        (values_busy),
      .fault_o       (values_fault),
      .window_ready_i(window_ready),
      .window_i      (window),
      .left_i        (left),
      .take_o        (values_take),
      .move_o        (values_move),
      .ahead_o       (ahead),
      .ahead_ready_i (ahead_ready),
      .ahead_i       (ahead_bytes),
      .ends_i        (state_q == Last),
      .ended_o       (values_ended),
      .piece_valid_o (piece_valid),
      .piece_ready_i (piece_ready),
      .piece_o       (piece),
      .piece_count_o (piece_count),
      .piece_last_o  (piece_last),
      .valid_o       (valid_o[2]),
      .ready_i       (ready_i[2]),
      .data_o        (data_o[2*Bytes*8+:Bytes*8]),
      .strobe_o      (strobe_o[2*Bytes+:Bytes]),
      .last_o        (last_o[2])
  );

  logic rows_ended, overflow;

  as_parquet_rows #(
      .Width(Width),
      .Strings(Strings),
      .Nullable(Nullable),
      .LevelWords(LevelWords)
  ) i_rows (
      .clk_i,
      .rst_ni,
      .clr_i        (clear),
      .start_i,
      .piece_valid_i(piece_valid),
      .piece_ready_o(piece_ready),
      .piece_i      (piece),
      .piece_count_i(piece_count),
      .piece_last_i (piece_last),
      .token_valid_i(token_valid),
      .token_ready_o(token_ready),
      .token_i      (token),
      .ends_i       (state_q == Last),
      .ended_o      (rows_ended),
      .levels_i     (state_q == Levels),
      .full_o       (token_full),
      .overflow_o   (overflow),
      .valid_o      (valid_o[1:0]),
      .ready_i      (ready_i[1:0]),
      .data_o       (data_o[2*Bytes*8-1:0]),
      .strobe_o     (strobe_o[2*Bytes-1:0]),
      .last_o       (last_o[1:0])
  );

  // A V1 page's levels begin with their length; a V2 page has it in the header.
  logic levels_begin_q;
  logic size_bad;
  // The length, registered after the window.
  logic size_seen_q;
  logic [31:0] size_q;
  assign size_bad     = left < 32'd4 || size_q > left - 32'd4;
  assign levels_start = (Nullable && state_q == Size && size_seen_q && !size_bad) || (state_q == Levels && levels_begin_q);
  assign levels_bytes = Nullable && state_q == Size ? size_q : page_q.definition_bytes;

  always_comb begin
    take = 7'd4;
    move = 1'b0;
    unique case (state_q)
      Size: move = size_seen_q && !size_bad;
      Levels: begin
        take = levels_take;
        move = levels_move;
      end
      Values: begin
        take = values_take;
        move = values_move;
      end
      default: ;
    endcase
  end

  assign done_o     = (state_q == Stopped || state_q == Fault) && source_idle;
  assign fault_o    = fault_q;
  assign position_o = position_q;
  assign rows_o     = rows_q;
  assign starved_o  = source_starved && state_q != Fault;
  assign blocked_o  = |(valid_o & ~ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Stopped;
      fault_q <= FaultNone;
    end else if (start_i) begin
      state_q <= Wait;
      fault_q <= FaultNone;
    end else begin
      unique case (state_q)
        Wait: begin
          if (page_begins) begin
            state_q <= page.kind == PageDictionary ? Choose : page.kind == PageV2 ? Levels : Nullable ? Size : Choose;
          end else if (pages_done && !page_valid) begin
            state_q <= Last;
            if (pages_fault != FaultNone) stop(pages_fault);
          end
        end
        Size: begin
          if (size_seen_q) state_q <= Levels;
          if (size_seen_q && size_bad) stop(FaultLevels);
        end
        Levels: begin
          if (!levels_start && levels_idle) state_q <= Choose;
          if (levels_fault != FaultNone) stop(levels_fault);
          else if (token_full) stop(FaultLevelsMany);
        end
        Choose: begin
          state_q <= Values;
          if (!values_known) stop(FaultEncoding);
        end
        Values: begin
          if (!values_busy) state_q <= Drain;
          if (values_fault != FaultNone) stop(values_fault);
        end
        Drain:  state_q <= Finish;
        Finish: if (body_idle) state_q <= Wait;
        Last: begin
          if (values_ended && rows_ended) state_q <= Stopped;
        end
        default: ;
      endcase
      if (state_q != Stopped && state_q != Fault) begin
        if (overflow) stop(FaultOffsets);
        if (refused) stop(FaultMemory);
        if (abort_i) stop(FaultAborted);
        // The bytes of this page will never come.
        if (pages_done && pages_fault != FaultNone && state_q inside {Size, Levels, Values, Finish} && window_dry) begin
          if (state_q != Finish || !body_idle) stop(pages_fault);
        end
      end
    end
  end

  task automatic stop(input logic [7:0] why);
    state_q <= Fault;
    fault_q <= why;
  endtask

  always_ff @(posedge clk_i) begin
    levels_begin_q <= state_q == Wait && page.kind == PageV2;
    size_seen_q    <= state_q == Size && window_ready && !size_seen_q;
    size_q         <= window[31:0];
    if (start_i) begin
      rows_q <= '0;
    end else if (state_q == Finish && body_idle && page_q.kind != PageDictionary) begin
      rows_q <= rows_q + 64'(page_q.count);
    end
    if (state_q == Wait) begin
      page_q <= page;
    end
    if (state_q != Stopped && state_q != Fault) begin
      position_q <= pages_fault != FaultNone && (state_q == Wait || !window_ready) ? pages_position : page_q.position;
    end
    if (state_q == Wait && page_valid) count_q <= page.count;
    if (state_q == Levels && levels_idle && Nullable) count_q <= levels_valid;
  end

endmodule

`default_nettype wire
