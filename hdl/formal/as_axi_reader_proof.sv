// SPDX-License-Identifier: Apache-2.0
// Proves for as_axi_reader the rules of AXI4; that its bursts are the beats of the requested range,
// one after another; and that a beat that comes back is a beat of the stream.

`default_nettype none

module as_axi_reader_proof (
    input logic        clk_i,
    input logic        request_i,
    input logic [13:0] address_i,
    input logic [ 5:0] length_i,
    input logic        ar_ready_i,
    input logic        r_valid_i,
    input logic [31:0] r_data_i,
    input logic [ 1:0] r_resp_i,
    input logic        beat_ready_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic request_ready, ar_valid, r_ready, beat_valid, beat_error;
  logic [13:0] ar_addr;
  logic [7:0] ar_len;
  logic [31:0] beat;

  as_axi_reader #(
      .Bytes      (4),
      .AddressBits(14),
      .LengthBits (6),
      .BurstBeats (4)
  ) i_reader (
      .clk_i,
      .rst_ni         (rst_n),
      .request_valid_i(request_i),
      .request_ready_o(request_ready),
      .address_i      (address_i),
      .length_i       (length_i),
      .ar_valid_o     (ar_valid),
      .ar_ready_i     (ar_ready_i),
      .ar_addr_o      (ar_addr),
      .ar_len_o       (ar_len),
      .r_valid_i,
      .r_ready_o      (r_ready),
      .r_data_i,
      .r_resp_i,
      .beat_valid_o   (beat_valid),
      .beat_ready_i,
      .beat_o         (beat),
      .beat_error_o   (beat_error)
  );

  as_axi_rules #(
      .AddressBits(14),
      .BurstBeats (4)
  ) i_rules (
      .clk_i,
      .rst_ni    (rst_n),
      .ar_valid_i(ar_valid),
      .ar_ready_i,
      .ar_addr_i (ar_addr),
      .ar_len_i  (ar_len),
      .r_valid_i,
      .r_ready_i (r_ready),
      .r_data_i,
      .r_resp_i
  );

  // The next beat due and how many are due, of one request: the first, before which no address was
  // sent.
  logic        asked_q = 1'b0;
  logic        again_q = 1'b0;
  logic [11:0] next_q = '0;
  logic [ 5:0] left_q = '0;
  logic [ 8:0] end_bytes;
  assign end_bytes = 9'(address_i[1:0]) + 9'(length_i) + 9'd3;

  always_ff @(posedge clk_i) begin
    if (rst_n && request_i && request_ready && length_i != '0) begin
      again_q <= asked_q;
      asked_q <= 1'b1;
      if (!asked_q) begin
        next_q <= address_i[13:2];
        left_q <= 6'(end_bytes[8:2]);
      end
    end
    if (rst_n && asked_q && !again_q && ar_valid && ar_ready_i) begin
      next_q <= next_q + 12'(ar_len) + 12'd1;
      left_q <= left_q - 6'(ar_len) - 6'd1;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (beat_valid == r_valid_i && r_ready == beat_ready_i);
      assert (!r_valid_i || (beat == r_data_i && beat_error == r_resp_i[1]));
      if (ar_valid) begin
        assert (asked_q);
        if (!again_q) assert (ar_addr[13:2] == next_q && 6'(ar_len) < left_q);
      end
      // A new request is taken only when the beats of the last one have all been requested, or are
      // in the last address.
      if (request_ready && asked_q && !again_q) begin
        assert (ar_valid ? 6'(ar_len) + 6'd1 == left_q : left_q == '0);
      end
    end
  end

endmodule

`default_nettype wire
