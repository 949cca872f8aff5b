// SPDX-License-Identifier: Apache-2.0
// Everything around the parsers: memory ports and the sequencing of a run.
//
// A run: the host sets a text for each parser and the buffers, then `start_i`. Parsers read, make
// beats, and stop at the end or at a record that they do not take; the packers are flushed, then
// the ports; when memory has responded to every write, the run is done.
//
// A module generated with the design holds the registers; their values come in here, and results
// for the host go out.
//
// Layer: json.

`default_nettype none

module as_json_device
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8,
    parameter int unsigned Bytes = 16,
    parameter int unsigned Parsers = 1,
    // Parsers and buffers belong to ports in equal shares, in order.
    parameter int unsigned Ports = 1,
    // Sets of writers, likewise.
    parameter int unsigned Sets = 1,
    parameter int unsigned QueueBeats = 64,
    parameter int unsigned Buffers = 1,
    localparam int unsigned Sources = 5
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic                  start_i,
    input  logic [Parsers*64-1:0] address_i,
    input  logic [Parsers*32-1:0] length_i,
    // One word of a buffer's block: address low, high, capacity.
    input  logic                  set_i,
    input  logic [          10:0] set_index_i,
    input  logic [           2:0] set_word_i,
    input  logic [          31:0] set_value_i,
    output logic                  busy_o,
    // Since the last start: the run has ended; ended with an error, 1 memory refused an access, 2 a
    // buffer is full.
    output logic                  ended_o,
    output logic                  error_o,
    output logic [           7:0] error_code_o,
    // A parser has no input, or no room for values.
    output logic                  no_input_o,
    output logic                  no_room_o,

    output logic [        Ports-1:0] mem_ar_valid_o,
    input  logic [        Ports-1:0] mem_ar_ready_i,
    output logic [     Ports*64-1:0] mem_ar_addr_o,
    output logic [      Ports*8-1:0] mem_ar_len_o,
    input  logic [        Ports-1:0] mem_r_valid_i,
    output logic [        Ports-1:0] mem_r_ready_o,
    input  logic [Ports*Bytes*8-1:0] mem_r_data_i,
    input  logic [      Ports*2-1:0] mem_r_resp_i,
    output logic [        Ports-1:0] mem_aw_valid_o,
    input  logic [        Ports-1:0] mem_aw_ready_i,
    output logic [     Ports*64-1:0] mem_aw_addr_o,
    output logic [      Ports*8-1:0] mem_aw_len_o,
    output logic [        Ports-1:0] mem_w_valid_o,
    input  logic [        Ports-1:0] mem_w_ready_i,
    output logic [Ports*Bytes*8-1:0] mem_w_data_o,
    output logic [  Ports*Bytes-1:0] mem_w_strb_o,
    output logic [        Ports-1:0] mem_w_last_o,
    input  logic [        Ports-1:0] mem_b_valid_i,
    output logic [        Ports-1:0] mem_b_ready_o,
    input  logic [      Ports*2-1:0] mem_b_resp_i,

    output logic clr_o,

    output logic [    Parsers-1:0] feed_valid_o,
    output logic [    Parsers-1:0] feed_ended_o,
    input  logic [    Parsers-1:0] feed_advance_i,
    output logic [Parsers*W*8-1:0] feed_data_o,

    output logic               flush_o,
    input  logic [Parsers-1:0] done_i,
    input  logic [   Sets-1:0] flushed_i,
    input  logic [Parsers-1:0] starved_i,
    input  logic [Parsers-1:0] blocked_i,
    input  logic [Parsers-1:0] fault_i,

    input  logic [        Sets*Sources-1:0] beat_valid_i,
    output logic [        Sets*Sources-1:0] beat_ready_o,
    input  logic [      Sets*Sources*8-1:0] beat_buffer_i,
    input  logic [     Sets*Sources*32-1:0] beat_number_i,
    input  logic [Sets*Sources*Bytes*8-1:0] beat_data_i
);

  typedef enum logic [2:0] {
    Idle,
    Clear,
    Work,
    Flush,
    Drain
  } phase_e;
  phase_e phase_q;

  logic [Ports-1:0] idle, refused, full;
  logic ended_q;

  assign clr_o      = phase_q == Clear;
  assign flush_o    = phase_q == Flush;
  assign busy_o     = phase_q != Idle;
  // Data read after a start belongs to that start.
  assign ended_o    = ended_q && !start_i;
  assign no_input_o = phase_q == Work && starved_i != '0;
  assign no_room_o  = phase_q == Work && blocked_i != '0;
  // Each parser reports its own fault; here, what ended the run as a whole.
  assign error_code_o = |refused ? 8'd1 : |full ? 8'd2 : '0;
  assign error_o      = error_code_o != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q <= Idle;
      ended_q <= 1'b0;
    end else begin
      unique case (phase_q)
        Idle: begin
          if (start_i) begin
            phase_q <= Clear;
            ended_q <= 1'b0;
          end
        end
        Clear:   phase_q <= Work;
        Work:    if (&done_i) phase_q <= Flush;
        Flush:   if (&flushed_i) phase_q <= Drain;
        default: begin
          if (&idle) begin
            phase_q <= Idle;
            ended_q <= 1'b1;
          end
        end
      endcase
    end
  end

  localparam int unsigned Each = Parsers / Ports;
  localparam int unsigned EachBeats = Sets / Ports * Sources;
  localparam int unsigned EachBuffers = Buffers / Ports;
  for (genvar q = 0; q < Ports; q++) begin : gen_port
    logic mine;
    logic [10:0] number;
    assign number = set_index_i - 11'(q * EachBuffers);
    assign mine   = set_i && number < 11'(EachBuffers);
    as_json_port #(
        .W         (W),
        .Bytes     (Bytes),
        .Parsers   (Each),
        .Sets      (Sets / Ports),
        .QueueBeats(QueueBeats),
        .Buffers   (EachBuffers)
    ) i_port (
        .clk_i,
        .rst_ni,
        .clear_i       (phase_q == Clear),
        .work_i        (phase_q == Work),
        .address_i     (address_i[q*Each*64+:Each*64]),
        .length_i      (length_i[q*Each*32+:Each*32]),
        .abort_i       (fault_i[q*Each+:Each] & {Each{phase_q != Clear}}),
        .set_i         (mine),
        .set_buffer_i  (number[7:0]),
        .set_word_i    (set_word_i[2] ? 2'd3 : set_word_i[1:0]),
        .set_value_i   (set_value_i),
        .flush_i       (phase_q == Drain),
        .idle_o        (idle[q]),
        .error_o       (refused[q]),
        .full_o        (full[q]),
        .feed_valid_o  (feed_valid_o[q*Each+:Each]),
        .feed_ended_o  (feed_ended_o[q*Each+:Each]),
        .feed_advance_i(feed_advance_i[q*Each+:Each]),
        .feed_data_o   (feed_data_o[q*Each*W*8+:Each*W*8]),
        .beat_valid_i  (beat_valid_i[q*EachBeats+:EachBeats]),
        .beat_ready_o  (beat_ready_o[q*EachBeats+:EachBeats]),
        .beat_buffer_i (beat_buffer_i[q*EachBeats*8+:EachBeats*8]),
        .beat_number_i (beat_number_i[q*EachBeats*32+:EachBeats*32]),
        .beat_data_i   (beat_data_i[q*EachBeats*Bytes*8+:EachBeats*Bytes*8]),
        .mem_ar_valid_o (mem_ar_valid_o[q]),
        .mem_ar_ready_i (mem_ar_ready_i[q]),
        .mem_ar_addr_o  (mem_ar_addr_o[q*64+:64]),
        .mem_ar_len_o   (mem_ar_len_o[q*8+:8]),
        .mem_r_valid_i  (mem_r_valid_i[q]),
        .mem_r_ready_o  (mem_r_ready_o[q]),
        .mem_r_data_i   (mem_r_data_i[q*Bytes*8+:Bytes*8]),
        .mem_r_resp_i   (mem_r_resp_i[q*2+:2]),
        .mem_aw_valid_o (mem_aw_valid_o[q]),
        .mem_aw_ready_i (mem_aw_ready_i[q]),
        .mem_aw_addr_o  (mem_aw_addr_o[q*64+:64]),
        .mem_aw_len_o   (mem_aw_len_o[q*8+:8]),
        .mem_w_valid_o  (mem_w_valid_o[q]),
        .mem_w_ready_i  (mem_w_ready_i[q]),
        .mem_w_data_o   (mem_w_data_o[q*Bytes*8+:Bytes*8]),
        .mem_w_strb_o   (mem_w_strb_o[q*Bytes+:Bytes]),
        .mem_w_last_o   (mem_w_last_o[q]),
        .mem_b_valid_i  (mem_b_valid_i[q]),
        .mem_b_ready_o  (mem_b_ready_o[q]),
        .mem_b_resp_i   (mem_b_resp_i[q*2+:2])
    );
  end

endmodule

`default_nettype wire
