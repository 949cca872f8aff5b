// SPDX-License-Identifier: Apache-2.0
// The object-graph circuit without its map: registers, reader, core and writer, wired.
//
// A request goes to the reader and to the core's queue in the same cycle, so that the next message
// is fetched while the core works on this one. AXI4 (ids 0, INCR, full beats) to memory, AXI4-Lite
// to the host. Wiring only.
//
// Layer: graph, top of the library; a generated top adds the map.

`default_nettype none

module as_graph_device #(
    parameter int unsigned Bytes        = 16,
    parameter int unsigned StepBytes    = 16,
    parameter int unsigned GranuleBytes = 4,
    parameter int unsigned Refs         = 2,
    parameter int unsigned ObjectsMax   = 1024,
    parameter int unsigned TypeBits     = 1,
    parameter int unsigned SizeBits     = 8,
    parameter int unsigned StepBits     = 2,
    parameter int unsigned SlotBits     = 1,
    parameter int unsigned Slots        = 2,
    parameter int unsigned AlignBits    = 1,
    parameter int unsigned OffsetBits   = 16,
    parameter int unsigned PointerBits  = 32,
    parameter logic [63:0] LayoutHash   = 64'd0,
    localparam int unsigned Lanes        = Bytes / 4,
    localparam int unsigned StepTakeBits = as_stream_pkg::count_bits(StepBytes),
    localparam int unsigned PieceBits    = as_stream_pkg::count_bits(2 * (Bytes / GranuleBytes))
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic        ctl_aw_valid_i,
    output logic        ctl_aw_ready_o,
    input  logic [11:0] ctl_aw_addr_i,
    input  logic        ctl_w_valid_i,
    output logic        ctl_w_ready_o,
    input  logic [31:0] ctl_w_data_i,
    input  logic [ 3:0] ctl_w_strb_i,
    output logic        ctl_b_valid_o,
    input  logic        ctl_b_ready_i,
    output logic [ 1:0] ctl_b_resp_o,
    input  logic        ctl_ar_valid_i,
    output logic        ctl_ar_ready_o,
    input  logic [11:0] ctl_ar_addr_i,
    output logic        ctl_r_valid_o,
    input  logic        ctl_r_ready_i,
    output logic [31:0] ctl_r_data_o,
    output logic [ 1:0] ctl_r_resp_o,

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
    input  logic [        1:0] mem_b_resp_i,

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

  localparam int unsigned ByteBits = $clog2(Bytes);
  localparam int unsigned WriteBeatBits = 32 - ByteBits + 1;
  localparam int unsigned CoreWidth = ByteBits + 32 + 1 + 64 + 32 + 32;

  // Registers.
  logic                reg_write;
  logic [        11:0] reg_write_address;
  logic [        31:0] reg_write_data;
  logic                reg_write_known;
  logic                reg_read;
  logic [        11:0] reg_read_address;
  logic [        31:0] reg_read_data;
  logic                reg_read_known;

  as_axil_slave #(
      .AddressBits(12)
  ) i_axil (
      .clk_i,
      .rst_ni,
      .aw_valid_i     (ctl_aw_valid_i),
      .aw_ready_o     (ctl_aw_ready_o),
      .aw_addr_i      (ctl_aw_addr_i),
      .w_valid_i      (ctl_w_valid_i),
      .w_ready_o      (ctl_w_ready_o),
      .w_data_i       (ctl_w_data_i),
      .w_strb_i       (ctl_w_strb_i),
      .b_valid_o      (ctl_b_valid_o),
      .b_ready_i      (ctl_b_ready_i),
      .b_resp_o       (ctl_b_resp_o),
      .ar_valid_i     (ctl_ar_valid_i),
      .ar_ready_o     (ctl_ar_ready_o),
      .ar_addr_i      (ctl_ar_addr_i),
      .r_valid_o      (ctl_r_valid_o),
      .r_ready_i      (ctl_r_ready_i),
      .r_data_o       (ctl_r_data_o),
      .r_resp_o       (ctl_r_resp_o),
      .write_o        (reg_write),
      .write_address_o(reg_write_address),
      .write_data_o   (reg_write_data),
      .write_known_i  (reg_write_known),
      .read_o         (reg_read),
      .read_address_o (reg_read_address),
      .read_data_i    (reg_read_data),
      .read_known_i   (reg_read_known)
  );

  logic                   request_valid;
  logic                   request_ready;
  logic [           63:0] request_message;
  logic [           31:0] request_length;
  logic                   request_header;
  logic [           63:0] request_region;
  logic [           31:0] request_capacity;
  logic [           31:0] request_tag;
  logic                   response_valid;
  logic                   response_ready;
  as_graph_pkg::code_e    response_code;
  logic [           31:0] response_position;
  logic [           31:0] response_objects;
  logic [           31:0] response_bytes;
  logic [           31:0] response_cycles;
  logic [           31:0] core_tag;
  logic [           31:0] tag_q;
  logic                   vptr_read;
  logic [   SlotBits-1:0] vptr_slot;
  logic [PointerBits-1:0] vptr;

  as_graph_regs #(
      .PointerBits(PointerBits),
      .SlotBits   (SlotBits),
      .Slots      (Slots),
      .ObjectsMax (ObjectsMax),
      .Bytes      (Bytes),
      .LayoutHash (LayoutHash)
  ) i_regs (
      .clk_i,
      .rst_ni,
      .write_i            (reg_write),
      .write_address_i    (reg_write_address),
      .write_data_i       (reg_write_data),
      .write_known_o      (reg_write_known),
      .read_i             (reg_read),
      .read_address_i     (reg_read_address),
      .read_data_o        (reg_read_data),
      .read_known_o       (reg_read_known),
      .request_valid_o    (request_valid),
      .request_ready_i    (request_ready),
      .request_message_o  (request_message),
      .request_length_o   (request_length),
      .request_header_o   (request_header),
      .request_region_o   (request_region),
      .request_capacity_o (request_capacity),
      .request_tag_o      (request_tag),
      .response_valid_i   (response_valid),
      .response_ready_o   (response_ready),
      .response_tag_i     (tag_q),
      .response_code_i    (response_code),
      .response_position_i(response_position),
      .response_objects_i (response_objects),
      .response_bytes_i   (response_bytes),
      .response_cycles_i  (response_cycles),
      .vptr_read_i        (vptr_read),
      .vptr_slot_i        (vptr_slot),
      .vptr_o             (vptr)
  );

  // A request goes to the reader and to the core together.
  logic reader_ready;
  logic queue_ready;
  assign request_ready = reader_ready && queue_ready;

  logic                 core_valid;
  logic                 core_ready;
  logic [ ByteBits-1:0] core_offset;
  logic [         31:0] core_length;
  logic                 core_header;
  logic [         63:0] core_region;
  logic [         31:0] core_capacity;

  as_fifo #(
      .Width(CoreWidth),
      .Depth(4)
  ) i_queue (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(request_valid && reader_ready),
      .ready_o(queue_ready),
      .data_i ({request_message[ByteBits-1:0], request_length, request_header, request_region, request_capacity, request_tag}),
      .valid_o(core_valid),
      .ready_i(core_ready),
      .data_o ({core_offset, core_length, core_header, core_region, core_capacity, core_tag})
  );

  always_ff @(posedge clk_i) begin
    if (core_valid && core_ready) tag_q <= core_tag;
  end

  // Memory to core.
  logic               read_valid;
  logic               read_ready;
  logic [Bytes*8-1:0] read_beat;
  logic               read_error;
  logic               beat_valid;
  logic               beat_ready;
  logic [Bytes*8-1:0] beat;
  logic               beat_error;

  as_axi_reader #(
      .Bytes(Bytes)
  ) i_reader (
      .clk_i,
      .rst_ni,
      .request_valid_i(request_valid && queue_ready),
      .request_ready_o(reader_ready),
      .address_i      (request_message),
      .length_i       (request_length),
      .ar_valid_o     (mem_ar_valid_o),
      .ar_ready_i     (mem_ar_ready_i),
      .ar_addr_o      (mem_ar_addr_o),
      .ar_len_o       (mem_ar_len_o),
      .r_valid_i      (mem_r_valid_i),
      .r_ready_o      (mem_r_ready_o),
      .r_data_i       (mem_r_data_i),
      .r_resp_i       (mem_r_resp_i),
      .beat_valid_o   (read_valid),
      .beat_ready_i   (read_ready),
      .beat_o         (read_beat),
      .beat_error_o   (read_error)
  );

  as_fifo #(
      .Width(Bytes * 8 + 1),
      .Depth(64)
  ) i_beats (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(read_valid),
      .ready_o(read_ready),
      .data_i ({read_error, read_beat}),
      .valid_o(beat_valid),
      .ready_i(beat_ready),
      .data_o ({beat_error, beat})
  );

  // Core.
  logic                     write_request;
  logic [      63:ByteBits] write_beat_address;
  logic [WriteBeatBits-1:0] write_beats;
  logic                     write_abort;
  logic                     write_idle;
  logic                     write_error;
  logic                     write_valid;
  logic                     write_ready;
  logic [      Bytes*8-1:0] write_data;
  logic [        Bytes-1:0] write_strobe;

  as_graph_core #(
      .Bytes       (Bytes),
      .StepBytes   (StepBytes),
      .GranuleBytes(GranuleBytes),
      .Refs        (Refs),
      .ObjectsMax  (ObjectsMax),
      .TypeBits    (TypeBits),
      .SizeBits    (SizeBits),
      .StepBits    (StepBits),
      .SlotBits    (SlotBits),
      .AlignBits   (AlignBits),
      .OffsetBits  (OffsetBits),
      .PointerBits (PointerBits),
      .LayoutHash  (LayoutHash)
  ) i_core (
      .clk_i,
      .rst_ni,
      .request_valid_i     (core_valid),
      .request_ready_o     (core_ready),
      .request_offset_i    (core_offset),
      .request_length_i    (core_length),
      .request_header_i    (core_header),
      .request_region_i    (core_region),
      .request_capacity_i  (core_capacity),
      .response_valid_o    (response_valid),
      .response_ready_i    (response_ready),
      .response_code_o     (response_code),
      .response_position_o (response_position),
      .response_objects_o  (response_objects),
      .response_bytes_o    (response_bytes),
      .response_cycles_o   (response_cycles),
      .beat_valid_i        (beat_valid),
      .beat_ready_o        (beat_ready),
      .beat_i              (beat),
      .beat_error_i        (beat_error),
      .write_request_o     (write_request),
      .write_beat_address_o(write_beat_address),
      .write_beats_o       (write_beats),
      .write_abort_o       (write_abort),
      .write_idle_i        (write_idle),
      .write_error_i       (write_error),
      .write_valid_o       (write_valid),
      .write_ready_i       (write_ready),
      .write_data_o        (write_data),
      .write_strobe_o      (write_strobe),
      .vptr_read_o         (vptr_read),
      .vptr_slot_o         (vptr_slot),
      .vptr_i              (vptr),
      .lane_id_o,
      .lane_known_i,
      .lane_root_i,
      .lane_type_i,
      .lane_size_i,
      .lane_align_mask_i,
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
      .map_piece_i
  );

  // Core to memory. A beat offered to the memory must hold while the core may still give up.
  logic                     beats_valid;
  logic                     beats_ready;
  logic [Bytes*9-1:0]       beats;

  as_skid_buffer #(
      .Width(Bytes * 9)
  ) i_write_skid (
      .clk_i,
      .rst_ni,
      .clr_i  (write_request),
      .valid_i(write_valid),
      .ready_o(write_ready),
      .data_i ({write_strobe, write_data}),
      .valid_o(beats_valid),
      .ready_i(beats_ready),
      .data_o (beats)
  );

  as_axi_writer #(
      .Bytes   (Bytes),
      .BeatBits(WriteBeatBits)
  ) i_writer (
      .clk_i,
      .rst_ni,
      .request_i     (write_request),
      .beat_address_i(write_beat_address),
      .beats_i       (write_beats),
      .abort_i       (write_abort),
      .idle_o        (write_idle),
      .error_o       (write_error),
      .valid_i       (beats_valid),
      .ready_o       (beats_ready),
      .data_i        (beats[Bytes*8-1:0]),
      .strobe_i      (beats[Bytes*9-1:Bytes*8]),
      .aw_valid_o    (mem_aw_valid_o),
      .aw_ready_i    (mem_aw_ready_i),
      .aw_addr_o     (mem_aw_addr_o),
      .aw_len_o      (mem_aw_len_o),
      .w_valid_o     (mem_w_valid_o),
      .w_ready_i     (mem_w_ready_i),
      .w_data_o      (mem_w_data_o),
      .w_strb_o      (mem_w_strb_o),
      .w_last_o      (mem_w_last_o),
      .b_valid_i     (mem_b_valid_i),
      .b_ready_o     (mem_b_ready_o),
      .b_resp_i      (mem_b_resp_i)
  );

endmodule

`default_nettype wire
