// SPDX-License-Identifier: Apache-2.0
// Writes Streams buffers to memory over one AXI4 write channel, round-robin: beats in, bursts out.
//
// A burst is issued once all its beats are inside: W never waits for a kernel, so a kernel that
// stops cannot hang the bus. Bursts are BurstBeats long, shorter only at a 4 KiB boundary and at
// the end of a buffer; as many are outstanding as the memory accepts. Buffers are beat-aligned.
//
// `start_i` takes addresses and capacities (in beats) and resets all state; it may come while
// `idle_o` is high. A beat beyond the capacity is dropped and sets `overflow_o`. After `abort_i`,
// until the next start, beats are dropped and no burst begins. `bytes_o` counts bytes by their
// strobes. `idle_o`: every stream had its last beat, or all was aborted, and every write has its
// response.
//
// Latency: BurstBeats + 4 cycles. Throughput: one beat per cycle in total.
//
// Layer: axi.

`include "as_assertions.svh"

`default_nettype none

module as_axi_write_mux #(
    parameter  int unsigned Streams     = 2,
    parameter  int unsigned Bytes       = 64,
    parameter  int unsigned AddressBits = 64,
    parameter  int unsigned BurstBeats  = 16,
    parameter  int unsigned FifoBeats   = 32,
    localparam int unsigned OffsetBits  = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                           start_i,
    input  logic                           abort_i,
    input  logic [Streams*AddressBits-1:0] address_i,
    input  logic [         Streams*32-1:0] capacity_i,
    output logic [         Streams*32-1:0] bytes_o,
    output logic [            Streams-1:0] overflow_o,
    output logic                           error_o,
    output logic                           idle_o,

    input  logic [        Streams-1:0] valid_i,
    output logic [        Streams-1:0] ready_o,
    input  logic [Streams*Bytes*8-1:0] data_i,
    input  logic [  Streams*Bytes-1:0] strobe_i,
    input  logic [        Streams-1:0] last_i,

    output logic                   aw_valid_o,
    input  logic                   aw_ready_i,
    output logic [AddressBits-1:0] aw_addr_o,
    output logic [            7:0] aw_len_o,
    output logic                   w_valid_o,
    input  logic                   w_ready_i,
    output logic [    Bytes*8-1:0] w_data_o,
    output logic [      Bytes-1:0] w_strb_o,
    output logic                   w_last_o,
    input  logic                   b_valid_i,
    output logic                   b_ready_o,
    input  logic [            1:0] b_resp_i
);

  localparam int unsigned StreamBits = as_stream_pkg::index_bits(Streams);
  localparam int unsigned LevelBits = as_stream_pkg::count_bits(FifoBeats);
  localparam int unsigned PageBits = 12 - OffsetBits;
  localparam int unsigned BeatBits = Bytes * 9;
  localparam int unsigned ByteBits = as_stream_pkg::count_bits(Bytes);

  logic                            abort_q;
  logic                            error_q;
  logic [                    15:0] outstanding_q;

  logic [          Streams-1:0]    want_q;
  logic [        Streams*9-1:0]    want_beats_q;
  logic [Streams*AddressBits-1:0]  want_address;
  logic [          Streams-1:0]    done;
  logic [          Streams-1:0]    grant;
  logic                            granted;
  logic [       StreamBits-1:0]    turn_q;
  logic [       StreamBits-1:0]    choice;

  logic                            aw_valid_q;
  logic [      AddressBits-1:0]    aw_addr_q;
  logic [                  7:0]    aw_len_q;

  logic [          Streams-1:0]    head_valid;
  logic [ Streams*BeatBits-1:0]    head;
  logic [          Streams-1:0]    pop;

  for (genvar s = 0; s < Streams; s++) begin : gen_stream
    logic [AddressBits-1:OffsetBits] address_q;
    logic [             31:0]        left_q;
    logic [             31:0]        bytes_q;
    logic [    LevelBits-1:0]        level_q;
    logic                            ended_q;
    logic                            overflow_q;
    logic                            room;
    logic                            take;
    logic                            keep;
    logic                            some;
    logic [       PageBits:0]        page_left;
    logic [              8:0]        burst;
    logic                            whole;
    logic                            drop;
    logic [     ByteBits-1:0]        strobes;

    // A message that ended takes no more beats until the next start; further ones are dropped.
    assign drop       = abort_q || ended_q || left_q == '0;
    assign some       = strobe_i[s*Bytes+:Bytes] != '0;
    assign ready_o[s] = drop || room;
    assign take       = valid_i[s] && ready_o[s];
    assign keep       = take && some && !drop;

    as_fifo #(
        .Width(BeatBits),
        .Depth(FifoBeats)
    ) i_beats (
        .clk_i,
        .rst_ni,
        .clr_i  (start_i),
        .valid_i(keep),
        .ready_o(room),
        .data_i ({strobe_i[s*Bytes+:Bytes], data_i[s*Bytes*8+:Bytes*8]}),
        .valid_o(head_valid[s]),
        .ready_i(pop[s]),
        .data_o (head[s*BeatBits+:BeatBits])
    );

    always_comb begin
      strobes = '0;
      for (int unsigned b = 0; b < Bytes; b++) strobes += ByteBits'(strobe_i[s*Bytes+b]);
    end

    // Waiting beats that have no burst yet: enough for a full one, or the last ones.
    assign page_left = (PageBits + 1)'(1 << PageBits) - {1'b0, address_q[OffsetBits+:PageBits]};
    always_comb begin
      burst = 9'(BurstBeats);
      if (32'(page_left) < 32'(burst)) burst = 9'(page_left);
      whole = 32'(level_q) >= 32'(burst);
      if (!whole) burst = 9'(level_q);
    end

    assign want_address[s*AddressBits+:AddressBits] = {address_q, {OffsetBits{1'b0}}};
    assign done[s]                                  = ended_q && level_q == '0 && !want_q[s];
    assign overflow_o[s]                            = overflow_q;
    assign bytes_o[s*32+:32]                        = bytes_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        want_q[s]  <= 1'b0;
        level_q    <= '0;
        ended_q    <= 1'b1;
        overflow_q <= 1'b0;
      end else if (start_i) begin
        want_q[s]  <= 1'b0;
        level_q    <= '0;
        ended_q    <= 1'b0;
        overflow_q <= 1'b0;
      end else begin
        if (take && last_i[s]) ended_q <= 1'b1;
        if (take && some && left_q == '0 && !ended_q && !abort_q) overflow_q <= 1'b1;
        // A request is decided in one cycle and granted in a later one.
        if (grant[s]) begin
          want_q[s] <= 1'b0;
        end else if (!want_q[s] && !abort_q && level_q != '0 && (whole || ended_q)) begin
          want_q[s] <= 1'b1;
        end
        level_q <= level_q + LevelBits'(keep) - (grant[s] ? LevelBits'(want_beats_q[s*9+:9]) : '0);
      end
    end

    always_ff @(posedge clk_i) begin
      if (start_i) begin
        address_q <= address_i[s*AddressBits+OffsetBits+:AddressBits-OffsetBits];
        left_q    <= capacity_i[s*32+:32];
        bytes_q   <= '0;
      end else begin
        if (keep) begin
          left_q  <= left_q - 32'd1;
          bytes_q <= bytes_q + 32'(strobes);
        end
        if (grant[s]) address_q <= address_q + (AddressBits - OffsetBits)'(want_beats_q[s*9+:9]);
      end
      if (!want_q[s]) want_beats_q[s*9+:9] <= burst;
    end
  end

  // Round-robin, starting after the last stream served.
  always_comb begin
    choice = turn_q;
    for (int unsigned k = Streams; k > 0; k--) begin
      int unsigned at;
      at = 32'(turn_q) + k;
      if (at >= Streams) at -= Streams;
      if (want_q[StreamBits'(at)]) choice = StreamBits'(at);
    end
  end

  logic orders_ready;
  logic order_valid;
  logic order_done;
  logic [StreamBits+7:0] order;
  logic [7:0] order_len;
  logic [7:0] choice_len;

  assign choice_len = 8'(want_beats_q[choice*9+:9] - 9'd1);
  assign granted    = want_q[choice] && !abort_q && orders_ready && (!aw_valid_q || aw_ready_i);

  always_comb begin
    grant = '0;
    if (granted) grant[choice] = 1'b1;
  end

  as_fifo #(
      .Width(StreamBits + 8),
      .Depth(16)
  ) i_orders (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(granted),
      .ready_o(orders_ready),
      .data_i ({choice, choice_len}),
      .valid_o(order_valid),
      .ready_i(order_done),
      .data_o (order)
  );

  // The beats of the bursts, in the order of their addresses, through a register.
  logic [StreamBits-1:0] source;
  logic                  w_valid_q;
  logic                  w_last_q;
  logic [  BeatBits-1:0] w_q;
  logic [           7:0] beat_q;
  logic                  move;
  logic                  last;

  assign {source, order_len} = order;
  assign move       = order_valid && head_valid[source] && (!w_valid_q || w_ready_i);
  assign last       = beat_q == order_len;
  assign order_done = move && last;

  always_comb begin
    pop = '0;
    if (move) pop[source] = 1'b1;
  end

  assign aw_valid_o           = aw_valid_q;
  assign aw_addr_o            = aw_addr_q;
  assign aw_len_o             = aw_len_q;
  assign w_valid_o            = w_valid_q;
  assign {w_strb_o, w_data_o} = w_q;
  assign w_last_o             = w_last_q;
  assign b_ready_o            = 1'b1;
  assign error_o              = error_q;
  assign idle_o               = (&done || abort_q) && outstanding_q == '0;

  // Only the upper bit of a response signals an error.
  logic unused;
  assign unused = ^{b_resp_i[0], capacity_i, address_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      abort_q       <= 1'b0;
      error_q       <= 1'b0;
      outstanding_q <= '0;
      turn_q        <= '0;
      aw_valid_q    <= 1'b0;
      w_valid_q     <= 1'b0;
      beat_q        <= '0;
    end else begin
      if (start_i) begin
        abort_q <= 1'b0;
        error_q <= 1'b0;
      end else begin
        if (abort_i) abort_q <= 1'b1;
        if (b_valid_i && b_resp_i[1]) error_q <= 1'b1;
      end
      outstanding_q <= outstanding_q + 16'(granted) - 16'(b_valid_i);
      if (granted) turn_q <= choice;
      if (!aw_valid_q || aw_ready_i) aw_valid_q <= granted;
      if (!w_valid_q || w_ready_i) w_valid_q <= move;
      if (move) beat_q <= last ? '0 : beat_q + 8'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (granted) begin
      aw_addr_q <= want_address[choice*AddressBits+:AddressBits];
      aw_len_q  <= choice_len;
    end
    if (move) begin
      w_q      <= head[source*BeatBits+:BeatBits];
      w_last_q <= last;
    end
  end

  `AS_STREAM_STABLE(aw, aw_valid_o, aw_ready_i, {aw_len_o, aw_addr_o}, 1'b0)
  `AS_STREAM_STABLE(w, w_valid_o, w_ready_i, {w_last_o, w_strb_o, w_data_o}, 1'b0)

endmodule

`default_nettype wire
