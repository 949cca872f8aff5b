// SPDX-License-Identifier: Apache-2.0
// The object-graph deserializer: handles one request at a time, from a stream of beats to a stream
// of beats.
//
// A request gives the message's length, its offset in the first beat, whether it has a header, and
// the region's address and capacity. The core checks it, reads header and count, lets
// as_graph_alloc place the objects and as_graph_fill make them, and answers with a code, a
// position, the sums and the cycles taken (from accepting the request to the last write's
// response). docs/design/0004-object-graphs.md defines the checks, their order and their positions.
//
// What depends on the classes comes from a generated map, through the ports `lane_…` and `map_…`.
//
// Throughput: Lanes type ids per cycle, then one step per cycle. Between requests: about 15 cycles,
// including the memory's write response. The beats of the next message may already wait at the
// input.
//
// Layer: graph.

`include "as_assertions.svh"

`default_nettype none

module as_graph_core #(
    parameter int unsigned Bytes        = 16,
    parameter int unsigned StepBytes    = 16,
    parameter int unsigned GranuleBytes = 4,
    parameter int unsigned Refs         = 2,
    parameter int unsigned ObjectsMax   = 1024,
    parameter int unsigned TypeBits     = 1,
    parameter int unsigned SizeBits     = 8,
    parameter int unsigned StepBits     = 2,
    parameter int unsigned SlotBits     = 1,
    parameter int unsigned AlignBits    = 1,
    parameter int unsigned OffsetBits   = 16,
    parameter int unsigned PointerBits  = 32,
    parameter int unsigned AddressBits  = 64,
    parameter int unsigned LengthBits   = 32,
    parameter logic [63:0] LayoutHash   = 64'd0,
    localparam int unsigned Lanes         = Bytes / 4,
    localparam int unsigned CountBits     = as_stream_pkg::count_bits(ObjectsMax),
    localparam int unsigned WordBits      = as_stream_pkg::index_bits(ObjectsMax / Lanes),
    localparam int unsigned ByteBits      = $clog2(Bytes),
    localparam int unsigned StepTakeBits  = as_stream_pkg::count_bits(StepBytes),
    localparam int unsigned PieceBits     = as_stream_pkg::count_bits(2 * (Bytes / GranuleBytes)),
    localparam int unsigned WriteBeatBits = LengthBits - ByteBits + 1
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                   request_valid_i,
    output logic                   request_ready_o,
    input  logic [   ByteBits-1:0] request_offset_i,
    input  logic [ LengthBits-1:0] request_length_i,
    input  logic                   request_header_i,
    input  logic [AddressBits-1:0] request_region_i,
    input  logic [ LengthBits-1:0] request_capacity_i,

    output logic                  response_valid_o,
    input  logic                  response_ready_i,
    output as_graph_pkg::code_e   response_code_o,
    output logic [LengthBits-1:0] response_position_o,
    output logic [LengthBits-1:0] response_objects_o,
    output logic [LengthBits-1:0] response_bytes_o,
    output logic [          31:0] response_cycles_o,

    input  logic               beat_valid_i,
    output logic               beat_ready_o,
    input  logic [Bytes*8-1:0] beat_i,
    input  logic               beat_error_i,

    output logic                            write_request_o,
    output logic [AddressBits-1:ByteBits]   write_beat_address_o,
    output logic [       WriteBeatBits-1:0] write_beats_o,
    output logic                            write_abort_o,
    input  logic                            write_idle_i,
    input  logic                            write_error_i,
    output logic                            write_valid_o,
    input  logic                            write_ready_i,
    output logic [             Bytes*8-1:0] write_data_o,
    output logic [               Bytes-1:0] write_strobe_o,

    output logic                   vptr_read_o,
    output logic [   SlotBits-1:0] vptr_slot_o,
    input  logic [PointerBits-1:0] vptr_i,

    output logic [       Lanes*32-1:0] lane_id_o,
    input  logic [          Lanes-1:0] lane_known_i,
    input  logic [          Lanes-1:0] lane_root_i,
    input  logic [ Lanes*TypeBits-1:0] lane_type_i,
    input  logic [ Lanes*SizeBits-1:0] lane_size_i,
    input  logic [Lanes*AlignBits-1:0] lane_align_mask_i,

    output logic [        TypeBits-1:0] map_type_o,
    input  logic [        StepBits-1:0] map_first_i,
    output logic [        StepBits-1:0] map_next_o,
    input  logic                        map_last_i,
    input  logic [    StepTakeBits-1:0] map_need_i,
    input  logic [    StepTakeBits-1:0] map_take_i,
    input  logic [       PieceBits-1:0] map_granules_i,
    input  logic [        SlotBits-1:0] map_slot_i,
    input  logic [       AlignBits-1:0] map_align_mask_i,
    output logic [        StepBits-1:0] map_read_step_o,
    output logic [     StepBytes*8-1:0] map_read_window_o,
    input  logic [         Refs*32-1:0] map_id_i,
    output logic [        StepBits-1:0] map_step_o,
    output logic [     StepBytes*8-1:0] map_window_o,
    output logic [    StepTakeBits-1:0] map_left_o,
    output logic [   Refs*TypeBits-1:0] map_target_o,
    output logic [            Refs-1:0] map_null_o,
    output logic [            Refs-1:0] map_outside_o,
    output logic [Refs*PointerBits-1:0] map_address_o,
    output logic [     PointerBits-1:0] map_vptr_o,
    input  as_graph_pkg::code_e         map_code_i,
    input  logic [    StepTakeBits-1:0] map_fault_at_i,
    input  logic [         Bytes*8-1:0] map_piece_i
);

  localparam int unsigned EntryBits    = OffsetBits + TypeBits;
  localparam int unsigned WindowBits   = as_stream_pkg::count_bits(Bytes);
  localparam int unsigned GranuleShift = $clog2(GranuleBytes);

  typedef enum logic [3:0] {
    Idle,
    Begin,
    Magic,
    Hash,
    Length,
    Count,
    Allocate,
    Fill,
    Settle,
    Respond
  } state_e;

  state_e                state_q;
  as_graph_pkg::code_e   code_q;
  logic [LengthBits-1:0] fault_at_q;
  logic [AddressBits-1:0] region_q;
  logic [LengthBits-1:0] capacity_q;
  logic [LengthBits-1:0] length_q;
  logic                  header_q;
  logic [ CountBits-1:0] count_q;
  logic [OffsetBits-1:0] end_q;
  logic [          31:0] cycles_q;
  logic                  bus_error_q;

  // The window on the message.
  logic                  window_start;
  logic                  window_finish;
  logic                  window_idle;
  logic                  window_ready;
  logic [   Bytes*8-1:0] window;
  logic [LengthBits-1:0] left;
  logic [LengthBits-1:0] position;
  logic [WindowBits-1:0] take;
  logic                  unused_ahead_ready;
  logic [           7:0] unused_ahead;

  assign request_ready_o = state_q == Idle && window_idle;
  assign window_start    = request_ready_o && request_valid_i;
  assign position        = length_q - left;

  as_stream_window #(
      .Bytes     (Bytes),
      .LengthBits(LengthBits)
  ) i_window (
      .clk_i,
      .rst_ni,
      .start_i (window_start),
      .offset_i(request_offset_i),
      .length_i(request_length_i),
      .finish_i(window_finish),
      .idle_o  (window_idle),
      .beat_valid_i,
      .beat_ready_o,
      .beat_i,
      .ready_o (window_ready),
      .window_o(window),
      .left_o  (left),
      .take_i  (take),
      .ahead_ready_o(unused_ahead_ready),
      .ahead_o (unused_ahead)
  );

  // Header and count: the 4, 8 or 4 bytes at the start of the window.
  as_graph_pkg::code_e   head_code;
  logic [           4:0] head_at;
  logic [           4:0] head_take;
  logic                  region_bad;
  logic [AddressBits:0]  region_end;
  logic [          31:0] head_count;
  logic                  looking;

  assign region_end = {1'b0, region_q} + (AddressBits + 1)'(capacity_q);
  // The region's end must be an address too; pointers have PointerBits of it.
  assign region_bad = region_q[ByteBits-1:0] != '0 || region_end >> PointerBits != '0;
  assign head_count = window[31:0];
  assign looking    = window_ready && (state_q == Magic || state_q == Hash || state_q == Length || state_q == Count);

  always_comb begin
    head_code = as_graph_pkg::Good;
    head_at   = 5'd0;
    head_take = 5'd4;
    unique case (state_q)
      Magic: begin
        head_take = 5'd8;
        if (left < 4) head_code = as_graph_pkg::Truncated;
        else if (window[31:0] != as_graph_pkg::HeaderMagic) head_code = as_graph_pkg::BadHeader;
        else begin
          head_at = 5'd4;
          if (left < 6) head_code = as_graph_pkg::Truncated;
          else if (window[47:32] != as_graph_pkg::HeaderVersion) head_code = as_graph_pkg::BadHeader;
          else begin
            head_at = 5'd6;
            if (left < 8) head_code = as_graph_pkg::Truncated;
            else if (window[63:48] != as_graph_pkg::HeaderBytes) head_code = as_graph_pkg::BadHeader;
          end
        end
      end
      Hash: begin
        head_take = 5'd8;
        if (left < 8) head_code = as_graph_pkg::Truncated;
        else if (window[63:0] != LayoutHash) head_code = as_graph_pkg::WrongLayout;
      end
      Length: begin
        if (left < 4) head_code = as_graph_pkg::Truncated;
        else if (LengthBits'(window[31:0]) != left - LengthBits'(4)) head_code = as_graph_pkg::BadHeader;
      end
      default: begin
        if (left < 4) head_code = as_graph_pkg::Truncated;
        else if (head_count == '0) head_code = as_graph_pkg::NoObjects;
        else if (head_count > 32'(ObjectsMax)) head_code = as_graph_pkg::TooManyObjects;
      end
    endcase
  end

  // Phase 1.
  localparam int unsigned AllocTakeBits = as_stream_pkg::count_bits(Lanes * 4);
  logic                       alloc_start;
  logic [AllocTakeBits-1:0]   alloc_take;
  logic                       alloc_done;
  as_graph_pkg::code_e        alloc_code;
  logic [LengthBits-1:0]      alloc_position;
  logic [OffsetBits-1:0]      alloc_end;
  logic [OffsetBits-1:0]      capacity_granules;
  logic                       table_write;
  logic [WordBits-1:0]        table_write_address;
  logic [Lanes*EntryBits-1:0] table_write_word;

  // A capacity above what all objects together can need saturates at the largest count.
  assign capacity_granules = (capacity_q >> GranuleShift) >> OffsetBits != '0
      ? '1 : OffsetBits'(capacity_q >> GranuleShift);
  assign alloc_start = state_q == Count && window_ready && head_code == as_graph_pkg::Good;

  as_graph_alloc #(
      .Lanes     (Lanes),
      .TypeBits  (TypeBits),
      .SizeBits  (SizeBits),
      .AlignBits (AlignBits),
      .OffsetBits(OffsetBits),
      .CountBits (CountBits),
      .WordBits  (WordBits),
      .LengthBits(LengthBits)
  ) i_alloc (
      .clk_i,
      .rst_ni,
      .start_i        (alloc_start),
      .count_i        (CountBits'(head_count)),
      .capacity_i     (capacity_granules),
      .window_ready_i (window_ready),
      .window_i       (window[Lanes*32-1:0]),
      .left_i         (left),
      .position_i     (position),
      .take_o         (alloc_take),
      .lane_id_o,
      .lane_known_i,
      .lane_root_i,
      .lane_type_i,
      .lane_size_i,
      .lane_align_mask_i,
      .table_write_o  (table_write),
      .table_address_o(table_write_address),
      .table_word_o   (table_write_word),
      .done_o         (alloc_done),
      .code_o         (alloc_code),
      .position_o     (alloc_position),
      .end_o          (alloc_end)
  );

  // The object table, once for each reference of a step, and the classes alone for the order of
  // objects.
  logic                            types_read;
  logic [            WordBits-1:0] types_address;
  logic [      Lanes*TypeBits-1:0] types_word;
  logic [      Lanes*TypeBits-1:0] types_write_word;
  logic                            table_read;
  logic [       Refs*WordBits-1:0] table_address;
  logic [Refs*Lanes*EntryBits-1:0] table_word;

  always_comb begin
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      types_write_word[lane*TypeBits+:TypeBits] = table_write_word[lane*EntryBits+:TypeBits];
    end
  end

  as_ram #(
      .Width(Lanes * TypeBits),
      .Depth(ObjectsMax / Lanes)
  ) i_types (
      .clk_i,
      .write_i        (table_write),
      .write_address_i(table_write_address),
      .write_data_i   (types_write_word),
      .read_i         (types_read),
      .read_address_i (types_address),
      .read_data_o    (types_word)
  );

  for (genvar ref_index = 0; ref_index < Refs; ref_index++) begin : gen_table
    as_ram #(
        .Width(Lanes * EntryBits),
        .Depth(ObjectsMax / Lanes)
    ) i_table (
        .clk_i,
        .write_i        (table_write),
        .write_address_i(table_write_address),
        .write_data_i   (table_write_word),
        .read_i         (table_read),
        .read_address_i (table_address[ref_index*WordBits+:WordBits]),
        .read_data_o    (table_word[ref_index*Lanes*EntryBits+:Lanes*EntryBits])
    );
  end

  // Phase 2.
  logic                    fill_start;
  logic [StepTakeBits-1:0] fill_take;
  logic                    fill_done;
  as_graph_pkg::code_e     fill_code;
  logic [  LengthBits-1:0] fill_position;
  logic                    piece_valid;
  logic                    piece_ready;
  logic [     Bytes*8-1:0] piece;
  logic [   PieceBits-1:0] piece_granules;
  logic [   AlignBits-1:0] piece_skip;
  logic                    piece_last;

  assign fill_start = state_q == Allocate && alloc_done && alloc_code == as_graph_pkg::Good;

  as_graph_fill #(
      .Bytes       (Bytes),
      .StepBytes   (StepBytes),
      .GranuleBytes(GranuleBytes),
      .Lanes       (Lanes),
      .Refs        (Refs),
      .TypeBits    (TypeBits),
      .StepBits    (StepBits),
      .SlotBits    (SlotBits),
      .AlignBits   (AlignBits),
      .OffsetBits  (OffsetBits),
      .CountBits   (CountBits),
      .WordBits    (WordBits),
      .PointerBits (PointerBits),
      .LengthBits  (LengthBits)
  ) i_fill (
      .clk_i,
      .rst_ni,
      .start_i         (fill_start),
      .count_i         (count_q),
      .base_i          (PointerBits'(region_q)),
      .window_ready_i  (window_ready),
      .window_i        (window[StepBytes*8-1:0]),
      .left_i          (left),
      .position_i      (position),
      .take_o          (fill_take),
      .types_read_o    (types_read),
      .types_address_o (types_address),
      .types_word_i    (types_word),
      .table_read_o    (table_read),
      .table_address_o (table_address),
      .table_word_i    (table_word),
      .vptr_read_o,
      .vptr_slot_o,
      .vptr_i,
      .map_type_o,
      .map_first_i,
      .map_next_o,
      .map_last_i,
      .map_need_i,
      .map_take_i,
      .map_granules_i,
      .map_slot_i,
      .map_align_mask_i,
      .map_read_step_o,
      .map_read_window_o,
      .map_id_i,
      .map_step_o,
      .map_window_o,
      .map_left_o,
      .map_target_o,
      .map_null_o,
      .map_outside_o,
      .map_address_o,
      .map_vptr_o,
      .map_code_i,
      .map_fault_at_i,
      .map_piece_i,
      .piece_valid_o   (piece_valid),
      .piece_ready_i   (piece_ready),
      .piece_o         (piece),
      .piece_granules_o(piece_granules),
      .piece_skip_o    (piece_skip),
      .piece_last_o    (piece_last),
      .done_o          (fill_done),
      .code_o          (fill_code),
      .position_o      (fill_position)
  );

  as_stream_packer #(
      .Bytes       (Bytes),
      .GranuleBytes(GranuleBytes),
      .SkipBits    (AlignBits)
  ) i_packer (
      .clk_i,
      .rst_ni,
      .clr_i   (fill_start),
      .valid_i (piece_valid),
      .ready_o (piece_ready),
      .data_i  (piece),
      .count_i (piece_granules),
      .skip_i  (piece_skip),
      .last_i  (piece_last),
      .valid_o (write_valid_o),
      .ready_i (write_ready_i),
      .data_o  (write_data_o),
      .strobe_o(write_strobe_o)
  );

  assign write_request_o      = fill_start;
  assign write_beat_address_o = region_q[AddressBits-1:ByteBits];
  assign write_beats_o        = WriteBeatBits'(((LengthBits + 1)'(alloc_end) * (LengthBits + 1)'(GranuleBytes) +
                                               (LengthBits + 1)'(Bytes - 1)) >> ByteBits);
  assign write_abort_o        = state_q == Settle && code_q != as_graph_pkg::Good;
  assign window_finish        = state_q == Settle;

  always_comb begin
    take = '0;
    if (looking && head_code == as_graph_pkg::Good) take = WindowBits'(head_take);
    else if (state_q == Allocate) take = WindowBits'(alloc_take);
    else if (state_q == Fill) take = WindowBits'(fill_take);
  end

  assign response_valid_o    = state_q == Respond;
  assign response_code_o     = bus_error_q ? as_graph_pkg::BusError : code_q;
  assign response_position_o = bus_error_q ? '0 : fault_at_q;
  assign response_objects_o  = LengthBits'(count_q);
  assign response_bytes_o    = LengthBits'(end_q) * LengthBits'(GranuleBytes);
  assign response_cycles_o   = cycles_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      code_q  <= as_graph_pkg::Good;
    end else begin
      unique case (state_q)
        Idle: begin
          code_q <= as_graph_pkg::Good;
          if (window_start) state_q <= Begin;
        end
        Begin: begin
          if (region_bad) begin
            code_q  <= as_graph_pkg::BadRegion;
            state_q <= Settle;
          end else begin
            state_q <= header_q ? Magic : Count;
          end
        end
        Magic, Hash, Length, Count: begin
          if (window_ready) begin
            code_q  <= head_code;
            state_q <= head_code != as_graph_pkg::Good ? Settle :
                       state_q == Magic ? Hash : state_q == Hash ? Length : state_q == Length ? Count : Allocate;
          end
        end
        Allocate: begin
          if (alloc_done) begin
            code_q  <= alloc_code;
            state_q <= alloc_code == as_graph_pkg::Good ? Fill : Settle;
          end
        end
        Fill: begin
          if (fill_done) begin
            code_q  <= fill_code == as_graph_pkg::Good && left != '0 ? as_graph_pkg::TrailingBytes : fill_code;
            state_q <= Settle;
          end
        end
        Settle: begin
          if (window_idle && write_idle_i) state_q <= Respond;
        end
        default: begin
          if (response_ready_i) state_q <= Idle;
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        header_q   <= request_header_i;
        region_q   <= request_region_i;
        capacity_q <= request_capacity_i;
        length_q   <= request_length_i;
        count_q    <= '0;
        end_q      <= '0;
        cycles_q   <= '0;
        fault_at_q <= '0;
      end
      Begin: fault_at_q <= '0;
      Magic, Hash, Length, Count: begin
        if (window_ready) begin
          fault_at_q <= head_code == as_graph_pkg::Good ? '0 : position + LengthBits'(head_at);
          if (alloc_start) count_q <= CountBits'(head_count);
        end
      end
      Allocate: begin
        if (alloc_done) begin
          end_q      <= alloc_code == as_graph_pkg::Good ? alloc_end : '0;
          fault_at_q <= alloc_code == as_graph_pkg::Good ? '0 : alloc_position;
        end
      end
      Fill: begin
        if (fill_done) begin
          fault_at_q <= fill_code != as_graph_pkg::Good ? fill_position : left != '0 ? position : '0;
        end
      end
      default: ;
    endcase
    if (state_q != Idle && state_q != Respond) cycles_q <= cycles_q + 32'd1;
    // A refused read or write belongs to the request in progress when it is seen.
    if (state_q == Idle) bus_error_q <= 1'b0;
    else if ((beat_valid_i && beat_ready_o && beat_error_i) || (write_error_i && end_q != '0)) bus_error_q <= 1'b1;
  end

  `AS_STREAM_STABLE(response, response_valid_o, response_ready_i,
                    {response_code_o, response_position_o, response_objects_o, response_bytes_o}, 1'b0)

endmodule

`default_nettype wire
