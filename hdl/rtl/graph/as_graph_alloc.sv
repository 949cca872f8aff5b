// SPDX-License-Identifier: Apache-2.0
// Reads the list of type ids and allocates: phase 1 of the object-structure paper (Sect. 5.3.2),
// several objects per cycle.
//
// Each cycle takes a window of up to Lanes type ids, looks them up in the design's map, and places
// the objects one after another at the alignment of their classes. The output, a word of Lanes
// entries {offset in granules, class} per cycle, goes to the object table. The first fault in
// message order stops it: unknown class, root of the wrong class, region full, end of the message.
// `done_o` is high for one cycle, with the fault or the sum.
//
// Latency: 3 cycles after the last id. Throughput: Lanes objects per cycle.
//
// Layer: graph.

`default_nettype none

module as_graph_alloc #(
    parameter  int unsigned Lanes       = 4,
    parameter  int unsigned TypeBits    = 1,
    parameter  int unsigned SizeBits    = 8,
    parameter  int unsigned AlignBits   = 1,
    parameter  int unsigned OffsetBits  = 16,
    parameter  int unsigned CountBits   = 9,
    parameter  int unsigned WordBits    = 6,
    parameter  int unsigned LengthBits  = 32,
    localparam int unsigned EntryBits   = OffsetBits + TypeBits,
    localparam int unsigned TakeBits    = as_stream_pkg::count_bits(Lanes * 4)
) (
    input logic clk_i,
    input logic rst_ni,

    // The number of objects; the window is at the first type id. Capacity in granules.
    input logic                  start_i,
    input logic [ CountBits-1:0] count_i,
    input logic [OffsetBits-1:0] capacity_i,

    input  logic                  window_ready_i,
    input  logic [  Lanes*32-1:0] window_i,
    input  logic [LengthBits-1:0] left_i,
    input  logic [LengthBits-1:0] position_i,
    output logic [  TakeBits-1:0] take_o,

    // The map: looks up a type id.
    output logic [       Lanes*32-1:0] lane_id_o,
    input  logic [          Lanes-1:0] lane_known_i,
    input  logic [          Lanes-1:0] lane_root_i,
    input  logic [ Lanes*TypeBits-1:0] lane_type_i,
    input  logic [ Lanes*SizeBits-1:0] lane_size_i,
    input  logic [Lanes*AlignBits-1:0] lane_align_mask_i,

    output logic                       table_write_o,
    output logic [       WordBits-1:0] table_address_o,
    output logic [Lanes*EntryBits-1:0] table_word_o,

    output logic                  done_o,
    output as_graph_pkg::code_e   code_o,
    output logic [LengthBits-1:0] position_o,
    // The end of the last object, in granules.
    output logic [OffsetBits-1:0] end_o
);

  localparam int unsigned LaneBits = as_stream_pkg::count_bits(Lanes);

  // Stage 0: the window.
  logic                  active_q;
  logic [ CountBits-1:0] objects_left_q;
  logic                  take;
  logic [  LaneBits-1:0] wanted;
  logic [  LaneBits-1:0] here;
  logic                  short_of_bytes;

  assign take           = active_q && window_ready_i;
  assign wanted         = 64'(objects_left_q) < 64'(Lanes) ? LaneBits'(objects_left_q) : LaneBits'(Lanes);
  assign here           = left_i[LengthBits-1:2] < (LengthBits - 2)'(wanted) ? LaneBits'(left_i[LengthBits-1:2]) : wanted;
  assign short_of_bytes = here != wanted;
  assign take_o         = take ? TakeBits'({here, 2'b00}) : '0;

  // A partial type id does not count.
  logic unused;
  assign unused = ^left_i[1:0];

  // Stage 1: type ids, as read. Stage 2: their classes.
  logic                          ids_valid_q;
  logic [          Lanes*32-1:0] ids_q;
  logic [          LaneBits-1:0] ids_count_q;
  logic                          ids_short_q;
  logic                          ids_last_q;
  logic                          ids_first_q;
  logic [        LengthBits-1:0] ids_position_q;

  logic                          types_valid_q;
  logic [             Lanes-1:0] known_q;
  logic [             Lanes-1:0] root_q;
  logic [    Lanes*TypeBits-1:0] type_q;
  logic [    Lanes*SizeBits-1:0] size_q;
  logic [   Lanes*AlignBits-1:0] mask_q;
  logic [          LaneBits-1:0] types_count_q;
  logic                          types_short_q;
  logic                          types_last_q;
  logic                          types_first_q;
  logic [        LengthBits-1:0] types_position_q;

  assign lane_id_o = ids_q;

  // Stage 3: places.
  logic [        OffsetBits-1:0] cursor_q;
  logic [        OffsetBits-1:0] cursor;
  logic [        OffsetBits-1:0] mask;
  logic [        OffsetBits-1:0] size;
  logic [  Lanes*OffsetBits-1:0] offset;
  as_graph_pkg::code_e           code;
  logic [          LaneBits-1:0] fault_lane;
  logic [          WordBits-1:0] word_q;

  always_comb begin
    cursor     = cursor_q;
    mask       = '0;
    size       = '0;
    offset     = '0;
    code       = as_graph_pkg::Good;
    fault_lane = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      if (code == as_graph_pkg::Good) fault_lane = LaneBits'(lane);
      // Lanes after the last object hold what follows the list; they must not move the end.
      mask = LaneBits'(lane) < types_count_q ? OffsetBits'(mask_q[lane*AlignBits+:AlignBits]) : '0;
      size = LaneBits'(lane) < types_count_q ? OffsetBits'(size_q[lane*SizeBits+:SizeBits]) : '0;
      cursor = (cursor + mask) & ~mask;
      offset[lane*OffsetBits+:OffsetBits] = cursor;
      cursor = cursor + size;
      if (code == as_graph_pkg::Good) begin
        if (LaneBits'(lane) < types_count_q) begin
          if (!known_q[lane]) code = as_graph_pkg::UnknownType;
          else if (lane == 0 && types_first_q && !root_q[lane]) code = as_graph_pkg::WrongType;
          else if (cursor > capacity_i) code = as_graph_pkg::RegionTooSmall;
        end else if (types_short_q) code = as_graph_pkg::Truncated;
      end
    end
  end

  always_comb begin
    table_word_o = '0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      table_word_o[lane*EntryBits+:EntryBits] = {
        offset[lane*OffsetBits+:OffsetBits], type_q[lane*TypeBits+:TypeBits]
      };
    end
  end

  assign table_write_o   = types_valid_q;
  assign table_address_o = word_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q      <= 1'b0;
      ids_valid_q   <= 1'b0;
      types_valid_q <= 1'b0;
      done_o        <= 1'b0;
    end else if (start_i) begin
      active_q      <= 1'b1;
      ids_valid_q   <= 1'b0;
      types_valid_q <= 1'b0;
      done_o        <= 1'b0;
    end else begin
      if (take && (short_of_bytes || 64'(objects_left_q) <= 64'(Lanes))) active_q <= 1'b0;
      ids_valid_q   <= take;
      types_valid_q <= ids_valid_q;
      done_o        <= types_valid_q && (types_last_q || code != as_graph_pkg::Good);
      if (types_valid_q && code != as_graph_pkg::Good) begin
        active_q      <= 1'b0;
        ids_valid_q   <= 1'b0;
        types_valid_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      objects_left_q <= count_i;
      ids_first_q    <= 1'b1;
      cursor_q       <= '0;
      word_q         <= '0;
    end else begin
      if (take) objects_left_q <= objects_left_q - CountBits'(here);
      if (ids_valid_q) ids_first_q <= 1'b0;
      if (types_valid_q) begin
        cursor_q <= cursor;
        word_q   <= word_q + 1'b1;
      end
    end
    ids_q            <= window_i;
    ids_count_q      <= here;
    ids_short_q      <= short_of_bytes;
    ids_last_q       <= short_of_bytes || 64'(objects_left_q) <= 64'(Lanes);
    ids_position_q   <= position_i;
    known_q          <= lane_known_i;
    root_q           <= lane_root_i;
    type_q           <= lane_type_i;
    size_q           <= lane_size_i;
    mask_q           <= lane_align_mask_i;
    types_count_q    <= ids_count_q;
    types_short_q    <= ids_short_q;
    types_last_q     <= ids_last_q;
    types_first_q    <= ids_first_q;
    types_position_q <= ids_position_q;
    code_o           <= code;
    position_o       <= types_position_q + LengthBits'({fault_lane, 2'b00});
    end_o            <= cursor;
  end

endmodule

`default_nettype wire
