// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_pages, for all bytes, that offered descriptors and beats do not change,
// that it takes only beats of the chunk and has taken all of them when it is idle, immediately
// after it has given up, and that descriptors are of pages inside the chunk.

`default_nettype none

module as_parquet_pages_proof (
    input logic        clk_i,
    input logic        start_i,
    input logic        clear_i,
    input logic [ 5:0] offset_i,
    input logic [ 7:0] length_i,
    input logic [ 3:0] values_i,
    input logic        beat_valid_i,
    input logic [511:0] beat_i,
    input logic        page_ready_i,
    input logic        body_ready_i
);
  import as_parquet_pkg::*;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic started_q = 1'b0;
  logic start;
  assign start = rst_n && start_i && !started_q;

  logic done, idle, starved, beat_valid, beat_ready, page_valid, body_valid;
  logic [7:0] fault;
  logic [31:0] position;
  logic [511:0] beat, body;
  page_t page;
  // Beats of the chunk still to come.
  logic [8:0] beats_q = '0;
  as_stream_source #(
      .Width(512)
  ) i_beats (
      .clk_i,
      .rst_ni (rst_n && beats_q != '0),
      .valid_i(beat_valid_i),
      .data_i (beat_i),
      .ready_i(beat_ready),
      .valid_o(beat_valid),
      .data_o (beat)
  );

  as_parquet_pages i_pages (
      .clk_i,
      .rst_ni      (rst_n),
      .clr_i       (clear_i && started_q),
      .start_i     (start),
      .offset_i,
      .length_i    ({24'd0, length_i}),
      .values_i    ({60'd0, values_i}),
      .done_o      (done),
      .idle_o      (idle),
      .fault_o     (fault),
      .position_o  (position),
      .starved_o   (starved),
      .beat_valid_i(beat_valid),
      .beat_ready_o(beat_ready),
      .beat_i      (beat),
      .page_valid_o(page_valid),
      .page_ready_i,
      .page_o      (page),
      .body_valid_o(body_valid),
      .body_ready_i,
      .body_o      (body)
  );

  logic page_kept, body_kept, cleared_q = 1'b0;
  as_stream_rules #(
      .Width($bits(page_t))
  ) i_page (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(page_valid),
      .ready_i(page_ready_i),
      .data_i (page),
      .kept_o (page_kept)
  );
  // The beats' content is the input's.
  as_stream_rules #(
      .Width(1)
  ) i_body (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(body_valid),
      .ready_i(body_ready_i),
      .data_i (1'b0),
      .kept_o (body_kept)
  );

  logic [3:0] swallowed_q = '0;
  always_ff @(posedge clk_i) begin
    cleared_q <= clear_i && started_q;
    if (start) begin
      started_q <= 1'b1;
      beats_q   <= length_i == '0 ? '0 : 9'((10'(length_i) + 10'(offset_i) + 10'd63) >> 6);
    end else if (beat_valid && beat_ready) beats_q <= beats_q - 9'd1;
    // After giving up, or at the end, beats are discarded immediately.
    swallowed_q <= !done || !beat_valid || beat_ready ? '0 : swallowed_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert ((page_kept && body_kept) || cleared_q);
      assert (!body_valid || beat_valid);
      if (started_q) assert (idle == (done && beats_q == '0));
      assert (swallowed_q == '0);
      if (page_valid) assert (page.kind != PageV2 || page.definition_bytes <= page.bytes);
      if (page_valid) assert (page.position < 32'd256 && page.bytes < 32'd256);
    end
  end

endmodule

`default_nettype wire
