// SPDX-License-Identifier: Apache-2.0
// One AXI4 memory port and the parsers that share it: it reads their texts and writes their beats.
//
// A port moves one beat per cycle each way. If that is less than the memory interface can move, a
// device has several ports, each with its own parsers and buffers.
//
// Layer: json.

`default_nettype none

module as_json_port #(
    parameter int unsigned W = 8,
    parameter int unsigned Bytes = 16,
    parameter int unsigned Parsers = 1,
    // Sets of writers for these parsers: one each, or one shared by all.
    parameter int unsigned Sets = 1,
    // Beats of text that may wait, or be in flight, for each parser.
    parameter int unsigned QueueBeats = 64,
    parameter int unsigned Buffers = 1,
    // Maximum beats of a written burst: 256 bytes fill a packet of most links.
    parameter int unsigned BurstBeats = 256 / Bytes,
    localparam int unsigned Sources = 5,
    localparam int unsigned OffsetBits = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,

    // A run begins; texts are taken.
    input  logic                  clear_i,
    input  logic                  work_i,
    input  logic [Parsers*64-1:0] address_i,
    input  logic [Parsers*32-1:0] length_i,
    input  logic [   Parsers-1:0] abort_i,

    // A word of the table of buffers.
    input logic        set_i,
    input logic [ 7:0] set_buffer_i,
    input logic [ 1:0] set_word_i,
    input logic [31:0] set_value_i,

    // High from when all sets of writers are empty until idle_o.
    input  logic flush_i,
    output logic idle_o,
    // Memory refused an access; a buffer is full.
    output logic error_o,
    output logic full_o,

    output logic [    Parsers-1:0] feed_valid_o,
    output logic [    Parsers-1:0] feed_ended_o,
    input  logic [    Parsers-1:0] feed_advance_i,
    output logic [Parsers*W*8-1:0] feed_data_o,

    input  logic [        Sets*Sources-1:0] beat_valid_i,
    output logic [        Sets*Sources-1:0] beat_ready_o,
    input  logic [      Sets*Sources*8-1:0] beat_buffer_i,
    input  logic [     Sets*Sources*32-1:0] beat_number_i,
    input  logic [Sets*Sources*Bytes*8-1:0] beat_data_i,

    output logic               mem_ar_valid_o,
    input  logic               mem_ar_ready_i,
    output logic [       63:0] mem_ar_addr_o,
    output logic [        7:0] mem_ar_len_o,
    input  logic               mem_r_valid_i,
    output logic               mem_r_ready_o,
    input  logic [Bytes*8-1:0] mem_r_data_i,
    input  logic [        1:0] mem_r_resp_i,
    output logic               mem_aw_valid_o,
    input  logic               mem_aw_ready_i,
    output logic [       63:0] mem_aw_addr_o,
    output logic [        7:0] mem_aw_len_o,
    output logic               mem_w_valid_o,
    input  logic               mem_w_ready_i,
    output logic [Bytes*8-1:0] mem_w_data_o,
    output logic [  Bytes-1:0] mem_w_strb_o,
    output logic               mem_w_last_o,
    input  logic               mem_b_valid_i,
    output logic               mem_b_ready_o,
    input  logic [        1:0] mem_b_resp_i
);

  logic [Parsers-1:0] beat_valid, beat_ready;
  logic [Parsers*Bytes*8-1:0] beat;
  logic fetch_idle, fetch_error, store_idle, store_error;
  logic [Sets-1:0] made_valid, made_ready;
  logic [Sets*8-1:0] made_buffer;
  logic [Sets*32-1:0] made_number;
  logic [Sets*Bytes*8-1:0] made_data;
  logic store_valid, store_ready, flush_q;
  logic [7:0] store_buffer;
  logic [31:0] store_number;
  logic [Bytes*8-1:0] store_data;

  assign idle_o  = fetch_idle && store_idle;
  assign error_o = fetch_error || store_error;

  // The queues are empty first.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) flush_q <= 1'b0;
    else flush_q <= flush_i && !store_valid;
  end

  as_json_fetch #(
      .Parsers   (Parsers),
      .Bytes     (Bytes),
      .QueueBeats(QueueBeats)
  ) i_fetch (
      .clk_i,
      .rst_ni,
      .start_i   (clear_i),
      .address_i,
      .length_i,
      .abort_i,
      .idle_o    (fetch_idle),
      .error_o   (fetch_error),
      .valid_o   (beat_valid),
      .ready_i   (beat_ready),
      .data_o    (beat),
      .ar_valid_o(mem_ar_valid_o),
      .ar_ready_i(mem_ar_ready_i),
      .ar_addr_o (mem_ar_addr_o),
      .ar_len_o  (mem_ar_len_o),
      .r_valid_i (mem_r_valid_i),
      .r_ready_o (mem_r_ready_o),
      .r_data_i  (mem_r_data_i),
      .r_resp_i  (mem_r_resp_i)
  );
  for (genvar p = 0; p < Parsers; p++) begin : gen_feed
    logic valid, ended, ready;
    logic [W*8-1:0] data;
    as_json_feed #(
        .W    (W),
        .Bytes(Bytes)
    ) i_feed (
        .clk_i,
        .rst_ni,
        .start_i  (clear_i),
        .offset_i (address_i[p*64+:OffsetBits]),
        .length_i (length_i[p*32+:32]),
        .valid_i  (beat_valid[p]),
        .ready_o  (beat_ready[p]),
        .data_i   (beat[p*Bytes*8+:Bytes*8]),
        .valid_o  (valid),
        .ended_o  (ended),
        .advance_i(ready && work_i),
        .data_o   (data)
    );
    // What a parser takes depends on its full beat: registered before it goes on to the queues.
    as_skid_buffer #(
        .Width(W * 8 + 1)
    ) i_cut (
        .clk_i,
        .rst_ni,
        .clr_i  (clear_i),
        .valid_i(valid && work_i),
        .ready_o(ready),
        .data_i ({ended, data}),
        .valid_o(feed_valid_o[p]),
        .ready_i(feed_advance_i[p]),
        .data_o ({feed_ended_o[p], feed_data_o[p*W*8+:W*8]})
    );
  end

  for (genvar s = 0; s < Sets; s++) begin : gen_made
    logic valid, ready;
    logic [7:0] buffer;
    logic [31:0] number;
    logic [Bytes*8-1:0] data;
    as_json_merge #(
        .Bytes  (Bytes),
        .Sources(Sources)
    ) i_merge (
        .clk_i,
        .rst_ni,
        .valid_i (beat_valid_i[s*Sources+:Sources]),
        .ready_o (beat_ready_o[s*Sources+:Sources]),
        .buffer_i(beat_buffer_i[s*Sources*8+:Sources*8]),
        .beat_i  (beat_number_i[s*Sources*32+:Sources*32]),
        .data_i  (beat_data_i[s*Sources*Bytes*8+:Sources*Bytes*8]),
        .valid_o (valid),
        .ready_i (ready),
        .buffer_o(buffer),
        .beat_o  (number),
        .data_o  (data)
    );
    // A set whose beat waits is stalled, whatever comes next: where others have turns, its beats
    // wait in a queue.
    if (Sets > 1) begin : gen_queue
      as_fifo #(
          .Width(Bytes * 8 + 40),
          .Depth(32)
      ) i_queue (
          .clk_i,
          .rst_ni,
          .clr_i  (clear_i),
          .valid_i(valid),
          .ready_o(ready),
          .data_i ({buffer, number, data}),
          .valid_o(made_valid[s]),
          .ready_i(made_ready[s]),
          .data_o ({made_buffer[s*8+:8], made_number[s*32+:32], made_data[s*Bytes*8+:Bytes*8]})
      );
    end else begin : gen_wires
      assign made_valid[s]                 = valid;
      assign ready                         = made_ready[s];
      assign made_buffer[s*8+:8]           = buffer;
      assign made_number[s*32+:32]         = number;
      assign made_data[s*Bytes*8+:Bytes*8] = data;
    end
  end
  as_json_merge #(
      .Bytes  (Bytes),
      .Sources(Sets)
  ) i_merge (
      .clk_i,
      .rst_ni,
      .valid_i (made_valid),
      .ready_o (made_ready),
      .buffer_i(made_buffer),
      .beat_i  (made_number),
      .data_i  (made_data),
      .valid_o (store_valid),
      .ready_i (store_ready),
      .buffer_o(store_buffer),
      .beat_o  (store_number),
      .data_o  (store_data)
  );

  as_json_store #(
      .Bytes     (Bytes),
      .Buffers   (Buffers),
      .BurstBeats(BurstBeats)
  ) i_store (
      .clk_i,
      .rst_ni,
      .clr_i       (clear_i),
      .set_i,
      .set_buffer_i,
      .set_word_i,
      .set_value_i,
      .valid_i     (store_valid),
      .ready_o     (store_ready),
      .buffer_i    (store_buffer),
      .beat_i      (store_number),
      .data_i      (store_data),
      .flush_i     (flush_q),
      .idle_o      (store_idle),
      .full_o,
      .error_o     (store_error),
      .aw_valid_o  (mem_aw_valid_o),
      .aw_ready_i  (mem_aw_ready_i),
      .aw_addr_o   (mem_aw_addr_o),
      .aw_len_o    (mem_aw_len_o),
      .w_valid_o   (mem_w_valid_o),
      .w_ready_i   (mem_w_ready_i),
      .w_data_o    (mem_w_data_o),
      .w_strb_o    (mem_w_strb_o),
      .w_last_o    (mem_w_last_o),
      .b_valid_i   (mem_b_valid_i),
      .b_ready_o   (mem_b_ready_o),
      .b_resp_i    (mem_b_resp_i)
  );

endmodule

`default_nettype wire
