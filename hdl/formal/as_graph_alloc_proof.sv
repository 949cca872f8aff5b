// SPDX-License-Identifier: Apache-2.0
// Proves for as_graph_alloc, for any map, that a list of objects ends either with the right number
// of words, the objects one after another at their alignment and inside the region, or with a fault
// that is real.

`default_nettype none

module as_graph_alloc_proof (
    input logic       clk_i,
    input logic       start_i,
    input logic [2:0] count_i,
    input logic [5:0] capacity_i,
    input logic [4:0] bytes_i,
    input logic       window_valid_i,
    input logic [1:0] known_i,
    input logic [1:0] root_i,
    input logic [3:0] size_i,
    input logic [1:0] mask_i
);

  localparam int unsigned OffsetBits = 7;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0, ended_q = 1'b0;
  logic start;
  logic [2:0] count_q = '0;
  logic [5:0] capacity_q = '0;
  logic [7:0] left_q = '0, at_q = '0;
  assign start = rst_n && start_i && !started_q && count_i != '0;

  logic window_ready, write, done;
  logic [3:0] take;
  logic [5:0] address;
  logic [63:0] ids;
  logic [2*(OffsetBits+1)-1:0] word;
  logic [7:0] position;
  logic [OffsetBits-1:0] last;
  as_graph_pkg::code_e code;
  as_stream_source #(
      .Width(1)
  ) i_window (
      .clk_i,
      .rst_ni (rst_n && started_q),
      .valid_i(window_valid_i),
      .data_i (1'b0),
      .ready_i(take != '0),
      .valid_o(window_ready),
      .data_o ()
  );

  as_graph_alloc #(
      .Lanes     (2),
      .SizeBits  (2),
      .OffsetBits(OffsetBits),
      .CountBits (3),
      .LengthBits(8)
  ) i_alloc (
      .clk_i,
      .rst_ni           (rst_n),
      .start_i          (start),
      .count_i,
      .capacity_i       ({1'b0, capacity_q}),
      .window_ready_i   (window_ready),
      .window_i         ('0),
      .left_i           (left_q),
      .position_i       (at_q),
      .take_o           (take),
      .lane_id_o        (ids),
      .lane_known_i     (known_i),
      .lane_root_i      (root_i),
      .lane_type_i      ('0),
      .lane_size_i      (size_i),
      .lane_align_mask_i(mask_i),
      .table_write_o    (write),
      .table_address_o  (address),
      .table_word_o     (word),
      .done_o           (done),
      .code_o           (code),
      .position_o       (position),
      .end_o            (last)
  );

  // The map's result for the ids looked at; the end of the objects so far.
  logic [1:0] mask_q;
  logic [3:0] size_q;
  logic [2:0] placed_q = '0;
  logic [OffsetBits-1:0] end_q = '0, first, second;
  logic [2:0] waited_q = '0;
  assign first  = word[OffsetBits:1];
  assign second = word[2*OffsetBits+1:OffsetBits+2];
  logic both;
  assign both = count_q - placed_q > 3'd1;

  // Objects of a word that are not directly after the previous one, at their alignment.
  logic wrong, wrong_q = 1'b0;
  always_comb begin
    wrong = first < end_q || first - end_q > OffsetBits'(mask_q[0]) || (first[0] && mask_q[0]);
    if (both) begin
      if (second < first + OffsetBits'(size_q[1:0]) || (second[0] && mask_q[1])) wrong = 1'b1;
      if (second - first - OffsetBits'(size_q[1:0]) > OffsetBits'(mask_q[1])) wrong = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    wrong_q <= rst_n && write && !done && wrong;
    mask_q  <= mask_i;
    size_q  <= size_i;
    if (start) begin
      started_q  <= 1'b1;
      count_q    <= count_i;
      capacity_q <= capacity_i;
      left_q     <= {3'd0, bytes_i};
    end else begin
      left_q <= left_q - 8'(take);
      at_q   <= at_q + 8'(take);
    end
    if (rst_n && write) begin
      placed_q <= both ? placed_q + 3'd2 : count_q;
      end_q    <= both ? second + OffsetBits'(size_q[3:2]) : first + OffsetBits'(size_q[1:0]);
    end
    if (rst_n && done) ended_q <= 1'b1;
    waited_q <= !started_q || ended_q || done || take != '0 || !window_ready ? '0 : waited_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (8'(take) <= left_q && !(take != '0 && !window_ready));
      assert (!(done && ended_q) && !((done || write) && !started_q));
      if (write && !done) assert (address == 6'(placed_q >> 1) && placed_q < count_q);
      // A word with a wrong object must end in a fault.
      if (wrong_q) assert (done && code != as_graph_pkg::Good);
      if (done && code == as_graph_pkg::Good) assert (placed_q == count_q && last == end_q && last <= OffsetBits'(capacity_q) && at_q == {3'd0, count_q, 2'd0});
      if (done && code == as_graph_pkg::Truncated) assert (position == at_q && left_q < 8'd4);
      if (done && code == as_graph_pkg::WrongType) assert (position == '0);
      if (done && code == as_graph_pkg::RegionTooSmall) assert (last > OffsetBits'(capacity_q));
      if (done) begin
        assert (code inside {as_graph_pkg::Good, as_graph_pkg::Truncated, as_graph_pkg::UnknownType, as_graph_pkg::WrongType, as_graph_pkg::RegionTooSmall});
      end
      assert (waited_q < 3'd4);
    end
  end

endmodule

`default_nettype wire
