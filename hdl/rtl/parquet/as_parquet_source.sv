// SPDX-License-Identifier: Apache-2.0
// From a column chunk in memory to a window on one page at a time: reader, queues,
// as_parquet_pages, and the aligner of a page's bytes.
//
// The header of the next page is read while the bytes of this one are taken. `clr_i` resets
// everything except memory accesses; beats of reads in flight are discarded, and `idle_o` is high
// once they have all arrived.
//
// Throughput: one beat per cycle.
//
// Layer: parquet.

`default_nettype none

module as_parquet_source #(
    parameter bit          Snappy       = 1'b0,
    parameter int unsigned HistoryBytes = 65536
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [63:0] address_i,
    input  logic [31:0] length_i,
    input  logic [63:0] values_i,
    output logic        idle_o,
    // No more pages, and the fault if it is not the end.
    output logic        done_o,
    output logic [ 7:0] fault_o,
    output logic [31:0] position_o,
    output logic        starved_o,
    // The memory refused a read.
    output logic        refused_o,

    output logic         ar_valid_o,
    input  logic         ar_ready_i,
    output logic [ 63:0] ar_addr_o,
    output logic [  7:0] ar_len_o,
    input  logic         r_valid_i,
    output logic         r_ready_o,
    input  logic [511:0] r_data_i,
    input  logic [  1:0] r_resp_i,

    // A page is taken together with its window when that is free: `begin_i` permits it.
    input  logic                  begin_i,
    output logic                  page_begins_o,
    output logic                  page_valid_o,
    output as_parquet_pkg::page_t page_o,
    input  logic                  finish_i,
    output logic                  window_idle_o,
    // No part of the page waits before its window.
    output logic                  window_dry_o,
    output logic                  window_ready_o,
    output logic [         511:0] window_o,
    output logic [          31:0] left_o,
    input  logic [           6:0] take_i,
    input  logic                  move_i,
    input  logic [           7:0] ahead_i,
    output logic                  ahead_ready_o,
    output logic [         143:0] ahead_o
);
  import as_parquet_pkg::*;

  logic         reader_ready;
  logic         beat_valid, beat_ready, beat_error;
  logic [511:0] beat;
  logic         fifo_valid, fifo_ready;
  logic [511:0] fifo_beat;
  logic         pages_idle, pages_starved;
  page_t        page;
  logic         body_valid, body_ready;
  logic [511:0] body;
  logic         queue_valid, queue_ready;
  logic [511:0] queue;

  as_axi_reader #(
      .Bytes(64),
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
      .Depth(32)
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

  as_parquet_pages #(
      .Snappy(Snappy),
      .HistoryBytes(HistoryBytes)
  ) i_pages (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i,
      .offset_i    (address_i[5:0]),
      .length_i,
      .values_i,
      .done_o,
      .idle_o      (pages_idle),
      .fault_o,
      .position_o,
      .starved_o   (pages_starved),
      .beat_valid_i(fifo_valid),
      .beat_ready_o(fifo_ready),
      .beat_i      (fifo_beat),
      .page_valid_o,
      .page_ready_i(begin_i && window_idle_o),
      .page_o      (page),
      .body_valid_o(body_valid),
      .body_ready_i(body_ready),
      .body_o      (body)
  );

  as_fifo #(
      .Width(512),
      .Depth(32)
  ) i_bodies (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(body_valid),
      .ready_o(body_ready),
      .data_i (body),
      .valid_o(queue_valid),
      .ready_i(queue_ready),
      .data_o (queue)
  );

  as_stream_window #(
      .Bytes(64),
      .LengthBits(32),
      .AheadBytes(18)
  ) i_body (
      .clk_i,
      .rst_ni,
      .clr_i,
      .start_i      (page_begins_o),
      .offset_i     (page.offset),
      .length_i     (page.bytes),
      .finish_i,
      .idle_o       (window_idle_o),
      .beat_valid_i (queue_valid),
      .beat_ready_o (queue_ready),
      .beat_i       (queue),
      .ready_o      (window_ready_o),
      .window_o,
      .left_o,
      .take_i,
      .move_i,
      .ahead_i,
      .ahead_ready_o,
      .ahead_o
  );

  assign page_o        = page;
  assign page_begins_o = begin_i && window_idle_o && page_valid_o;
  assign idle_o        = pages_idle && reader_ready;
  assign starved_o     = pages_starved && !fifo_valid;
  assign refused_o     = beat_valid && beat_error;
  assign window_dry_o  = !window_ready_o && !queue_valid;

endmodule

`default_nettype wire
