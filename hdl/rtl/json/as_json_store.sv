// SPDX-License-Identifier: Apache-2.0
// Writes beats for many buffers to memory: gathers those of each buffer, and writes them as bursts.
//
// The host sets the buffers' addresses, which are aligned to beats, and capacities before a run.
// The beats of a buffer come in order, from number 0, between those of others. A burst has
// BurstBeats beats and begins at a multiple of its size, so that none crosses 4 KiB; a buffer's
// first and last burst may be shorter. A burst is issued once all its beats are inside: W never
// waits for a parser. Beats are written whole: all strobes are set.
//
// `flush_i` issues what is left of each buffer; no beat may come with it. `idle_o`: that is done,
// and every burst has its response. `clr_i`, while nothing is inside, permits the next beats. A
// beat past the end of a buffer is not written and raises `full_o`.
//
// One RAM has two bursts of each buffer, so that another buffer costs rows of it, and few
// registers. A beat waits while the place it goes to is still to be written to memory.
//
// Latency: BurstBeats + 4 cycles. Throughput: one beat per cycle. `ready_o` depends on registers
// only.
//
// Layer: json.

`include "as_assertions.svh"

`default_nettype none

module as_json_store #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned Buffers = 1,
    parameter int unsigned BurstBeats = 16,
    localparam int unsigned BufferBits = as_stream_pkg::index_bits(Buffers),
    localparam int unsigned OffsetBits = $clog2(Bytes),
    localparam int unsigned IndexBits = $clog2(BurstBeats)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    // A word of the table: address low, high, capacity in bytes.
    input logic        set_i,
    input logic [ 7:0] set_buffer_i,
    input logic [ 1:0] set_word_i,
    input logic [31:0] set_value_i,

    input  logic               valid_i,
    output logic               ready_o,
    input  logic [        7:0] buffer_i,
    input  logic [       31:0] beat_i,
    input  logic [Bytes*8-1:0] data_i,

    // Level: high until idle_o.
    input  logic flush_i,
    output logic idle_o,
    output logic full_o,
    output logic error_o,

    output logic               aw_valid_o,
    input  logic               aw_ready_i,
    output logic [       63:0] aw_addr_o,
    output logic [        7:0] aw_len_o,
    output logic               w_valid_o,
    input  logic               w_ready_i,
    output logic [Bytes*8-1:0] w_data_o,
    output logic [  Bytes-1:0] w_strb_o,
    output logic               w_last_o,
    input  logic               b_valid_i,
    output logic               b_ready_o,
    input  logic [        1:0] b_resp_i
);

  localparam int unsigned RingBits = IndexBits + 1;
  localparam int unsigned Rows = Buffers * 2 * BurstBeats;
  localparam int unsigned RowBits = as_stream_pkg::index_bits(Rows);
  // More would wait than any memory needs.
  localparam int unsigned Orders = Buffers < 32 ? 2 << $clog2(Buffers) : 64;

  logic [31:OffsetBits] low[Buffers];
  logic [31:0] high[Buffers];
  logic [31:0] capacity[Buffers];
  // The number of the last beat of each buffer.
  logic [31:0] last[Buffers];

  // First stage: a beat as it came, or a buffer to flush.
  logic in_valid_q, in_flush_q, in_step;
  logic [BufferBits-1:0] in_buffer_q;
  logic [31:0] in_number_q;
  logic [Bytes*8-1:0] in_data_q;
  logic [BufferBits:0] flush_q;
  logic flushing;

  // Second stage: the same with its place in memory.
  logic at_valid_q, at_flush_q, at_wait_q, at_step, at_move;
  logic [BufferBits-1:0] at_buffer_q;
  logic [63:OffsetBits] at_place_q;
  logic [IndexBits-1:0] at_ahead_q;
  logic [Bytes*8-1:0] at_data_q;

  logic [31:0] number;
  logic [63:OffsetBits] place;
  logic [RingBits-1:0] ring, at_ring, look_ring;
  logic [IndexBits-1:0] ahead;
  logic [BufferBits-1:0] look_buffer;
  logic fits, look_flush, taken, ends;

  // Of each buffer: it has beats without a burst; either half of its rows waits to be written.
  logic [Buffers-1:0] open_q;
  logic [Buffers-1:0][1:0] pending_q;

  // The bursts in order, and the one that is written.
  logic order_ready, order_valid, order_done, push;
  logic [BufferBits-1:0] out_buffer;
  logic [63:OffsetBits] out_place;
  logic [IndexBits-1:0] out_ahead, out_beats_q;
  logic [RingBits-1:0] out_ring;
  logic out_begins, out_last, read;

  logic aw_valid_q, w_valid_q;
  logic [15:0] unanswered_q;

  assign in_step  = !in_valid_q || at_step;
  assign ready_o  = in_step;
  assign flushing = flush_i && flush_q != (BufferBits + 1)'(Buffers);

  assign number = in_flush_q ? last[in_buffer_q] : in_number_q;
  assign fits   = in_flush_q || 36'(in_number_q) < 36'(capacity[in_buffer_q] >> OffsetBits);
  assign place  = {high[in_buffer_q], low[in_buffer_q]} + (64 - OffsetBits)'(number);
  assign ring   = place[OffsetBits+:RingBits];
  // Beats of the same burst before it: the first burst of a buffer may begin later.
  assign ahead  = number < 32'(ring[IndexBits-1:0]) ? number[IndexBits-1:0] : ring[IndexBits-1:0];

  assign at_ring = at_place_q[OffsetBits+:RingBits];
  assign at_move = at_valid_q && !at_wait_q && order_ready;
  assign at_step = !at_valid_q || at_move;
  assign ends    = at_flush_q ? open_q[at_buffer_q] : &at_ring[IndexBits-1:0];
  assign push    = at_move && ends;

  // Whether the beat that is in the second stage next waits there: its row is to be written to
  // memory, and not one that was already.
  assign look_buffer = at_step ? in_buffer_q : at_buffer_q;
  assign look_ring   = at_step ? ring : at_ring;
  assign look_flush  = at_step ? in_flush_q : at_flush_q;
  assign taken = order_valid && out_buffer == look_buffer && out_ring[IndexBits] == look_ring[IndexBits] &&
                 look_ring[IndexBits-1:0] < out_ring[IndexBits-1:0];

  as_fifo #(
      .Width(BufferBits + 64 - OffsetBits + IndexBits),
      .Depth(Orders)
  ) i_orders (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(push),
      .ready_o(order_ready),
      .data_i ({at_buffer_q, at_place_q[63:OffsetBits+IndexBits], at_ring[IndexBits-1:0] - at_ahead_q, at_ahead_q}),
      .valid_o(order_valid),
      .ready_i(order_done),
      .data_o ({out_buffer, out_place, out_ahead})
  );

  assign out_ring   = out_place[OffsetBits+:RingBits] + RingBits'(out_beats_q);
  assign out_begins = out_beats_q == '0;
  assign out_last   = out_beats_q == out_ahead;
  assign read       = order_valid && (!w_valid_q || w_ready_i) &&
                      (!out_begins || ((!aw_valid_q || aw_ready_i) && unanswered_q[15:12] == '0));
  assign order_done = read && out_last;

  as_ram #(
      .Width(Bytes * 8),
      .Depth(Rows)
  ) i_ram (
      .clk_i,
      .write_i        (at_move && !at_flush_q),
      .write_address_i(RowBits'({at_buffer_q, at_ring})),
      .write_data_i   (at_data_q),
      .read_i         (read),
      .read_address_i (RowBits'({out_buffer, out_ring})),
      .read_data_o    (w_data_o)
  );

  assign aw_valid_o = aw_valid_q;
  assign w_valid_o  = w_valid_q;
  assign w_strb_o   = '1;
  assign b_ready_o  = 1'b1;
  assign idle_o     = flush_q == (BufferBits + 1)'(Buffers) && !in_valid_q && !at_valid_q && !order_valid &&
                      !aw_valid_q && !w_valid_q && unanswered_q == '0;

  // Only the upper bit of a response signals an error.
  logic unused;
  assign unused = b_resp_i[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_valid_q   <= 1'b0;
      at_valid_q   <= 1'b0;
      flush_q      <= '0;
      open_q       <= '0;
      pending_q    <= '0;
      out_beats_q  <= '0;
      aw_valid_q   <= 1'b0;
      w_valid_q    <= 1'b0;
      unanswered_q <= '0;
      full_o       <= 1'b0;
      error_o      <= 1'b0;
    end else begin
      if (in_step) in_valid_q <= valid_i || flushing;
      if (at_step) at_valid_q <= in_valid_q && fits;
      if (at_move) open_q[at_buffer_q] <= !ends && !at_flush_q;
      if (order_done) pending_q[out_buffer][out_ring[IndexBits]] <= 1'b0;
      if (push) pending_q[at_buffer_q][at_ring[IndexBits]] <= 1'b1;
      if (read) out_beats_q <= out_last ? '0 : out_beats_q + 1'b1;
      if (!aw_valid_q || aw_ready_i) aw_valid_q <= read && out_begins;
      if (!w_valid_q || w_ready_i) w_valid_q <= read;
      unanswered_q <= unanswered_q + 16'(read && out_begins) - 16'(b_valid_i);
      if (clr_i) begin
        flush_q <= '0;
        full_o  <= 1'b0;
        error_o <= 1'b0;
      end else begin
        if (in_step && flushing) flush_q <= flush_q + 1'b1;
        if (in_valid_q && at_step && !fits) full_o <= 1'b1;
        if (b_valid_i && b_resp_i[1]) error_o <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_step) begin
      in_flush_q  <= flush_i;
      in_buffer_q <= flush_i ? flush_q[BufferBits-1:0] : BufferBits'(buffer_i);
      in_number_q <= beat_i;
      in_data_q   <= data_i;
    end
    if (at_step) begin
      at_flush_q  <= in_flush_q;
      at_buffer_q <= in_buffer_q;
      at_place_q  <= place;
      at_ahead_q  <= ahead;
      at_data_q   <= in_data_q;
      if (in_valid_q && fits) last[in_buffer_q] <= number;
    end
    // A flush writes no row.
    at_wait_q <= pending_q[look_buffer][look_ring[IndexBits]] && !taken && !look_flush;
    if (read && out_begins) begin
      aw_addr_o <= {out_place, OffsetBits'(0)};
      aw_len_o  <= 8'(out_ahead);
    end
    if (read) w_last_o <= out_last;
    if (set_i) begin
      unique case (set_word_i)
        2'd0: low[BufferBits'(set_buffer_i)] <= set_value_i[31:OffsetBits];
        2'd1: high[BufferBits'(set_buffer_i)] <= set_value_i;
        2'd2: capacity[BufferBits'(set_buffer_i)] <= set_value_i;
        default: ;
      endcase
    end
  end

  `AS_POWER_OF_TWO(burst, BurstBeats)
  `AS_STREAM_STABLE(aw, aw_valid_o, aw_ready_i, {aw_len_o, aw_addr_o}, 1'b0)
  `AS_STREAM_STABLE(w, w_valid_o, w_ready_i, {w_last_o, w_strb_o, w_data_o}, 1'b0)

endmodule

`default_nettype wire
