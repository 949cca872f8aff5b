// SPDX-License-Identifier: Apache-2.0
// What is around the parsers: memory, registers, the order of a run.
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
    parameter int unsigned Buffers = 1,
    parameter logic [63:0] SchemaHash = '0,
    parameter logic [Parsers*5*8-1:0] First = '0,
    localparam int unsigned Sources = 5,
    localparam int unsigned OffsetBits = $clog2(Bytes)
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
    input  logic [   Parsers-1:0] flushed_i,
    input  logic [   Parsers-1:0] starved_i,
    input  logic [   Parsers-1:0] blocked_i,
    input  logic [   Parsers-1:0] fault_i,
    input  logic [ Parsers*8-1:0] fault_code_i,
    input  logic [Parsers*64-1:0] fault_position_i,
    input  logic [Parsers*32-1:0] rows_i,

    input  logic [        Parsers*Sources-1:0] beat_valid_i,
    output logic [        Parsers*Sources-1:0] beat_ready_o,
    input  logic [      Parsers*Sources*8-1:0] beat_buffer_i,
    input  logic [     Parsers*Sources*32-1:0] beat_number_i,
    input  logic [Parsers*Sources*Bytes*8-1:0] beat_data_i
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
  logic start, fetch_idle, fetch_error, store_idle, store_full, store_error, done_q;
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
          if (store_idle && fetch_idle) begin
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
    status_code = fetch_error || store_error ? 8'd1 : store_full ? 8'd2 : '0;
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

  logic [Parsers-1:0] beat_valid, beat_ready;
  logic [Parsers*Bytes*8-1:0] beat;
  as_json_fetch #(
      .Parsers(Parsers),
      .Bytes  (Bytes)
  ) i_fetch (
      .clk_i,
      .rst_ni,
      .start_i   (phase_q == Clear),
      .address_i (address_q),
      .length_i  (length_q),
      .abort_i   (fault_i & {Parsers{phase_q != Clear}}),
      .idle_o    (fetch_idle),
      .error_o   (fetch_error),
      .valid_o   (beat_valid),
      .ready_i   (beat_ready),
      .data_o    (beat),
      .ar_valid_o(mem_ar_valid_o),
      .ar_ready_i(mem_ar_ready_i),
      .ar_addr_o (mem_ar_addr_o),
      .ar_len_o  (mem_ar_len_o),
      .r_valid_i (mem_r_valid_i),
      .r_ready_o (mem_r_ready_o),
      .r_data_i  (mem_r_data_i),
      .r_resp_i  (mem_r_resp_i)
  );
  for (genvar p = 0; p < Parsers; p++) begin : gen_feed
    logic valid;
    as_json_feed #(
        .W    (W),
        .Bytes(Bytes)
    ) i_feed (
        .clk_i,
        .rst_ni,
        .start_i  (phase_q == Clear),
        .offset_i (address_q[p*64+:OffsetBits]),
        .length_i (length_q[p*32+:32]),
        .valid_i  (beat_valid[p]),
        .ready_o  (beat_ready[p]),
        .data_i   (beat[p*Bytes*8+:Bytes*8]),
        .valid_o  (valid),
        .ended_o  (feed_ended_o[p]),
        .advance_i(feed_advance_i[p]),
        .data_o   (feed_data_o[p*W*8+:W*8])
    );
    assign feed_valid_o[p] = valid && phase_q == Work;
  end

  as_json_store #(
      .Bytes  (Bytes),
      .Sources(Parsers * Sources),
      .Buffers(Buffers),
      .First  (First)
  ) i_store (
      .clk_i,
      .rst_ni,
      .clr_i       (phase_q == Clear),
      .set_i       (write && write_address[15:13] == 3'b001),
      .set_buffer_i(write_address[12:5]),
      .set_word_i  (write_address[4] ? 2'd3 : write_address[3:2]),
      .set_value_i (write_data),
      .valid_i     (beat_valid_i),
      .ready_o     (beat_ready_o),
      .buffer_i    (beat_buffer_i),
      .beat_i      (beat_number_i),
      .data_i      (beat_data_i),
      .idle_o      (store_idle),
      .full_o      (store_full),
      .error_o     (store_error),
      .aw_valid_o  (mem_aw_valid_o),
      .aw_ready_i  (mem_aw_ready_i),
      .aw_addr_o   (mem_aw_addr_o),
      .aw_len_o    (mem_aw_len_o),
      .w_valid_o   (mem_w_valid_o),
      .w_ready_i   (mem_w_ready_i),
      .w_data_o    (mem_w_data_o),
      .w_strb_o    (mem_w_strb_o),
      .w_last_o    (mem_w_last_o),
      .b_valid_i   (mem_b_valid_i),
      .b_ready_o   (mem_b_ready_o),
      .b_resp_i    (mem_b_resp_i)
  );

endmodule
