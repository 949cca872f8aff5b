// SPDX-License-Identifier: Apache-2.0
// Reads the members and makes the objects: phase 2 of the object-structure paper (Sect. 5.3.2), one
// step per cycle.
//
// A class is one step or several. A step looks at up to StepBytes of the message (`need`), consumes
// them or leaves them to the next step (`take`), and makes at most one beat of memory. The design's
// map defines the steps (ports named `map_…`). A step passes four stages:
//   0  the window has its bytes; object ids in it go to the object table
//   1  the table answers; the entry of each id is chosen
//   2  the map checks for faults, pointers are formed, the piece is assembled
//   3  the piece waits for the packer
// The first fault in message order stops everything after it: no piece of a step with a fault
// leaves. `done_o` is high for one cycle after the last piece, or with a fault.
//
// Latency: 4 cycles. Throughput: one step per cycle. `piece_ready_i` reaches all stages within the
// cycle.
//
// Layer: graph.

`include "as_assertions.svh"

`default_nettype none

module as_graph_fill #(
    parameter  int unsigned Bytes        = 16,
    parameter  int unsigned StepBytes    = 16,
    parameter  int unsigned GranuleBytes = 4,
    parameter  int unsigned Lanes        = 4,
    parameter  int unsigned Refs         = 2,
    parameter  int unsigned TypeBits     = 1,
    parameter  int unsigned StepBits     = 2,
    parameter  int unsigned SlotBits     = 1,
    parameter  int unsigned AlignBits    = 1,
    parameter  int unsigned OffsetBits   = 16,
    parameter  int unsigned CountBits    = 9,
    parameter  int unsigned WordBits     = 6,
    parameter  int unsigned PointerBits  = 32,
    parameter  int unsigned LengthBits   = 32,
    localparam int unsigned EntryBits    = OffsetBits + TypeBits,
    localparam int unsigned LaneBits     = as_stream_pkg::index_bits(Lanes),
    localparam int unsigned LeftLaneBits = as_stream_pkg::count_bits(Lanes),
    localparam int unsigned TakeBits     = as_stream_pkg::count_bits(StepBytes),
    localparam int unsigned PieceBits    = as_stream_pkg::count_bits(2 * (Bytes / GranuleBytes))
) (
    input logic clk_i,
    input logic rst_ni,

    input logic                   start_i,
    input logic [  CountBits-1:0] count_i,
    input logic [PointerBits-1:0] base_i,

    input  logic                   window_ready_i,
    input  logic [StepBytes*8-1:0] window_i,
    input  logic [ LengthBits-1:0] left_i,
    input  logic [ LengthBits-1:0] position_i,
    output logic [   TakeBits-1:0] take_o,

    // The classes of the objects, in words of Lanes; answers come one cycle after `types_read_o`.
    output logic                      types_read_o,
    output logic [      WordBits-1:0] types_address_o,
    input  logic [Lanes*TypeBits-1:0] types_word_i,

    // The object table, one port for each reference of a step; answers come one cycle after
    // `table_read_o`.
    output logic                            table_read_o,
    output logic [       Refs*WordBits-1:0] table_address_o,
    input  logic [Refs*Lanes*EntryBits-1:0] table_word_i,

    // The vtable pointers; answers come one cycle after `vptr_read_o`.
    output logic                   vptr_read_o,
    output logic [   SlotBits-1:0] vptr_slot_o,
    input  logic [PointerBits-1:0] vptr_i,

    // The map, all combinational. The first step of a class, and what a step is:
    output logic [ TypeBits-1:0] map_type_o,
    input  logic [ StepBits-1:0] map_first_i,
    output logic [ StepBits-1:0] map_next_o,
    input  logic                 map_last_i,
    input  logic [ TakeBits-1:0] map_need_i,
    input  logic [ TakeBits-1:0] map_take_i,
    input  logic [PieceBits-1:0] map_granules_i,
    input  logic [ SlotBits-1:0] map_slot_i,
    input  logic [AlignBits-1:0] map_align_mask_i,
    // the object ids in the window of a step:
    output logic [     StepBits-1:0] map_read_step_o,
    output logic [  StepBytes*8-1:0] map_read_window_o,
    input  logic [      Refs*32-1:0] map_id_i,
    // what the step makes of its bytes, of the referenced objects, and of the bytes present:
    output logic [        StepBits-1:0] map_step_o,
    output logic [     StepBytes*8-1:0] map_window_o,
    output logic [        TakeBits-1:0] map_left_o,
    output logic [   Refs*TypeBits-1:0] map_target_o,
    output logic [            Refs-1:0] map_null_o,
    output logic [            Refs-1:0] map_outside_o,
    output logic [Refs*PointerBits-1:0] map_address_o,
    output logic [     PointerBits-1:0] map_vptr_o,
    input  as_graph_pkg::code_e         map_code_i,
    input  logic [        TakeBits-1:0] map_fault_at_i,
    input  logic [         Bytes*8-1:0] map_piece_i,

    output logic                 piece_valid_o,
    input  logic                 piece_ready_i,
    output logic [  Bytes*8-1:0] piece_o,
    output logic [PieceBits-1:0] piece_granules_o,
    // Granules of zeros that come before the piece.
    output logic [AlignBits-1:0] piece_skip_o,
    output logic                 piece_last_o,

    output logic                  done_o,
    output as_graph_pkg::code_e   code_o,
    output logic [LengthBits-1:0] position_o
);

  logic                      advance;
  logic                      stop;

  // The next class. Words of classes are fetched one ahead.
  logic [Lanes*TypeBits-1:0] word_q;
  logic [  LeftLaneBits-1:0] lanes_left_q;
  logic                      word_ready_q;
  logic [      WordBits-1:0] word_address_q;
  logic [     CountBits-1:0] objects_left_q;
  logic                      load;
  logic                      pop;

  // The next step, and what it is.
  logic                      step_valid_q;
  logic [      StepBits-1:0] step_q;
  logic                      step_first_q;
  logic                      step_last_q;
  logic [      TakeBits-1:0] step_need_q;
  logic [      TakeBits-1:0] step_take_q;
  logic [     PieceBits-1:0] step_granules_q;
  logic [      SlotBits-1:0] step_slot_q;
  logic [     AlignBits-1:0] step_mask_q;
  logic                      step_next;
  logic                      fire;
  logic                      short_of_bytes;

  assign map_type_o = word_q[TypeBits-1:0];
  assign map_next_o = step_valid_q && !step_last_q ? step_q + 1'b1 : map_first_i;
  assign step_next  = !step_valid_q || fire;
  assign pop        = step_next && !(step_valid_q && !step_last_q) && lanes_left_q != '0 && objects_left_q != '0;
  assign load       = word_ready_q && (lanes_left_q == '0 || (lanes_left_q == LeftLaneBits'(1) && pop));

  assign types_read_o    = start_i || load;
  assign types_address_o = start_i ? '0 : word_address_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_valid_q   <= 1'b0;
      lanes_left_q   <= '0;
      word_ready_q   <= 1'b0;
      objects_left_q <= '0;
    end else if (start_i) begin
      step_valid_q   <= 1'b0;
      lanes_left_q   <= '0;
      word_ready_q   <= 1'b1;
      objects_left_q <= count_i;
    end else if (stop) begin
      step_valid_q   <= 1'b0;
      objects_left_q <= '0;
    end else begin
      if (load) lanes_left_q <= LeftLaneBits'(Lanes);
      else if (pop) lanes_left_q <= lanes_left_q - 1'b1;
      if (pop) objects_left_q <= objects_left_q - 1'b1;
      if (step_next) step_valid_q <= pop || (step_valid_q && !step_last_q);
      // No step after one that lacks bytes is looked at.
      if (fire && short_of_bytes) begin
        step_valid_q   <= 1'b0;
        objects_left_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) word_address_q <= WordBits'(1);
    else if (load) word_address_q <= word_address_q + 1'b1;
    if (load) word_q <= types_word_i;
    else if (pop) word_q <= word_q >> TypeBits;
    if (step_next) begin
      step_q          <= map_next_o;
      step_first_q    <= !(step_valid_q && !step_last_q);
      step_last_q     <= map_last_i;
      step_need_q     <= map_need_i;
      step_take_q     <= map_take_i;
      step_granules_q <= map_granules_i;
      step_slot_q     <= map_slot_i;
      step_mask_q     <= map_align_mask_i;
    end
  end

  // Stage 0: the window.
  logic [     Refs-1:0] outside;
  logic [     Refs-1:0] null_id;
  logic [ TakeBits-1:0] left;

  assign fire              = step_valid_q && window_ready_i && advance && !stop;
  assign short_of_bytes    = left_i < LengthBits'(step_need_q);
  assign left              = short_of_bytes ? TakeBits'(left_i) : TakeBits'(StepBytes);
  assign take_o            = fire ? (short_of_bytes ? '0 : step_take_q) : '0;
  assign map_read_step_o   = step_q;
  assign map_read_window_o = window_i;
  assign table_read_o      = advance;

  always_comb begin
    for (int unsigned ref_index = 0; ref_index < Refs; ref_index++) begin
      outside[ref_index] = map_id_i[ref_index*32+:32] >= 32'(count_i);
      null_id[ref_index] = map_id_i[ref_index*32+:32] == as_graph_pkg::NullId;
      table_address_o[ref_index*WordBits+:WordBits] = map_id_i[ref_index*32+$clog2(Lanes)+:WordBits];
    end
  end

  // Stage 1: the entries.
  logic                     read_valid_q;
  logic [     StepBits-1:0] read_step_q;
  logic [  StepBytes*8-1:0] read_window_q;
  logic [     TakeBits-1:0] read_left_q;
  logic [    PieceBits-1:0] read_granules_q;
  logic [     SlotBits-1:0] read_slot_q;
  logic [    AlignBits-1:0] read_mask_q;
  logic                     read_last_q;
  logic [   LengthBits-1:0] read_position_q;
  logic [         Refs-1:0] read_null_q;
  logic [         Refs-1:0] read_outside_q;
  logic [Refs*LaneBits-1:0] read_lane_q;

  assign vptr_read_o = advance;
  assign vptr_slot_o = read_slot_q;

  // Stage 2: faults and pointers.
  logic                      make_valid_q;
  logic [      StepBits-1:0] make_step_q;
  logic [   StepBytes*8-1:0] make_window_q;
  logic [      TakeBits-1:0] make_left_q;
  logic [     PieceBits-1:0] make_granules_q;
  logic [     AlignBits-1:0] make_mask_q;
  logic                      make_last_q;
  logic [    LengthBits-1:0] make_position_q;
  logic [          Refs-1:0] make_null_q;
  logic [          Refs-1:0] make_outside_q;
  logic [Refs*EntryBits-1:0] make_entry_q;
  logic [     AlignBits-1:0] cursor_q;
  logic [     AlignBits-1:0] skip;

  assign map_step_o    = make_step_q;
  assign map_window_o  = make_window_q;
  assign map_left_o    = make_left_q;
  assign map_null_o    = make_null_q;
  assign map_outside_o = make_outside_q;
  assign map_vptr_o    = vptr_i;
  // The padding between the end of the previous object and this one's alignment.
  assign skip          = (~cursor_q + 1'b1) & make_mask_q;
  assign stop          = make_valid_q && map_code_i != as_graph_pkg::Good;

  always_comb begin
    for (int unsigned ref_index = 0; ref_index < Refs; ref_index++) begin
      map_target_o[ref_index*TypeBits+:TypeBits] = make_entry_q[ref_index*EntryBits+:TypeBits];
      map_address_o[ref_index*PointerBits+:PointerBits] =
          base_i + PointerBits'(make_entry_q[ref_index*EntryBits+TypeBits+:OffsetBits]) * PointerBits'(GranuleBytes);
    end
  end

  // Stage 3: the piece.
  logic                 piece_valid_q;
  logic [  Bytes*8-1:0] piece_q;
  logic [PieceBits-1:0] piece_granules_q;
  logic [AlignBits-1:0] piece_skip_q;
  logic                 piece_last_q;

  assign advance          = !piece_valid_q || piece_ready_i;
  assign piece_valid_o    = piece_valid_q;
  assign piece_o          = piece_q;
  assign piece_granules_o = piece_granules_q;
  assign piece_skip_o     = piece_skip_q;
  assign piece_last_o     = piece_last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q  <= 1'b0;
      make_valid_q  <= 1'b0;
      piece_valid_q <= 1'b0;
      done_o        <= 1'b0;
    end else if (start_i) begin
      read_valid_q  <= 1'b0;
      make_valid_q  <= 1'b0;
      piece_valid_q <= 1'b0;
      done_o        <= 1'b0;
    end else begin
      done_o <= stop || (piece_valid_q && piece_ready_i && piece_last_q);
      if (stop) begin
        read_valid_q <= 1'b0;
        make_valid_q <= 1'b0;
        if (piece_ready_i) piece_valid_q <= 1'b0;
      end else if (advance) begin
        read_valid_q  <= fire;
        make_valid_q  <= read_valid_q;
        piece_valid_q <= make_valid_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) cursor_q <= '0;
    else if (advance && make_valid_q) cursor_q <= cursor_q + skip + AlignBits'(make_granules_q);
    if (advance) begin
      read_step_q      <= step_q;
      read_window_q    <= window_i;
      read_left_q      <= left;
      read_granules_q  <= step_granules_q;
      read_slot_q      <= step_slot_q;
      read_mask_q      <= step_first_q ? step_mask_q : '0;
      read_last_q      <= step_last_q && objects_left_q == '0;
      read_position_q  <= position_i;
      read_null_q      <= null_id;
      read_outside_q   <= outside;
      for (int unsigned ref_index = 0; ref_index < Refs; ref_index++) begin
        read_lane_q[ref_index*LaneBits+:LaneBits] <= map_id_i[ref_index*32+:LaneBits];
        make_entry_q[ref_index*EntryBits+:EntryBits] <=
            EntryBits'(table_word_i[ref_index*Lanes*EntryBits+:Lanes*EntryBits] >>
                       (32'(read_lane_q[ref_index*LaneBits+:LaneBits]) * EntryBits));
      end
      make_step_q      <= read_step_q;
      make_window_q    <= read_window_q;
      make_left_q      <= read_left_q;
      make_granules_q  <= read_granules_q;
      make_mask_q      <= read_mask_q;
      make_last_q      <= read_last_q;
      make_position_q  <= read_position_q;
      make_null_q      <= read_null_q;
      make_outside_q   <= read_outside_q;
      piece_q          <= map_piece_i;
      piece_granules_q <= make_granules_q;
      piece_skip_q     <= skip;
      piece_last_q     <= make_last_q;
    end
    code_o     <= stop ? map_code_i : as_graph_pkg::Good;
    position_o <= make_position_q + LengthBits'(map_fault_at_i);
  end

  `AS_STREAM_STABLE(piece, piece_valid_o, piece_ready_i, {piece_last_o, piece_skip_o, piece_granules_o, piece_o}, 1'b0)

endmodule

`default_nettype wire
