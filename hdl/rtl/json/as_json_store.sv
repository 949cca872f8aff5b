// SPDX-License-Identifier: Apache-2.0
// Writes beats for many buffers to memory, each at its buffer's write position.
//
// The host sets the buffers' addresses and capacities before a run. A beat past the end of a buffer
// is not written and raises `full_o`. Every beat is a burst of one: successive beats belong to
// different columns.
//
// Latency: 1 cycle. Throughput: one beat per cycle.
//
// Layer: json.

`include "as_assertions.svh"

`default_nettype none

module as_json_store #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned Buffers = 1,
    localparam int unsigned BufferBits = as_stream_pkg::index_bits(Buffers),
    localparam int unsigned OffsetBits = $clog2(Bytes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    // A word of the table: address low, high, capacity in bytes.
    input logic        set_i,
    input logic [ 7:0] set_buffer_i,
    input logic [ 1:0] set_word_i,
    input logic [31:0] set_value_i,

    input  logic               valid_i,
    output logic               ready_o,
    input  logic [        7:0] buffer_i,
    input  logic [       31:0] beat_i,
    input  logic [Bytes*8-1:0] data_i,

    output logic idle_o,
    output logic full_o,
    output logic error_o,

    output logic               aw_valid_o,
    input  logic               aw_ready_i,
    output logic [       63:0] aw_addr_o,
    output logic [        7:0] aw_len_o,
    output logic               w_valid_o,
    input  logic               w_ready_i,
    output logic [Bytes*8-1:0] w_data_o,
    output logic [  Bytes-1:0] w_strb_o,
    output logic               w_last_o,
    input  logic               b_valid_i,
    output logic               b_ready_o,
    input  logic [        1:0] b_resp_i
);

  logic [31:0] low[Buffers];
  logic [31:0] high[Buffers];
  logic [31:0] capacity[Buffers];

  logic [BufferBits-1:0] buffer;
  logic step, fits;
  logic aw_valid_q, w_valid_q;
  logic [15:0] open_q;

  assign buffer  = BufferBits'(buffer_i);
  assign ready_o = (!aw_valid_q || aw_ready_i) && (!w_valid_q || w_ready_i) && open_q[15:12] == '0;
  assign step    = valid_i && ready_o;
  assign fits    = 36'(beat_i) < 36'(capacity[buffer] >> OffsetBits);

  assign aw_valid_o = aw_valid_q;
  assign aw_len_o   = '0;
  assign w_valid_o  = w_valid_q;
  assign w_strb_o   = '1;
  assign w_last_o   = 1'b1;
  assign b_ready_o  = 1'b1;
  assign idle_o     = !aw_valid_q && !w_valid_q && open_q == '0;

  // Only the upper bit of a response signals an error.
  logic unused;
  assign unused = b_resp_i[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      w_valid_q  <= 1'b0;
      open_q     <= '0;
      full_o     <= 1'b0;
      error_o    <= 1'b0;
    end else begin
      if (aw_ready_i) aw_valid_q <= 1'b0;
      if (w_ready_i) w_valid_q <= 1'b0;
      if (step) begin
        aw_valid_q <= fits;
        w_valid_q  <= fits;
      end
      open_q <= open_q + 16'(step && fits) - 16'(b_valid_i);
      if (clr_i) begin
        full_o  <= 1'b0;
        error_o <= 1'b0;
      end else begin
        if (step && !fits) full_o <= 1'b1;
        if (b_valid_i && b_resp_i[1]) error_o <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) begin
      aw_addr_o <= {high[buffer], low[buffer]} + (64'(beat_i) << OffsetBits);
      w_data_o  <= data_i;
    end
    if (set_i) begin
      unique case (set_word_i)
        2'd0: low[BufferBits'(set_buffer_i)] <= set_value_i;
        2'd1: high[BufferBits'(set_buffer_i)] <= set_value_i;
        2'd2: capacity[BufferBits'(set_buffer_i)] <= set_value_i;
        default: ;
      endcase
    end
  end

  `AS_STREAM_STABLE(aw, aw_valid_o, aw_ready_i, {aw_len_o, aw_addr_o}, clr_i)
  `AS_STREAM_STABLE(w, w_valid_o, w_ready_i, {w_last_o, w_strb_o, w_data_o}, clr_i)

endmodule

`default_nettype wire
