// SPDX-License-Identifier: Apache-2.0
// Proves that a queue (as_skid_buffer, as_fifo or as_fifo_block) keeps the stream rules and neither
// loses, invents, nor reorders a transfer.
//
// Tracks one arbitrary payload: the input marks it in some cycle, and a counter holds how many are
// before it. When it reaches the front, the output must be that payload. `Queue` selects the
// module.

`default_nettype none

module as_queue_properties #(
    parameter int unsigned Queue = 0
) (
    input logic       clk_i,
    input logic       valid_i,
    input logic [3:0] data_i,
    input logic       ready_i,
    input logic       pick_i
);

  localparam bit Block = Queue == 2;
  // A queue in block RAM also has its output register.
  localparam int unsigned Depth = Block ? 5 : Queue == 1 ? 4 : 2;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic       ready, valid;
  logic [3:0] data;

  if (Block) begin : gen_block
    as_fifo_block #(
        .Width(4),
        .Depth(4)
    ) i_queue (
        .clk_i,
        .rst_ni (rst_n),
        .clr_i  (1'b0),
        .valid_i(valid_i),
        .ready_o(ready),
        .data_i (data_i),
        .valid_o(valid),
        .ready_i(ready_i),
        .data_o (data)
    );
  end else if (Queue == 1) begin : gen_fifo
    as_fifo #(
        .Width(4),
        .Depth(4)
    ) i_queue (
        .clk_i,
        .rst_ni (rst_n),
        .clr_i  (1'b0),
        .valid_i(valid_i),
        .ready_o(ready),
        .data_i (data_i),
        .valid_o(valid),
        .ready_i(ready_i),
        .data_o (data)
    );
  end else begin : gen_skid
    as_skid_buffer #(
        .Width(4)
    ) i_queue (
        .clk_i,
        .rst_ni (rst_n),
        .clr_i  (1'b0),
        .valid_i(valid_i),
        .ready_o(ready),
        .data_i (data_i),
        .valid_o(valid),
        .ready_i(ready_i),
        .data_o (data)
    );
  end

  logic kept;
  as_stream_rules #(
      .Width(4)
  ) i_output (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(valid),
      .ready_i(ready_i),
      .data_i (data),
      .kept_o (kept)
  );

  // How many payloads are inside, and how many of them up to the tracked one, inclusive.
  logic [2:0] inside_q = '0;
  logic [2:0] before_q = '0;
  logic       follow_q = 1'b0;
  // The last cycle put a payload in.
  logic       fresh_q = 1'b0;
  logic [3:0] wanted_q = '0;
  logic       in, out;
  assign in  = valid_i && ready && rst_n;
  assign out = valid && ready_i && rst_n;

  always_ff @(posedge clk_i) begin
    inside_q <= inside_q + 3'(in) - 3'(out);
    fresh_q  <= in;
    if (!follow_q && in && pick_i) begin
      follow_q <= 1'b1;
      wanted_q <= data_i;
      before_q <= inside_q + 3'd1 - 3'(out);
    end else if (follow_q && out) begin
      before_q <= before_q - 3'd1;
      if (before_q == 3'd1) follow_q <= 1'b0;
    end
  end

  always_comb begin
    if (rst_n) begin
      // An offered payload does not change.
      assert (kept);
      // Nothing is lost or invented: there is output exactly while the queue is not empty, and
      // never more than fits. A payload in block RAM may need a cycle more.
      assert (valid == (inside_q != '0) || (Block && inside_q == 3'd1 && fresh_q));
      assert (inside_q <= 3'(Depth));
      // `ready_o` is high exactly while there is room.
      assert (ready == (inside_q != 3'(Depth)) || (Block && inside_q == 3'd4 && !ready));
      // The tracked payload comes out in its turn, unchanged.
      assert (!follow_q || (before_q != '0 && before_q <= inside_q));
      assert (!follow_q || before_q != 3'd1 || !valid || data == wanted_q);
    end
  end

endmodule

`default_nettype wire
