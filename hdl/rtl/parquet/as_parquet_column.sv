// SPDX-License-Identifier: Apache-2.0
// One column chunk → the buffers of one Arrow array: all of the Parquet paper's pipeline (Fig. 2) for one column.
//
// as_parquet_pages brings pages; levels become tokens, values go through the decoder of their encoding, as_parquet_expand brings both
// together, the Arrow writers make beats. Streams to the write port: 0 validity, 1 values or offsets, 2 bytes of strings; those
// that a column does not have stay silent.
//
// `Strings`: UTF-8 or binary with 32-bit offsets (Width is 32 then, for lengths), else numbers of Width bits. `Delta`, `Plain` and `Dictionary`
// say which encodings it decodes. On a fault it gives up: `fault_o` with `position_o`, the offset of the page in the chunk; `done_o`
// follows when nothing is on the way. A start is taken while `done_o` is high.
//
// Throughput: 64 bytes of numbers a cycle, 64 bytes of strings a cycle after 16 lengths a cycle.
//
// Layer: parquet.
module as_parquet_column #(
    parameter int unsigned Width        = 64,
    parameter bit          Strings      = 1'b0,
    parameter bit          Nullable     = 1'b0,
    parameter bit          Plain        = 1'b1,
    parameter bit          Delta        = 1'b1,
    parameter bit          Dictionary   = 1'b0,
    parameter bit          Snappy       = 1'b0,
    // Entries, and bytes of strings, of a dictionary at most.
    parameter int unsigned Entries      = 4096,
    parameter int unsigned EntryBytes   = 65536,
    // Words of 64 levels of a page at most.
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
  localparam int unsigned ValueBytes = Width / 8;

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

  // Everything behind the memory is forgotten on a fault, until the next start.
  assign clear = state_q == Fault && !start_i;

  // The ingester.
  logic         reader_ready;
  logic         beat_valid, beat_ready, beat_error;
  logic [511:0] beat;
  logic         fifo_valid, fifo_ready;
  logic [511:0] fifo_beat;

  as_axi_reader #(
      .Bytes(Bytes),
      .BurstBeats(16)
  ) i_reader (
      .clk_i,
      .rst_ni,
      .request_valid_i(start_i),
      .request_ready_o(reader_ready),
      .address_i,
      .length_i,
      .ar_valid_o,
      .ar_ready_i,
      .ar_addr_o,
      .ar_len_o,
      .r_valid_i,
      .r_ready_o,
      .r_data_i,
      .r_resp_i,
      .beat_valid_o   (beat_valid),
      .beat_ready_i   (beat_ready),
      .beat_o         (beat),
      .beat_error_o   (beat_error)
  );

  as_fifo #(
      .Width(512),
      .Depth(64)
  ) i_beats (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(beat_valid),
      .ready_o(beat_ready),
      .data_i (beat),
      .valid_o(fifo_valid),
      .ready_i(fifo_ready),
      .data_o (fifo_beat)
  );

  logic         pages_done, pages_idle, pages_starved;
  logic  [ 7:0] pages_fault;
  logic  [31:0] pages_position;
  logic         page_valid, page_ready;
  page_t        page;
  logic         body_valid, body_ready;
  logic [511:0] body;
  logic         queue_valid, queue_ready;
  logic [511:0] queue;

  as_parquet_pages #(
      .Snappy(Snappy),
      .HistoryBytes(HistoryBytes)
  ) i_pages (
      .clk_i,
      .rst_ni,
      .clr_i       (clear),
      .start_i,
      .offset_i    (address_i[5:0]),
      .length_i,
      .values_i,
      .done_o      (pages_done),
      .idle_o      (pages_idle),
      .fault_o     (pages_fault),
      .position_o  (pages_position),
      .starved_o   (pages_starved),
      .beat_valid_i(fifo_valid),
      .beat_ready_o(fifo_ready),
      .beat_i      (fifo_beat),
      .page_valid_o(page_valid),
      .page_ready_i(page_ready),
      .page_o      (page),
      .body_valid_o(body_valid),
      .body_ready_i(body_ready),
      .body_o      (body)
  );

  as_fifo #(
      .Width(512),
      .Depth(64)
  ) i_bodies (
      .clk_i,
      .rst_ni,
      .clr_i  (clear),
      .valid_i(body_valid),
      .ready_o(body_ready),
      .data_i (body),
      .valid_o(queue_valid),
      .ready_i(queue_ready),
      .data_o (queue)
  );

  logic         body_idle, window_ready;
  logic [511:0] window;
  logic [ 31:0] left;
  logic [  6:0] take;
  logic         move;
  logic [  7:0] ahead;
  logic         ahead_ready;
  logic [143:0] ahead_bytes;

  assign page_ready = state_q == Wait && body_idle;

  as_stream_window #(
      .Bytes(Bytes),
      .LengthBits(32),
      .AheadBytes(18)
  ) i_body (
      .clk_i,
      .rst_ni,
      .clr_i       (clear),
      .start_i     (page_ready && page_valid),
      .offset_i    (6'd0),
      .length_i    (page.bytes),
      .finish_i    (state_q == Finish),
      .idle_o      (body_idle),
      .beat_valid_i(queue_valid),
      .beat_ready_o(queue_ready),
      .beat_i      (queue),
      .ready_o     (window_ready),
      .window_o    (window),
      .left_o      (left),
      .take_i      (take),
      .move_i      (move),
      .ahead_i     (ahead),
      .ahead_ready_o(ahead_ready),
      .ahead_o     (ahead_bytes)
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
    // A page of version 2 may have levels all the same: they say nothing.
    logic [31:0] skip_q;
    assign levels_idle  = skip_q == '0;
    assign levels_fault = FaultNone;
    assign levels_valid = '0;
    assign levels_take  = skip_q < 32'd64 ? 7'(skip_q) : 7'd64;
    assign levels_move  = window_ready && skip_q != '0;
    assign token_valid  = 1'b0;
    assign token        = '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) skip_q <= '0;
      else if (clear) skip_q <= '0;
      else if (levels_start) skip_q <= levels_bytes;
      else if (state_q == Levels && levels_move) skip_q <= skip_q - 32'(levels_take);
    end
  end

  // PLAIN numbers are the window itself.
  logic                 plain_run_q;
  logic [         31:0] plain_left_q;
  logic [CountBits-1:0] plain_count;
  logic [          6:0] plain_bytes;
  logic                 plain_head;
  logic                 plain_put;
  logic                 plain_short;

  // DELTA_BINARY_PACKED, and the lengths of DELTA_LENGTH_BYTE_ARRAY.
  logic                   delta_start, delta_idle, delta_empty;
  logic [            7:0] delta_fault;
  logic [            6:0] delta_take;
  logic                   delta_move;
  logic                   delta_valid, delta_ready;
  logic [Lanes*Width-1:0] delta_data;
  logic [  CountBits-1:0] delta_count;

  if (Delta) begin : gen_delta
    as_parquet_delta #(
        .Width(Width)
    ) i_delta (
        .clk_i,
        .rst_ni,
        .clr_i         (clear),
        .start_i       (delta_start),
        .count_i       (count_q),
        .idle_o        (delta_idle),
        .empty_o       (delta_empty),
        .fault_o       (delta_fault),
        .window_ready_i(window_ready && state_q == Values),
        .window_i      (window),
        .left_i        (left),
        .take_o        (delta_take),
        .move_o        (delta_move),
        .ahead_o       (ahead),
        .ahead_ready_i (ahead_ready),
        .ahead_i       (ahead_bytes),
        .valid_o       (delta_valid),
        .ready_i       (delta_ready),
        .data_o        (delta_data),
        .count_o       (delta_count)
    );
  end else begin : gen_no_delta
    assign delta_idle  = 1'b1;
    assign delta_empty = 1'b1;
    assign delta_fault = FaultNone;
    assign delta_take  = '0;
    assign delta_move  = 1'b0;
    assign ahead       = '0;
    assign delta_valid = 1'b0;
    assign delta_data  = '0;
    assign delta_count = '0;
    logic unused;
    assign unused = ^{delta_start, delta_ready, ahead_ready, ahead_bytes};
  end

  // Dictionaries.
  logic                   dict_load, dict_look, dict_idle, dict_empty;
  logic [            7:0] dict_fault;
  logic [            6:0] dict_take;
  logic                   dict_valid, dict_ready;
  logic [Lanes*Width-1:0] dict_data;
  logic [  CountBits-1:0] dict_count;
  logic                   dict_bytes_valid;
  logic [          511:0] dict_bytes;
  logic [            6:0] dict_bytes_count;
  logic                   bytes_in_ready;

  if (Dictionary) begin : gen_dictionary
    as_parquet_dictionary #(
        .Width(Width),
        .Strings(Strings),
        .Entries(Entries),
        .EntryBytes(EntryBytes)
    ) i_dictionary (
        .clk_i,
        .rst_ni,
        .clr_i         (clear),
        .start_i,
        .load_i        (dict_load),
        .look_i        (dict_look),
        .count_i       (dict_load ? page_q.count : count_q),
        .idle_o        (dict_idle),
        .empty_o       (dict_empty),
        .fault_o       (dict_fault),
        .window_ready_i(window_ready && state_q == Values),
        .window_i      (window),
        .left_i        (left),
        .take_o        (dict_take),
        .valid_o       (dict_valid),
        .ready_i       (dict_ready),
        .data_o        (dict_data),
        .count_o       (dict_count),
        .bytes_valid_o (dict_bytes_valid),
        .bytes_ready_i (bytes_in_ready),
        .bytes_o       (dict_bytes),
        .bytes_count_o (dict_bytes_count)
    );
  end else begin : gen_no_dictionary
    assign dict_idle        = 1'b1;
    assign dict_empty       = 1'b1;
    assign dict_fault       = FaultNone;
    assign dict_take        = '0;
    assign dict_valid       = 1'b0;
    assign dict_data        = '0;
    assign dict_count       = '0;
    assign dict_bytes_valid = 1'b0;
    assign dict_bytes       = '0;
    assign dict_bytes_count = '0;
    logic unused;
    assign unused = dict_load ^ dict_look ^ dict_ready;
  end

  // One piece a cycle of values or lengths, from the decoder that is at work.
  logic                   piece_valid, piece_ready;
  logic [Lanes*Width-1:0] piece;
  logic [  CountBits-1:0] piece_count;
  logic                   piece_last;
  logic                   last_sent_q;
  // Strings in PLAIN, one a cycle: a length and its first bytes, or more bytes.
  logic                   string_put;
  logic                   string_first;
  logic [            6:0] string_bytes;
  logic [            6:0] string_take;
  logic                   string_bad;
  logic                   string_head;
  logic [           31:0] string_left_q;
  logic                   string_run_q;
  logic [           31:0] strings_q;
  // Bytes of DELTA_LENGTH_BYTE_ARRAY, when all lengths are known.
  logic                   chars_run_q;
  logic [           31:0] chars_left_q;
  logic                   chars_put;
  logic                   bytes_in_valid;
  logic [          511:0] bytes_in;
  logic [            6:0] bytes_in_count;
  logic                   bytes_last_q;
  logic                   lengths_bad;
  logic [           36:0] lengths_sum;
  logic                   lengths_over;
  logic                   sum_empty;

  assign piece_valid = delta_valid || dict_valid || plain_put || (string_put && string_first) ||
                       (state_q == Last && !last_sent_q);
  assign delta_ready = piece_ready;
  assign dict_ready  = piece_ready;
  assign piece_last  = state_q == Last;

  always_comb begin
    piece       = window;
    piece_count = plain_count;
    if (Strings) begin
      piece       = 512'(window[31:0]);
      piece_count = CountBits'(1);
    end
    if (Delta && delta_valid) begin
      piece       = delta_data;
      piece_count = delta_count;
    end
    if (Dictionary && dict_valid) begin
      piece       = dict_data;
      piece_count = dict_count;
    end
    if (piece_last) piece_count = '0;
  end

  if (Strings) begin : gen_strings
    assign string_first = string_left_q == '0;
    assign string_bad   = string_first && (left < 32'd4 || window[31] || window[31:0] > left - 32'd4);
    assign string_head  = state_q == Values && string_run_q && window_ready && strings_q != '0;
    assign string_put   = string_head && !string_bad && piece_ready && bytes_in_ready;
    assign string_bytes = string_first ? (window[31:0] >= 32'd60 ? 7'd60 : 7'(window[5:0]))
                                       : (string_left_q >= 32'd64 ? 7'd64 : 7'(string_left_q));
    assign string_take  = string_first ? string_bytes + 7'd4 : string_bytes;

    logic                 sum_ready, sum_valid, sum_last;
    logic [CountBits-1:0] sum_count;
    logic [ Lanes*37-1:0] sum_in, sums;
    logic                 sum_first_q;
    logic                 bad_q;
    logic                 negative;
    logic [         36:0] sum_q;
    // Nothing of a page but its lengths goes into its sum.
    as_prefix_sum #(
        .Width(37),
        .Lanes(Lanes)
    ) i_sum (
        .clk_i,
        .rst_ni,
        .clr_i  (clear || state_q == Choose),
        .valid_i(Delta && delta_valid && piece_ready),
        .ready_o(sum_ready),
        .data_i (sum_in),
        .count_i(delta_count),
        .clear_i(sum_first_q),
        .last_i (1'b0),
        .valid_o(sum_valid),
        .ready_i(1'b1),
        .data_o (sums),
        .count_o(sum_count),
        .last_o (sum_last),
        .empty_o(sum_empty)
    );
    logic [Lanes-1:0] counted;
    assign counted = ~({Lanes{1'b1}} << delta_count);
    always_comb begin
      negative = 1'b0;
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        sum_in[lane*37+:37] = 37'(delta_data[lane*32+:32]);
        if (counted[lane] && delta_data[lane*32+31]) negative = 1'b1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (state_q == Choose) begin
        sum_first_q <= 1'b1;
        bad_q       <= 1'b0;
        sum_q       <= '0;
      end else begin
        if (delta_valid && piece_ready) begin
          sum_first_q <= 1'b0;
          if (Delta && negative) bad_q <= 1'b1;
        end
        // Lanes that do not count are summed as zero: the last lane has all.
        if (sum_valid) sum_q <= sums[(Lanes-1)*37+:37];
      end
    end
    assign lengths_bad = bad_q;
    assign lengths_sum = sum_q;
    assign lengths_over = sum_q > 37'(left);
    logic unused;
    assign unused = ^{sum_ready, sum_count, sum_last, sums[(Lanes-1)*37-1:0]};

    assign bytes_in_valid = dict_bytes_valid || string_put || chars_put || (state_q == Last && !bytes_last_q);
    always_comb begin
      bytes_in       = window;
      bytes_in_count = chars_left_q >= 32'd64 ? 7'd64 : 7'(chars_left_q);
      if (string_run_q) begin
        bytes_in_count = string_bytes;
        if (string_first) bytes_in = 512'(window[511:32]);
      end
      if (Dictionary && dict_bytes_valid) begin
        bytes_in       = dict_bytes;
        bytes_in_count = dict_bytes_count;
      end
      if (state_q == Last) bytes_in_count = '0;
    end

    logic         held_valid, held_ready, held_last;
    logic [511:0] held;
    logic [  6:0] held_count;

    as_skid_buffer #(
        .Width(512 + 8)
    ) i_hold (
        .clk_i,
        .rst_ni,
        .clr_i  (clear),
        .valid_i(bytes_in_valid),
        .ready_o(bytes_in_ready),
        .data_i ({state_q == Last, bytes_in_count, bytes_in}),
        .valid_o(held_valid),
        .ready_i(held_ready),
        .data_o ({held_last, held_count, held})
    );

    as_arrow_values #(
        .ElementBits(8),
        .Lanes(64),
        .Bytes(Bytes)
    ) i_bytes (
        .clk_i,
        .rst_ni,
        .clr_i   (clear),
        .valid_i (held_valid),
        .ready_o (held_ready),
        .data_i  (held),
        .count_i (held_count),
        .last_i  (held_last),
        .valid_o (valid_o[2]),
        .ready_i (ready_i[2]),
        .data_o  (data_o[2*Bytes*8+:Bytes*8]),
        .strobe_o(strobe_o[2*Bytes+:Bytes]),
        .last_o  (last_o[2])
    );
  end else begin : gen_numbers
    assign string_first                  = 1'b0;
    assign string_bad                    = 1'b0;
    assign string_head                   = 1'b0;
    assign string_put                    = 1'b0;
    assign string_bytes                  = '0;
    assign string_take                   = '0;
    assign lengths_bad                   = 1'b0;
    assign lengths_sum                   = '0;
    assign lengths_over                  = 1'b0;
    assign sum_empty                     = 1'b1;
    assign bytes_in_valid                = 1'b0;
    assign bytes_in                      = '0;
    assign bytes_in_count                = '0;
    assign bytes_in_ready                = 1'b1;
    assign valid_o[2]                    = 1'b0;
    assign data_o[2*Bytes*8+:Bytes*8]    = '0;
    assign strobe_o[2*Bytes+:Bytes]      = '0;
    assign last_o[2]                     = 1'b0;
    logic unused;
    assign unused = ^{bytes_in_valid, bytes_in, bytes_in_count, string_bytes, ready_i[2], dict_bytes_valid, dict_bytes,
                      dict_bytes_count};
  end

  logic                   value_valid, value_ready, value_last;
  logic [Lanes*Width-1:0] value;
  logic [  CountBits-1:0] value_count;

  as_skid_buffer #(
      .Width(512 + CountBits + 1)
  ) i_hold (
      .clk_i,
      .rst_ni,
      .clr_i  (clear),
      .valid_i(piece_valid),
      .ready_o(piece_ready),
      .data_i ({piece_last, piece_count, piece}),
      .valid_o(value_valid),
      .ready_i(value_ready),
      .data_o ({value_last, value_count, value})
  );

  // Nulls.
  logic                   row_valid, row_ready, row_last;
  logic [Lanes*Width-1:0] row;
  logic [  CountBits-1:0] row_count;
  logic                   end_sent_q;

  if (Nullable) begin : gen_nullable
    logic             waiting_valid, waiting_ready;
    logic [     96:0] waiting;
    logic             bits_valid, bits_ready;
    logic [Lanes-1:0] bits;

    // All levels of a page are known before its first value.
    as_fifo_block #(
        .Width(97),
        .Depth(LevelWords)
    ) i_tokens (
        .clk_i,
        .rst_ni,
        .clr_i  (clear),
        .valid_i(token_valid || (state_q == Last && !end_sent_q)),
        .ready_o(token_ready),
        .data_i (state_q == Last ? '0 : token),
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
        .clr_i        (clear),
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

    // Bits and rows come of one piece, but each may wait without the other.
    logic [CountBits-1:0] bits_count;
    logic                 bits_last;
    assign bits_count = row_count;
    assign bits_last  = row_last;

    as_arrow_values #(
        .ElementBits(1),
        .Lanes(Lanes),
        .Bytes(Bytes)
    ) i_validity (
        .clk_i,
        .rst_ni,
        .clr_i   (clear),
        .valid_i (bits_valid),
        .ready_o (bits_ready),
        .data_i  (bits),
        .count_i (bits_count),
        .last_i  (bits_last),
        .valid_o (valid_o[0]),
        .ready_i (ready_i[0]),
        .data_o  (data_o[0+:Bytes*8]),
        .strobe_o(strobe_o[0+:Bytes]),
        .last_o  (last_o[0])
    );
    // The queue is full of a page's levels while rows wait for its values: they do not fit. Values of the page before
    // that are still on their way come within so many cycles; memory that is slow to take rows does not count.
    logic       values_missing;
    logic [7:0] missing_q;
    assign token_full = state_q == Levels && missing_q == '1;
    always_ff @(posedge clk_i) begin
      if (state_q == Levels && token_valid && !token_ready && values_missing) begin
        if (missing_q != '1) missing_q <= missing_q + 8'd1;
      end else begin
        missing_q <= '0;
      end
    end
  end else begin : gen_dense
    assign row_valid      = value_valid;
    assign value_ready    = row_ready;
    assign row            = value;
    assign row_count      = value_count;
    assign row_last       = value_last;
    assign token_ready    = 1'b1;
    assign token_full     = 1'b0;
    assign valid_o[0]     = 1'b0;
    assign data_o[0+:Bytes*8] = '0;
    assign strobe_o[0+:Bytes] = '0;
    assign last_o[0]      = 1'b0;
    logic unused;
    assign unused = ^{token, token_valid, ready_i[0], end_sent_q};
  end

  logic overflow;

  if (Strings) begin : gen_offsets
    as_arrow_offsets #(
        .Lanes(Lanes),
        .Bytes(Bytes)
    ) i_offsets (
        .clk_i,
        .rst_ni,
        .clr_i     (clear || start_i),
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
        .overflow_o(overflow)
    );
  end else begin : gen_values
    assign overflow = 1'b0;
    as_arrow_values #(
        .ElementBits(Width),
        .Lanes(Lanes),
        .Bytes(Bytes)
    ) i_values (
        .clk_i,
        .rst_ni,
        .clr_i   (clear),
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
  end

  logic unused_page;
  assign unused_page = ^{page_q.bytes, lengths_sum};

  // Which decoder a page wants.
  logic is_plain, is_delta, is_dictionary, is_load;
  assign is_load       = page_q.kind == PageDictionary;
  assign is_plain      = Plain && !is_load && page_q.encoding == EncodingPlain;
  assign is_delta      = Delta && !is_load && page_q.encoding == (Strings ? EncodingDeltaLength : EncodingDelta);
  assign is_dictionary = Dictionary && !is_load &&
                         (page_q.encoding == EncodingDictionary || page_q.encoding == EncodingPlainDictionary);

  assign delta_start = state_q == Choose && is_delta && count_q != '0;
  assign dict_load   = state_q == Choose && is_load && Dictionary;
  assign dict_look   = state_q == Choose && is_dictionary && count_q != '0;

  assign plain_count = plain_left_q >= 32'(Lanes) ? CountBits'(Lanes) : CountBits'(plain_left_q);
  assign plain_bytes = 7'(plain_count) * 7'(ValueBytes);
  // A page that ended in a fault leaves its counts behind: nothing is put outside of Values.
  assign plain_head  = state_q == Values && plain_run_q && window_ready && plain_left_q != '0;
  assign plain_short = plain_head && left < 32'(plain_bytes);
  // What is put without its bytes is forgotten with the fault.
  assign plain_put   = plain_head;
  assign chars_put   = state_q == Values && chars_run_q && window_ready && chars_left_q != '0;

  // A V1 page begins its levels with their length, a V2 page has it in the header.
  logic levels_begin_q;
  logic begin_q;
  logic size_bad;
  // The length, a register away from the window.
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
        if (chars_run_q) begin
          take = bytes_in_count;
          move = chars_put && bytes_in_ready;
        end else if (plain_run_q) begin
          take = plain_bytes;
          move = plain_put && piece_ready;
        end else if (string_run_q) begin
          take = string_take;
          move = string_put;
        end else if (is_delta) begin
          take = delta_take;
          move = delta_move;
        end else begin
          take = dict_take;
          move = 1'b1;
        end
      end
      default: ;
    endcase
  end

  logic values_end;
  assign values_end = delta_idle && delta_empty && dict_idle && dict_empty && !(plain_run_q && plain_left_q != '0) &&
                      !(string_run_q && strings_q != '0);

  assign done_o     = (state_q == Stopped || state_q == Fault) && pages_idle && reader_ready;
  assign fault_o    = fault_q;
  assign position_o = position_q;
  assign rows_o     = rows_q;
  assign starved_o  = pages_starved && !fifo_valid && state_q != Fault;
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
          if (page_valid && page_ready) begin
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
          if (is_load) begin
            if (!Dictionary) stop(FaultEncoding);
          end else if (!(is_plain || is_delta || is_dictionary)) begin
            stop(FaultEncoding);
          end
        end
        Values: begin
          if (values_end && !begin_q) state_q <= Drain;
          if (delta_fault != FaultNone) stop(delta_fault);
          else if (dict_fault != FaultNone) stop(dict_fault);
          else if (plain_short) stop(FaultValues);
          else if (string_head && string_bad) stop(left < 32'd4 ? FaultValues : FaultLength);
          else if (lengths_bad) stop(FaultLength);
          else if (chars_run_q && chars_left_q != '0) state_q <= Values;
          else if (values_end && !begin_q && is_delta && Strings && !chars_run_q) begin
            // All lengths are known when their sum is.
            state_q <= Values;
            if (sum_empty && lengths_over) stop(FaultLength);
          end
        end
        Drain:  state_q <= Finish;
        Finish: if (body_idle) state_q <= Wait;
        Last: begin
          if ((last_sent_q || piece_ready) && (!Strings || bytes_last_q || bytes_in_ready) &&
              (!Nullable || end_sent_q || token_ready)) begin
            state_q <= Stopped;
          end
        end
        default: ;
      endcase
      if (state_q != Stopped && state_q != Fault) begin
        if (overflow) stop(FaultOffsets);
        if (beat_valid && beat_error) stop(FaultMemory);
        if (abort_i) stop(FaultAborted);
        // The bytes of this page will never come.
        if (pages_done && pages_fault != FaultNone && state_q inside {Size, Levels, Values, Finish} && !window_ready &&
            !queue_valid) begin
          if (state_q != Finish || !body_idle) stop(pages_fault);
        end
      end
    end
  end

  task automatic stop(input logic [7:0] why);
    state_q <= Fault;
    fault_q <= why;
  endtask

  // `begin_q`: in the first cycle of Values no decoder has begun.

  always_ff @(posedge clk_i) begin
    begin_q        <= state_q == Choose;
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
    if (state_q == Choose) begin
      plain_run_q   <= is_plain && !Strings;
      plain_left_q  <= count_q;
      string_run_q  <= is_plain && Strings;
      string_left_q <= '0;
      strings_q     <= count_q;
      chars_run_q   <= 1'b0;
    end else if (state_q == Values) begin
      if (plain_put && piece_ready) plain_left_q <= plain_left_q - 32'(plain_count);
      if (string_put) begin
        string_left_q <= (string_first ? window[31:0] : string_left_q) - 32'(string_bytes);
        if ((string_first ? window[31:0] : string_left_q) == 32'(string_bytes)) strings_q <= strings_q - 32'd1;
      end
      if (Strings && is_delta && values_end && !begin_q && sum_empty && !chars_run_q) begin
        chars_run_q  <= 1'b1;
        chars_left_q <= 32'(lengths_sum);
      end
      if (chars_put && bytes_in_ready) chars_left_q <= chars_left_q - 32'(bytes_in_count);
    end
    if (state_q != Last) begin
      last_sent_q  <= 1'b0;
      bytes_last_q <= 1'b0;
      end_sent_q   <= 1'b0;
    end else begin
      if (piece_ready) last_sent_q <= 1'b1;
      if (bytes_in_ready) bytes_last_q <= 1'b1;
      if (token_ready) end_sent_q <= 1'b1;
    end
  end

endmodule
