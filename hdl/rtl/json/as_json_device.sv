// SPDX-License-Identifier: Apache-2.0
// What is around the parsers: ports to memory, registers, the order of a run.
//
// A run: the host sets a text for each parser and the buffers, then `start`. Parsers read, make beats, stop at the end or at a
// record that they do not take; what is left in the packers goes out; when memory has answered every write, the run is done.
//
// Registers (32 bits): see the map that is generated with the design; this module decodes it.
//
// Layer: json.
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
    parameter logic [63:0] SchemaHash = '0,
    localparam int unsigned Sources = 5
) (
    input logic clk_i,
    input logic rst_ni,

    input  logic        ctl_aw_valid_i,
    output logic        ctl_aw_ready_o,
    input  logic [15:0] ctl_aw_addr_i,
    input  logic        ctl_w_valid_i,
    output logic        ctl_w_ready_o,
    input  logic [31:0] ctl_w_data_i,
    output logic        ctl_b_valid_o,
    input  logic        ctl_b_ready_i,
    output logic [ 1:0] ctl_b_resp_o,
    input  logic        ctl_ar_valid_i,
    output logic        ctl_ar_ready_o,
    input  logic [15:0] ctl_ar_addr_i,
    output logic        ctl_r_valid_o,
    input  logic        ctl_r_ready_i,
    output logic [31:0] ctl_r_data_o,
    output logic [ 1:0] ctl_r_resp_o,

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

    output logic        clr_o,
    output logic        unknown_refused_o,
    output logic [31:0] record_bytes_max_o,
    output logic [15:0] depth_max_o,

    output logic [    Parsers-1:0] feed_valid_o,
    output logic [    Parsers-1:0] feed_ended_o,
    input  logic [    Parsers-1:0] feed_advance_i,
    output logic [Parsers*W*8-1:0] feed_data_o,

    output logic                  flush_o,
    input  logic [   Parsers-1:0] done_i,
    input  logic [      Sets-1:0] flushed_i,
    input  logic [   Parsers-1:0] starved_i,
    input  logic [   Parsers-1:0] blocked_i,
    input  logic [   Parsers-1:0] fault_i,
    input  logic [ Parsers*8-1:0] fault_code_i,
    input  logic [Parsers*64-1:0] fault_position_i,
    input  logic [Parsers*32-1:0] rows_i,

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

  logic write, read;
  logic [15:0] write_address, read_address;
  logic [31:0] write_data, read_data;
  logic start, done_q;
  logic [Ports-1:0] idle, refused, full;
  logic [Parsers*64-1:0] address_q;
  logic [Parsers*32-1:0] length_q;
  logic [63:0] cycles_q, starved_q, blocked_q;
  logic unknown_q;
  logic [31:0] record_max_q;
  logic [15:0] depth_max_q;

  as_axil_slave #(
      .AddressBits(16)
  ) i_slave (
      .clk_i,
      .rst_ni,
      .aw_valid_i     (ctl_aw_valid_i),
      .aw_ready_o     (ctl_aw_ready_o),
      .aw_addr_i      (ctl_aw_addr_i),
      .w_valid_i      (ctl_w_valid_i),
      .w_ready_o      (ctl_w_ready_o),
      .w_data_i       (ctl_w_data_i),
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
      .write_o        (write),
      .write_address_o(write_address),
      .write_data_o   (write_data),
      .read_o         (read),
      .read_address_o (read_address),
      .read_data_i    (read_data)
  );

  assign start              = write && write_address == 16'h0018 && write_data[0] && phase_q == Idle;
  assign clr_o              = phase_q == Clear;
  assign flush_o            = phase_q == Flush;
  assign unknown_refused_o  = unknown_q;
  assign record_bytes_max_o = record_max_q;
  assign depth_max_o        = depth_max_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q      <= Idle;
      done_q       <= 1'b0;
      address_q    <= '0;
      length_q     <= '0;
      cycles_q     <= '0;
      starved_q    <= '0;
      blocked_q    <= '0;
      unknown_q    <= 1'b0;
      record_max_q <= '1;
      depth_max_q  <= 16'd32;
    end else begin
      unique case (phase_q)
        Idle: begin
          if (start) begin
            phase_q   <= Clear;
            done_q    <= 1'b0;
            cycles_q  <= '0;
            starved_q <= '0;
            blocked_q <= '0;
          end
        end
        Clear:   phase_q <= Work;
        Work:    if (&done_i) phase_q <= Flush;
        Flush:   if (&flushed_i) phase_q <= Drain;
        default: begin
          if (&idle) begin
            phase_q <= Idle;
            done_q  <= 1'b1;
          end
        end
      endcase
      if (phase_q != Idle) cycles_q <= cycles_q + 1'b1;
      if (phase_q == Work) begin
        starved_q <= starved_q + 64'(|starved_i);
        blocked_q <= blocked_q + 64'(|blocked_i);
      end
      if (write) begin
        unique case (write_address)
          16'h0060: unknown_q <= write_data[0];
          16'h0064: record_max_q <= write_data;
          16'h0068: depth_max_q <= write_data[15:0];
          default:  ;
        endcase
        for (int unsigned p = 0; p < Parsers; p++) begin
          if (write_address == 16'h1000 + 16'(p * 32)) address_q[p*64+:32] <= write_data;
          if (write_address == 16'h1004 + 16'(p * 32)) address_q[p*64+32+:32] <= write_data;
          if (write_address == 16'h1008 + 16'(p * 32)) length_q[p*32+:32] <= write_data;
        end
      end
    end
  end

  logic [15:0] read_address_q;
  logic [7:0] status_code;
  always_comb begin
    // Faults are told parser by parser; here, what ended the run as a whole.
    status_code = |refused ? 8'd1 : |full ? 8'd2 : '0;
    unique case (read_address_q)
      16'h0000: read_data = 32'h4d53_5241;
      16'h0004: read_data = 32'd1;
      16'h0008: read_data = SchemaHash[31:0];
      16'h000c: read_data = SchemaHash[63:32];
      16'h0010: read_data = {8'd0, 8'd1, 8'(Bytes), 8'(Parsers)};
      16'h0014: read_data = {16'(Buffers), 16'(Parsers)};
      16'h001c: read_data = {29'd0, status_code != '0, done_q, phase_q != Idle};
      16'h0020: read_data = 32'(status_code);
      16'h0048: read_data = cycles_q[31:0];
      16'h004c: read_data = cycles_q[63:32];
      16'h0050: read_data = starved_q[31:0];
      16'h0054: read_data = starved_q[63:32];
      16'h0058: read_data = blocked_q[31:0];
      16'h005c: read_data = blocked_q[63:32];
      default:  read_data = '0;
    endcase
    for (int unsigned p = 0; p < Parsers; p++) begin
      if (read_address_q == 16'h100c + 16'(p * 32)) read_data = fault_i[p] ? 32'(fault_code_i[p*8+:8]) : '0;
      if (read_address_q == 16'h1010 + 16'(p * 32)) read_data = fault_position_i[p*64+:32];
      if (read_address_q == 16'h1014 + 16'(p * 32)) read_data = fault_position_i[p*64+32+:32];
      if (read_address_q == 16'h1018 + 16'(p * 32)) read_data = rows_i[p*32+:32];
    end
  end
  always_ff @(posedge clk_i) if (read) read_address_q <= read_address;

  // A buffer has a block of 32 bytes of registers: address low and high, capacity.
  localparam int unsigned Each = Parsers / Ports;
  localparam int unsigned EachBeats = Sets / Ports * Sources;
  localparam int unsigned EachBuffers = Buffers / Ports;
  logic [15:0] block;
  assign block = write_address - 16'h2000;
  for (genvar q = 0; q < Ports; q++) begin : gen_port
    logic mine;
    logic [10:0] number;
    assign number = block[15:5] - 11'(q * EachBuffers);
    assign mine   = write && write_address >= 16'h2000 && number < 11'(EachBuffers);
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
        .address_i     (address_q[q*Each*64+:Each*64]),
        .length_i      (length_q[q*Each*32+:Each*32]),
        .abort_i       (fault_i[q*Each+:Each] & {Each{phase_q != Clear}}),
        .set_i         (mine),
        .set_buffer_i  (number[7:0]),
        .set_word_i    (write_address[4] ? 2'd3 : write_address[3:2]),
        .set_value_i   (write_data),
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
