// SPDX-License-Identifier: Apache-2.0
// The decoders of a column's values, one active at a time: PLAIN numbers, which are the window
// itself, DELTA_BINARY_PACKED, dictionaries, strings.
//
// `begin_i` is high for the cycle before a page's values; `known_o` then tells whether there is a
// decoder for it. While `values_i` is high the decoders own the window, until `busy_o` is low.
// Values, or lengths of strings, come out as pieces; bytes of strings as beats of their buffer. At
// the end of the chunk, `ends_i`, both are closed.
//
// Throughput: 64 bytes of numbers per cycle; 64 bytes of strings per cycle after 16 lengths per
// cycle.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_values #(
    parameter  int unsigned Width      = 64,
    parameter  bit          Strings    = 1'b0,
    parameter  bit          Plain      = 1'b1,
    parameter  bit          Delta      = 1'b1,
    parameter  bit          Dictionary = 1'b0,
    parameter  int unsigned Entries    = 4096,
    parameter  int unsigned EntryBytes = 65536,
    localparam int unsigned Bytes      = 64,
    localparam int unsigned Lanes      = 512 / Width,
    localparam int unsigned CountBits  = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,
    // A chunk begins.
    input logic start_i,

    input  logic                  begin_i,
    input  as_parquet_pkg::page_t page_i,
    // Values that are not null.
    input  logic [          31:0] count_i,
    output logic                  known_o,
    input  logic                  values_i,
    output logic                  busy_o,
    output logic [           7:0] fault_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    output logic [  6:0] take_o,
    output logic         move_o,
    output logic [  7:0] ahead_o,
    input  logic         ahead_ready_i,
    input  logic [143:0] ahead_i,

    input  logic ends_i,
    output logic ended_o,

    output logic                   piece_valid_o,
    input  logic                   piece_ready_i,
    output logic [Lanes*Width-1:0] piece_o,
    output logic [  CountBits-1:0] piece_count_o,
    output logic                   piece_last_o,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [Bytes*8-1:0] data_o,
    output logic [  Bytes-1:0] strobe_o,
    output logic               last_o
);
  import as_parquet_pkg::*;

  // The decoder of a page.
  logic is_plain, is_delta, is_dictionary, is_load;
  assign is_load       = page_i.kind == PageDictionary;
  assign is_plain      = Plain && !is_load && page_i.encoding == EncodingPlain;
  assign is_delta      = Delta && !is_load && page_i.encoding == (Strings ? EncodingDeltaLength : EncodingDelta);
  assign is_dictionary = Dictionary && !is_load &&
                         (page_i.encoding == EncodingDictionary || page_i.encoding == EncodingPlainDictionary);
  logic begin_q;

  // PLAIN numbers are the window itself.
  logic                 plain_run_q;
  logic [         31:0] plain_left_q;
  logic [CountBits-1:0] plain_count;
  logic [          6:0] plain_bytes;
  logic                 plain_head;
  logic                 plain_put;
  // Known a cycle late: values without bytes are discarded with the fault.
  logic                 plain_short_q;

  assign plain_count = plain_left_q >= 32'(Lanes) ? CountBits'(Lanes) : CountBits'(plain_left_q);
  assign plain_bytes = 7'(plain_count) * 7'(Width / 8);
  // A page that ended in a fault leaves its counts: no value is output outside of Values.
  assign plain_head  = values_i && plain_run_q && window_ready_i && plain_left_q != '0;
  assign plain_put   = plain_head;

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
        .clr_i,
        .start_i       (delta_start),
        .count_i,
        .idle_o        (delta_idle),
        .empty_o       (delta_empty),
        .fault_o       (delta_fault),
        .window_ready_i(window_ready_i && values_i),
        .window_i,
        .left_i,
        .take_o        (delta_take),
        .move_o        (delta_move),
        .ahead_o,
        .ahead_ready_i,
        .ahead_i,
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
    assign ahead_o     = '0;
    assign delta_valid = 1'b0;
    assign delta_data  = '0;
    assign delta_count = '0;
    logic unused;
    assign unused = ^{delta_start, delta_ready, ahead_ready_i, ahead_i};
  end

  // Dictionaries.
  logic                   dict_load, dict_look, dict_idle, dict_empty;
  logic [            7:0] dict_fault;
  logic [            6:0] dict_take;
  logic                   dict_move;
  logic                   dict_valid, dict_ready;
  logic [Lanes*Width-1:0] dict_data;
  logic [  CountBits-1:0] dict_count;
  logic                   dict_bytes_valid;
  logic [          511:0] dict_bytes;
  logic [            6:0] dict_bytes_count;
  logic                   dict_bytes_ready;

  if (Dictionary) begin : gen_dictionary
    as_parquet_dictionary #(
        .Width(Width),
        .Strings(Strings),
        .Entries(Entries),
        .EntryBytes(EntryBytes)
    ) i_dictionary (
        .clk_i,
        .rst_ni,
        .clr_i,
        .start_i,
        .load_i        (dict_load),
        .look_i        (dict_look),
        .count_i       (dict_load ? page_i.count : count_i),
        .idle_o        (dict_idle),
        .empty_o       (dict_empty),
        .fault_o       (dict_fault),
        .window_ready_i(window_ready_i && values_i),
        .window_i,
        .left_i,
        .take_o        (dict_take),
        .move_o        (dict_move),
        .valid_o       (dict_valid),
        .ready_i       (dict_ready),
        .data_o        (dict_data),
        .count_o       (dict_count),
        .bytes_valid_o (dict_bytes_valid),
        .bytes_ready_i (dict_bytes_ready),
        .bytes_o       (dict_bytes),
        .bytes_count_o (dict_bytes_count)
    );
  end else begin : gen_no_dictionary
    assign dict_idle        = 1'b1;
    assign dict_empty       = 1'b1;
    assign dict_fault       = FaultNone;
    assign dict_take        = '0;
    assign dict_move        = 1'b0;
    assign dict_valid       = 1'b0;
    assign dict_data        = '0;
    assign dict_count       = '0;
    assign dict_bytes_valid = 1'b0;
    assign dict_bytes       = '0;
    assign dict_bytes_count = '0;
    logic unused;
    assign unused = ^{dict_load, dict_look, dict_ready, dict_bytes_ready, start_i};
  end

  // One piece per cycle of values or lengths, from the active decoder.
  logic                   last_sent_q;
  // A length of a string in PLAIN.
  logic                   string_put;
  logic [            7:0] strings_fault;
  logic                   strings_busy, strings_take_all, strings_move, strings_ended;
  logic [            6:0] strings_take;

  assign piece_valid_o = delta_valid || dict_valid || plain_put || string_put || (ends_i && !last_sent_q);
  assign delta_ready = piece_ready_i;
  assign dict_ready  = piece_ready_i;
  assign piece_last_o  = ends_i;

  always_comb begin
    piece_o       = window_i;
    piece_count_o = plain_count;
    if (Strings) begin
      piece_o       = 512'(window_i[31:0]);
      piece_count_o = CountBits'(1);
    end
    if (Delta && delta_valid) begin
      piece_o       = delta_data;
      piece_count_o = delta_count;
    end
    if (Dictionary && dict_valid) begin
      piece_o       = dict_data;
      piece_count_o = dict_count;
    end
    if (piece_last_o) piece_count_o = '0;
  end

  if (Strings) begin : gen_strings
    as_parquet_strings #(
        .Lanes(Lanes)
    ) i_strings (
        .clk_i,
        .rst_ni,
        .clr_i,
        .begin_i,
        .plain_i        (is_plain),
        .count_i,
        .values_i,
        .fault_o        (strings_fault),
        .busy_o         (strings_busy),
        .takes_o        (strings_take_all),
        .window_ready_i,
        .window_i,
        .left_i,
        .take_o         (strings_take),
        .move_o         (strings_move),
        .put_o          (string_put),
        .put_ready_i    (piece_ready_i),
        .lengths_valid_i(delta_valid && piece_ready_i),
        .lengths_i      (delta_data),
        .lengths_count_i(delta_count),
        .lengths_end_i  (values_i && !begin_q && is_delta && delta_idle && delta_empty),
        .bytes_valid_i  (dict_bytes_valid),
        .bytes_ready_o  (dict_bytes_ready),
        .bytes_i        (dict_bytes),
        .bytes_count_i  (dict_bytes_count),
        .ends_i,
        .ended_o        (strings_ended),
        .valid_o,
        .ready_i,
        .data_o,
        .strobe_o,
        .last_o
    );
  end else begin : gen_numbers
    assign string_put                 = 1'b0;
    assign strings_fault              = FaultNone;
    assign strings_busy               = 1'b0;
    assign strings_take_all           = 1'b0;
    assign strings_take               = '0;
    assign strings_move               = 1'b0;
    assign strings_ended              = 1'b1;
    assign dict_bytes_ready           = 1'b1;
    assign valid_o = 1'b0;
    assign data_o = '0;
    assign strobe_o = '0;
    assign last_o = 1'b0;
    logic unused;
    assign unused = ^{ready_i, dict_bytes_valid, dict_bytes, dict_bytes_count};
  end

  assign delta_start = begin_i && is_delta && count_i != '0;
  assign dict_load   = begin_i && is_load && Dictionary;
  assign dict_look   = begin_i && is_dictionary && count_i != '0;

  assign known_o = is_load ? Dictionary : is_plain || is_delta || is_dictionary;
  assign busy_o  = begin_q || !delta_idle || !delta_empty || !dict_idle || !dict_empty || (plain_run_q && plain_left_q != '0) ||
                   strings_busy;
  assign ended_o = (last_sent_q || piece_ready_i) && strings_ended;

  always_comb begin
    fault_o = strings_fault;
    if (plain_short_q) fault_o = FaultValues;
    if (dict_fault != FaultNone) fault_o = dict_fault;
    if (delta_fault != FaultNone) fault_o = delta_fault;
  end

  always_comb begin
    if (strings_take_all) begin
      take_o = strings_take;
      move_o = strings_move;
    end else if (plain_run_q) begin
      // The numbers are the end of the page.
      take_o = 7'd64;
      move_o = plain_put && piece_ready_i;
    end else if (is_delta) begin
      take_o = delta_take;
      move_o = delta_move;
    end else begin
      take_o = dict_take;
      move_o = dict_move;
    end
  end

  logic unused_page;
  assign unused_page = ^page_i;

  always_ff @(posedge clk_i) begin
    // In the first cycle no decoder has begun.
    begin_q       <= begin_i;
    plain_short_q <= plain_head && left_i < 32'(plain_bytes);
    if (begin_i) begin
      plain_run_q  <= is_plain && !Strings;
      plain_left_q <= count_i;
    end else if (values_i && plain_put && piece_ready_i) begin
      plain_left_q <= plain_left_q - 32'(plain_count);
    end
    last_sent_q <= ends_i && (last_sent_q || piece_ready_i);
  end

  `AS_STREAM_STABLE(piece, piece_valid_o, piece_ready_i, {piece_last_o, piece_count_o}, clr_i)

endmodule

`default_nettype wire
