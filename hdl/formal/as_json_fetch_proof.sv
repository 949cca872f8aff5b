// SPDX-License-Identifier: Apache-2.0
// Proves for as_json_fetch the rules of AXI4, that each parser gets exactly the beats of its range,
// in order, and that no response finds its queue full. The memory answers with the number of each
// beat's place.

`default_nettype none

module as_json_fetch_proof (
    input logic        clk_i,
    input logic        start_i,
    input logic [23:0] address_i,
    input logic [ 7:0] length_i,
    input logic [ 1:0] ready_i,
    input logic [ 1:0] abort_i,
    input logic        ar_ready_i,
    input logic        r_valid_i
);

  localparam int unsigned Deep = 16;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start;
  logic [11:0] begin_q[2];
  logic [4:0] beats_q[2];
  assign start = rst_n && start_i && !started_q;
  for (genvar p = 0; p < 2; p++) begin : gen_range
    always_ff @(posedge clk_i) begin
      if (start) begin
        begin_q[p] <= address_i[p*12+:12];
        beats_q[p] <= length_i[p*4+:4] == '0 ? '0 : 5'((6'(address_i[p*12+:2]) + 6'(length_i[p*4+:4]) + 6'd3) >> 2);
      end
    end
  end

  // Outstanding requests: places of beats, the next one first.
  logic [9:0] owed_q[Deep];
  logic [4:0] owed_count_q = '0;
  logic ar_valid, r_valid, r_ready;
  logic [63:0] ar_addr;
  logic [7:0] ar_len;
  logic [4:0] after;
  assign r_valid = rst_n && r_valid_i && owed_count_q != '0;
  assign after   = owed_count_q - 5'(r_valid && r_ready);
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Deep; i++) begin
      if (r_valid && r_ready && i + 1 < Deep) owed_q[i] <= owed_q[i+1];
      if (rst_n && ar_valid && ar_ready_i && 5'(i) >= after && 5'(i) <= after + 5'(ar_len[0])) begin
        owed_q[i] <= ar_addr[11:2] + 10'(5'(i) - after);
      end
    end
    if (rst_n) owed_count_q <= after + (ar_valid && ar_ready_i ? 5'(ar_len) + 5'd1 : '0);
    if (start) started_q <= 1'b1;
  end

  logic idle, error;
  logic [1:0] valid;
  logic [31:0] data[2];
  as_json_fetch #(
      .Parsers     (2),
      .Bytes       (4),
      .SegmentBeats(2),
      .QueueBeats  (4)
  ) i_fetch (
      .clk_i,
      .rst_ni    (rst_n),
      .start_i   (start),
      .address_i ({52'd0, address_i[23:12], 52'd0, address_i[11:0]}),
      .length_i  ({28'd0, length_i[7:4], 28'd0, length_i[3:0]}),
      .abort_i   (started_q ? abort_i : '0),
      .idle_o    (idle),
      .error_o   (error),
      .valid_o   (valid),
      .ready_i   (ready_i),
      .data_o    ({data[1], data[0]}),
      .ar_valid_o(ar_valid),
      .ar_ready_i,
      .ar_addr_o (ar_addr),
      .ar_len_o  (ar_len),
      .r_valid_i (r_valid),
      .r_ready_o (r_ready),
      .r_data_i  ({22'd0, owed_q[0]}),
      .r_resp_i  (2'b00)
  );

  logic quiet;
  as_axi_rules #(
      .AddressBits(64),
      .BurstBeats (2)
  ) i_rules (
      .clk_i,
      .rst_ni    (rst_n),
      .ar_valid_i(ar_valid),
      .ar_ready_i,
      .ar_addr_i (ar_addr),
      .ar_len_i  (ar_len),
      .r_valid_i (r_valid),
      .r_ready_i (r_ready),
      .quiet_o   (quiet)
  );

  for (genvar p = 0; p < 2; p++) begin : gen_parser
    logic kept;
    logic [4:0] got_q = '0;
    as_stream_rules #(
        .Width(32)
    ) i_output (
        .clk_i,
        .rst_ni (rst_n),
        .valid_i(valid[p]),
        .ready_i(ready_i[p]),
        .data_i (data[p]),
        .kept_o (kept)
    );
    always_ff @(posedge clk_i) if (rst_n && valid[p] && ready_i[p]) got_q <= got_q + 1'b1;
    always_comb begin
      if (rst_n && !start) begin
        assert (kept);
        if (valid[p]) assert (started_q && got_q < beats_q[p] && data[p] == {22'd0, 10'(begin_q[p][11:2] + 10'(got_q))});
      end
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (!error);
      // Room was reserved: the channel never waits for a parser.
      assert (!r_valid || r_ready);
      if (idle) assert (quiet);
    end
  end

endmodule

`default_nettype wire
