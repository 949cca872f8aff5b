// SPDX-License-Identifier: Apache-2.0
// Stub of as_json_store for the proof of the port around it: writes each beat as a burst of one, to
// an address that is its buffer and its number. It is idle after a flush, with which no beat comes.

`default_nettype none

module as_json_store #(
    parameter int unsigned Bytes = 16,
    parameter int unsigned Buffers = 1,
    parameter int unsigned BurstBeats = 16
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic        set_i,
    input logic [ 7:0] set_buffer_i,
    input logic [ 1:0] set_word_i,
    input logic [31:0] set_value_i,

    input  logic               valid_i,
    output logic               ready_o,
    input  logic [        7:0] buffer_i,
    input  logic [       31:0] beat_i,
    input  logic [Bytes*8-1:0] data_i,

    input  logic flush_i,
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

  logic flushed_q, step;
  logic [4:0] unanswered_q;

  assign ready_o   = (!aw_valid_o || aw_ready_i) && (!w_valid_o || w_ready_i);
  assign step      = valid_i && ready_o;
  assign idle_o    = flushed_q && !aw_valid_o && !w_valid_o && unanswered_q == '0;
  assign full_o    = 1'b0;
  assign error_o   = 1'b0;
  assign aw_len_o  = '0;
  assign w_strb_o  = '1;
  assign w_last_o  = 1'b1;
  assign b_ready_o = 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      flushed_q    <= 1'b0;
      aw_valid_o   <= 1'b0;
      w_valid_o    <= 1'b0;
      unanswered_q <= '0;
    end else begin
      flushed_q <= !clr_i && (flushed_q || flush_i);
      if (aw_ready_i) aw_valid_o <= 1'b0;
      if (w_ready_i) w_valid_o <= 1'b0;
      if (step) {aw_valid_o, w_valid_o} <= 2'b11;
      unanswered_q <= unanswered_q + 5'(step) - 5'(b_valid_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (step) begin
      aw_addr_o <= {24'd0, buffer_i, beat_i};
      w_data_o  <= data_i;
    end
    if (rst_ni) assert (!(flush_i && valid_i));
  end

endmodule

`default_nettype wire
