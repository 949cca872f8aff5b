// SPDX-License-Identifier: Apache-2.0
// Fetches a range of memory for each of several parsers over one AXI4 read channel.
//
// Requests are issued one segment at a time, in turn, and only when the parser's queue has room for
// the full segment: the channel never waits for a parser, and a parser that gives up (`abort_i`)
// leaves no data that cannot be taken.
//
// Throughput: one beat per cycle over all parsers.
//
// Layer: json.

`default_nettype none

module as_json_fetch #(
    parameter int unsigned Parsers = 1,
    parameter int unsigned Bytes = 16,
    parameter int unsigned SegmentBeats = 16,
    parameter int unsigned QueueBeats = 64,
    localparam int unsigned OffsetBits = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,

    // Takes addresses and lengths; empties the queues.
    input  logic                  start_i,
    input  logic [Parsers*64-1:0] address_i,
    input  logic [Parsers*32-1:0] length_i,
    input  logic [   Parsers-1:0] abort_i,
    // No read is in flight.
    output logic                  idle_o,
    output logic                  error_o,

    output logic [        Parsers-1:0] valid_o,
    input  logic [        Parsers-1:0] ready_i,
    output logic [Parsers*Bytes*8-1:0] data_o,

    output logic               ar_valid_o,
    input  logic               ar_ready_i,
    output logic [       63:0] ar_addr_o,
    output logic [        7:0] ar_len_o,
    input  logic               r_valid_i,
    output logic               r_ready_o,
    input  logic [Bytes*8-1:0] r_data_i,
    input  logic [        1:0] r_resp_i
);

  localparam int unsigned BeatBits = 33 - OffsetBits;
  localparam int unsigned RoomBits = as_stream_pkg::count_bits(QueueBeats);
  localparam int unsigned IndexBits = as_stream_pkg::index_bits(Parsers);
  localparam int unsigned SegmentBits = as_stream_pkg::count_bits(SegmentBeats);

  // In beats: the start of the next segment, beats left, room not yet reserved.
  logic [63-OffsetBits:0] next_q[Parsers];
  logic [BeatBits-1:0] left_q[Parsers];
  logic [RoomBits-1:0] room_q[Parsers];
  logic [Parsers-1:0] wants, pick, turn_q, queue_ready, pop;

  logic request, request_ready, order_ready, order_valid;
  logic [63-OffsetBits:0] address;
  logic [SegmentBits-1:0] beats;
  logic [IndexBits-1:0] which, owner;
  logic [SegmentBits-1:0] owed, taken_q;
  logic beat_valid, beat_error, beat_last;
  logic [Bytes*8-1:0] beat;

  for (genvar p = 0; p < Parsers; p++) begin : gen_wants
    assign wants[p] = left_q[p] != '0 && room_q[p] >= RoomBits'(SegmentBeats);
  end
  assign pick    = Parsers'(as_stream_pkg::in_turn(64'(wants), 64'(turn_q)));
  assign request = wants != '0 && order_ready && request_ready;

  always_comb begin
    address = '0;
    beats = '0;
    which = '0;
    for (int unsigned p = 0; p < Parsers; p++) begin
      if (pick[p]) begin
        address |= next_q[p];
        beats |= left_q[p] < BeatBits'(SegmentBeats) ? SegmentBits'(left_q[p]) : SegmentBits'(SegmentBeats);
        which |= IndexBits'(p);
      end
    end
  end

  as_axi_reader #(
      .Bytes     (Bytes),
      .BurstBeats(SegmentBeats)
  ) i_reader (
      .clk_i,
      .rst_ni,
      .request_valid_i(wants != '0 && order_ready),
      .request_ready_o(request_ready),
      .address_i      ({address, OffsetBits'(0)}),
      .length_i       ({(32 - OffsetBits - SegmentBits)'(0), beats, OffsetBits'(0)}),
      .ar_valid_o,
      .ar_ready_i,
      .ar_addr_o,
      .ar_len_o,
      .r_valid_i,
      .r_ready_o,
      .r_data_i,
      .r_resp_i,
      .beat_valid_o   (beat_valid),
      .beat_ready_i   (1'b1),
      .beat_o         (beat),
      .beat_error_o   (beat_error)
  );

  // Whose beats come next, and how many: as many as the queues have room for.
  as_fifo #(
      .Width(IndexBits + SegmentBits),
      .Depth(1 << $clog2(Parsers * QueueBeats / SegmentBeats))
  ) i_order (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(request),
      .ready_o(order_ready),
      .data_i ({which, beats}),
      .valid_o(order_valid),
      .ready_i(beat_last),
      .data_o ({owner, owed})
  );
  assign beat_last = beat_valid && taken_q + 1'b1 == owed;
  assign idle_o    = !order_valid;

  for (genvar p = 0; p < Parsers; p++) begin : gen_queue
    as_fifo #(
        .Width(Bytes * 8),
        .Depth(QueueBeats)
    ) i_queue (
        .clk_i,
        .rst_ni,
        .clr_i  (start_i),
        .valid_i(beat_valid && owner == IndexBits'(p)),
        .ready_o(queue_ready[p]),
        .data_i (beat),
        .valid_o(valid_o[p]),
        .ready_i(ready_i[p]),
        .data_o (data_o[p*Bytes*8+:Bytes*8])
    );
    assign pop[p] = valid_o[p] && ready_i[p];

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        left_q[p] <= '0;
        room_q[p] <= RoomBits'(QueueBeats);
      end else if (start_i) begin
        left_q[p] <= length_i[p*32+:32] == '0 ? '0 :
            BeatBits'((33'(address_i[p*64+:OffsetBits]) + 33'(length_i[p*32+:32]) + 33'(Bytes - 1)) >> OffsetBits);
        room_q[p] <= RoomBits'(QueueBeats);
      end else begin
        if (abort_i[p]) left_q[p] <= '0;
        else if (request && pick[p]) left_q[p] <= left_q[p] - BeatBits'(beats);
        room_q[p] <= room_q[p] + RoomBits'(pop[p]) - (request && pick[p] ? RoomBits'(beats) : '0);
      end
    end
    always_ff @(posedge clk_i) begin
      if (start_i) next_q[p] <= address_i[p*64+OffsetBits+:64-OffsetBits];
      else if (request && pick[p]) next_q[p] <= next_q[p] + (64 - OffsetBits)'(beats);
    end
  end
  // Room was reserved.
  logic unused;
  assign unused = ^queue_ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      taken_q <= '0;
      turn_q  <= '0;
      error_o <= 1'b0;
    end else begin
      if (beat_valid) taken_q <= beat_last ? '0 : taken_q + 1'b1;
      if (request) turn_q <= Parsers'(as_stream_pkg::after(64'(pick)));
      if (start_i) error_o <= 1'b0;
      else if (beat_valid && beat_error) error_o <= 1'b1;
    end
  end

endmodule

`default_nettype wire
