// SPDX-License-Identifier: Apache-2.0
// The registers of the object-graph circuit: identity, vtable pointers, requests and answers.
//
// The map (32-bit registers, byte addresses; `arrowsmith-rtlgen` writes it as a C++ header too):
//   000 R  identity, "ASGR"             030 RW message address, low    060 R  answer: tag
//   004 R  version                      034 RW message address, high   064 R  answer: code
//   008 R  layout hash, low             038 RW message length          068 R  answer: position
//   00c R  layout hash, high            040 RW region address, low     06c R  answer: objects
//   010 R  object limit                 044 RW region address, high    070 R  answer: region bytes
//   014 R  vtable slots                 048 RW region capacity         074 R  answer: cycles
//   018 R  bytes per beat               04c RW tag
//   020 W  control: bit 0 submits the request in 030…04c, bit 1 drops the answer in 060…074,
//          bit 2 with bit 0: it has a header
//   024 R  status: bit 0 an answer is there, bit 1 no room for a request
//   080 W  vtable slot; 084 W vtable pointer, low; 088 W high, which stores it
// `write_known_o` and `read_known_o` are low for other addresses; what is written can be addressed
// by reads too, and reads as zero.
// A request that is submitted while the queue is full is lost. Up to Depth requests wait, and as
// many answers.
//
// Vtable pointers are in a block RAM and are written once, before the first request (paper, Sect.
// 5.3.3).
//
// Layer: graph.

`include "as_assertions.svh"

`default_nettype none

module as_graph_regs #(
    parameter int unsigned PointerBits = 32,
    parameter int unsigned SlotBits    = 1,
    parameter int unsigned Slots       = 2,
    parameter int unsigned ObjectsMax  = 1024,
    parameter int unsigned Bytes       = 16,
    parameter int unsigned Depth       = 8,
    parameter logic [63:0] LayoutHash  = 64'd0
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic        write_i,
    input  logic [11:0] write_address_i,
    input  logic [31:0] write_data_i,
    output logic        write_known_o,
    input  logic        read_i,
    input  logic [11:0] read_address_i,
    output logic [31:0] read_data_o,
    output logic        read_known_o,

    output logic        request_valid_o,
    input  logic        request_ready_i,
    output logic [63:0] request_message_o,
    output logic [31:0] request_length_o,
    output logic        request_header_o,
    output logic [63:0] request_region_o,
    output logic [31:0] request_capacity_o,
    output logic [31:0] request_tag_o,

    input  logic        response_valid_i,
    output logic        response_ready_o,
    input  logic [31:0] response_tag_i,
    input  logic [ 3:0] response_code_i,
    input  logic [31:0] response_position_i,
    input  logic [31:0] response_objects_i,
    input  logic [31:0] response_bytes_i,
    input  logic [31:0] response_cycles_i,

    input  logic                   vptr_read_i,
    input  logic [   SlotBits-1:0] vptr_slot_i,
    output logic [PointerBits-1:0] vptr_o
);

  localparam int unsigned RequestWidth = 64 + 32 + 1 + 64 + 32 + 32;
  localparam int unsigned ResponseWidth = 32 + 4 + 4 * 32;

  logic [63:0]              message_q;
  logic [31:0]              length_q;
  logic [63:0]              region_q;
  logic [31:0]              capacity_q;
  logic [31:0]              tag_q;
  logic [SlotBits-1:0]      slot_q;
  logic [31:0]              vptr_low_q;
  logic [63:0]              vptr_new;
  logic                     vptr_write;

  logic                     submit;
  logic                     request_room;
  logic                     answer_valid;
  logic                     answer_drop;
  logic [ResponseWidth-1:0] answer;

  assign submit      = write_i && write_address_i == 12'h020 && write_data_i[0];
  assign answer_drop = write_i && write_address_i == 12'h020 && write_data_i[1];
  assign vptr_write  = write_i && write_address_i == 12'h088;
  assign vptr_new    = {write_data_i, vptr_low_q};

  as_fifo #(
      .Width(RequestWidth),
      .Depth(Depth)
  ) i_requests (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(submit),
      .ready_o(request_room),
      .data_i ({message_q, length_q, write_data_i[2], region_q, capacity_q, tag_q}),
      .valid_o(request_valid_o),
      .ready_i(request_ready_i),
      .data_o ({request_message_o, request_length_o, request_header_o, request_region_o, request_capacity_o, request_tag_o})
  );

  as_fifo #(
      .Width(ResponseWidth),
      .Depth(Depth)
  ) i_answers (
      .clk_i,
      .rst_ni,
      .clr_i  (1'b0),
      .valid_i(response_valid_i),
      .ready_o(response_ready_o),
      .data_i ({response_tag_i, response_code_i, response_position_i, response_objects_i, response_bytes_i, response_cycles_i}),
      .valid_o(answer_valid),
      .ready_i(answer_drop),
      .data_o (answer)
  );

  as_ram #(
      .Width(PointerBits),
      .Depth(1 << SlotBits)
  ) i_vptrs (
      .clk_i,
      .write_i        (vptr_write),
      .write_address_i(slot_q),
      .write_data_i   (vptr_new[PointerBits-1:0]),
      .read_i         (vptr_read_i),
      .read_address_i (vptr_slot_i),
      .read_data_o    (vptr_o)
  );

  // The registers that are written.
  function automatic logic is_written(input logic [11:0] address);
    unique case (address)
      12'h020, 12'h030, 12'h034, 12'h038, 12'h040, 12'h044, 12'h048, 12'h04c, 12'h080, 12'h084, 12'h088: return 1'b1;
      default: return 1'b0;
    endcase
  endfunction

  assign write_known_o = is_written(write_address_i);

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      unique case (write_address_i)
        12'h030: message_q[31:0] <= write_data_i;
        12'h034: message_q[63:32] <= write_data_i;
        12'h038: length_q <= write_data_i;
        12'h040: region_q[31:0] <= write_data_i;
        12'h044: region_q[63:32] <= write_data_i;
        12'h048: capacity_q <= write_data_i;
        12'h04c: tag_q <= write_data_i;
        12'h080: slot_q <= write_data_i[SlotBits-1:0];
        12'h084: vptr_low_q <= write_data_i;
        default: ;
      endcase
    end
    if (read_i) begin
      read_known_o <= 1'b1;
      unique case (read_address_i)
        12'h000: read_data_o <= 32'h5247_5341;
        12'h004: read_data_o <= 32'd1;
        12'h008: read_data_o <= LayoutHash[31:0];
        12'h00c: read_data_o <= LayoutHash[63:32];
        12'h010: read_data_o <= 32'(ObjectsMax);
        12'h014: read_data_o <= 32'(Slots);
        12'h018: read_data_o <= 32'(Bytes);
        12'h024: read_data_o <= {30'd0, !request_room, answer_valid};
        12'h060: read_data_o <= answer[163:132];
        12'h064: read_data_o <= {28'd0, answer[131:128]};
        12'h068: read_data_o <= answer[127:96];
        12'h06c: read_data_o <= answer[95:64];
        12'h070: read_data_o <= answer[63:32];
        12'h074: read_data_o <= answer[31:0];
        default: begin
          read_data_o  <= 32'd0;
          read_known_o <= is_written(read_address_i);
        end
      endcase
    end
  end

  logic unused;
  assign unused = ^vptr_new;

  `AS_POWER_OF_TWO(depth, Depth)
  `AS_STREAM_STABLE(request, request_valid_o, request_ready_i,
                    {request_message_o, request_length_o, request_header_o, request_region_o,
                     request_capacity_o, request_tag_o}, 1'b0)

endmodule

`default_nettype wire
