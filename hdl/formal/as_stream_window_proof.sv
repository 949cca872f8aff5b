// SPDX-License-Identifier: Apache-2.0
// Proves for as_stream_window that the byte at its front is always the next byte of the message,
// however bytes are taken and beats come, that the bytes shown ahead are at the right distance, and
// that it takes exactly the beats of the message.
//
// Beats have four bytes, and every byte holds its own address, counted from the message's first
// beat.

`default_nettype none

module as_stream_window_proof (
    input logic       clk_i,
    input logic       start_i,
    input logic [1:0] offset_i,
    input logic [4:0] length_i,
    input logic       beat_valid_i,
    input logic [2:0] take_i,
    input logic       move_i,
    input logic [3:0] ahead_i,
    input logic       finish_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic        idle, beat_ready, ready;
  logic [31:0] window;
  logic [ 4:0] left;
  // Beats of this message that were delivered, and the position of the next byte.
  logic [ 5:0] beats_q = '0;
  logic [ 7:0] next_q = '0;
  logic [ 7:0] end_q = '0;
  logic [31:0] beat;

  assign beat = {8'({beats_q, 2'b11}), 8'({beats_q, 2'b10}), 8'({beats_q, 2'b01}), 8'({beats_q, 2'b00})};

  // At most a window; bytes past the end cannot be taken.
  logic [2:0] take;
  logic [2:0] taken;
  assign take  = take_i > 3'd4 ? 3'd4 : take_i;
  assign taken = !ready || !move_i ? 3'd0 : 5'(take) > left ? 3'(left) : take;

  // At most two windows ahead.
  logic [3:0] ahead;
  logic       ahead_ready;
  logic [7:0] ahead_byte;
  assign ahead = ahead_i > 4'd8 ? 4'd8 : ahead_i;

  as_stream_window #(
      .Bytes     (4),
      .LengthBits(5)
  ) i_window (
      .clk_i,
      .rst_ni      (rst_n),
      .start_i     (start_i && rst_n),
      .offset_i    (offset_i),
      .length_i    (length_i),
      .finish_i    (finish_i),
      .idle_o      (idle),
      .beat_valid_i(beat_valid_i),
      .beat_ready_o(beat_ready),
      .beat_i      (beat),
      .ready_o     (ready),
      .window_o    (window),
      .left_o      (left),
      .take_i      (take),
      .move_i      (move_i),
      .ahead_i     (ahead),
      .ahead_ready_o(ahead_ready),
      .ahead_o     (ahead_byte)
  );

  always_ff @(posedge clk_i) begin
    if (idle && start_i && rst_n) begin
      beats_q <= '0;
      next_q  <= 8'(offset_i);
      end_q   <= 8'(offset_i) + 8'(length_i);
    end else begin
      if (beat_valid_i && beat_ready) beats_q <= beats_q + 1'b1;
      next_q <= next_q + 8'(taken);
    end
  end

  always_comb begin
    if (rst_n && !idle) begin
      assert (end_q - next_q == 8'(left));
      // Never more beats than the message has.
      assert (!beat_ready || 8'({beats_q, 2'b00}) < end_q);
      if (ready) begin
        for (int unsigned lane = 0; lane < 4; lane++) begin
          assert (8'(lane) >= 8'(left) || window[lane*8+:8] == next_q + 8'(lane));
        end
        assert (!ahead_ready || 8'(ahead) >= 8'(left) || ahead_byte == next_q + 8'(ahead));
      end
    end
  end

endmodule

`default_nettype wire
