// SPDX-License-Identifier: Apache-2.0
// Proves for as_parquet_values, for numbers in PLAIN and in DELTA_BINARY_PACKED, that a page yields
// the number of values it was begun with, in pieces that do not change while offered; that those of
// PLAIN are the window, which is taken with them; that the end is sent once, after all values; and
// that it makes progress. The delta decoder is proved separately. A page with a fault is not
// checked.

`default_nettype none

module as_parquet_values_proof (
    input logic       clk_i,
    input logic       begin_i,
    input logic       delta_i,
    input logic [4:0] count_i,
    input logic [7:0] bytes_i,
    input logic       ends_i,
    input logic       again_i,
    input logic       window_valid_i,
    input logic       window_i,
    input logic       ahead_ready_i,
    input logic [4:0] ahead_i,
    input logic       ready_i
);
  import as_parquet_pkg::*;

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // As as_parquet_column sends them: pages, one at a time, then the end.
  typedef enum logic [1:0] {
    Wait,
    Values,
    Last,
    Stopped
  } state_e;
  state_e state_q = Wait;
  logic begin_page, delta_q = 1'b0, fault_q = 1'b0, known, values, busy, page_over;
  logic [7:0] fault;
  page_t page;
  assign begin_page = rst_n && state_q == Wait && begin_i && !ends_i && !fault_q;
  assign values     = state_q == Values;
  assign page_over  = values && !busy;
  always_comb begin
    page          = '0;
    page.kind     = PageV1;
    page.encoding = (begin_page ? delta_i : delta_q) ? EncodingDelta : EncodingPlain;
  end

  logic window_ready, window, move, ended, valid, last;
  logic [6:0] take;
  logic [7:0] left_q = '0;
  logic [511:0] data;
  logic [3:0] count;
  as_stream_source #(
      .Width(1)
  ) i_window (
      .clk_i,
      .rst_ni (values),
      .valid_i(window_valid_i),
      .data_i (window_i),
      .ready_i(move || !values),
      .valid_o(window_ready),
      .data_o (window)
  );

  logic [7:0] ahead;
  logic buffer_valid, buffer_last;
  logic [511:0] buffer;
  logic [63:0] strobe;
  as_parquet_values i_values (
      .clk_i,
      .rst_ni        (rst_n),
      .clr_i         (fault_q),
      .start_i       (1'b0),
      .begin_i       (begin_page),
      .page_i        (page),
      .count_i       ({27'd0, count_i}),
      .known_o       (known),
      .values_i      (values),
      .busy_o        (busy),
      .fault_o       (fault),
      .window_ready_i(window_ready),
      .window_i      (512'(window)),
      .left_i        ({24'd0, left_q}),
      .take_o        (take),
      .move_o        (move),
      .ahead_o       (ahead),
      .ahead_ready_i,
      .ahead_i       ({ahead_i[4], 139'd0, ahead_i[3:0]}),
      .ends_i        (state_q == Last),
      .ended_o       (ended),
      .piece_valid_o (valid),
      .piece_ready_i (ready_i),
      .piece_o       (data),
      .piece_count_o (count),
      .piece_last_o  (last),
      .valid_o       (buffer_valid),
      .ready_i       (1'b1),
      .data_o        (buffer),
      .strobe_o      (strobe),
      .last_o        (buffer_last)
  );

  // The end has no values: its lanes are undefined.
  logic kept;
  as_stream_rules #(
      .Width(6)
  ) i_pieces (
      .clk_i,
      .rst_ni (rst_n && !fault_q && fault == '0),
      .valid_i(valid),
      .ready_i,
      .data_i ({last, count, data[0] && !last}),
      .kept_o (kept)
  );

  logic [4:0] owed_q = '0;
  logic sent_q = 1'b0, short_q = 1'b0, out;
  logic [1:0] waited_q = '0;
  logic goes_on;
  assign out = valid && ready_i;
  always_comb begin
    goes_on = !ready_i || page_over || state_q == Wait || state_q == Stopped || (state_q == Last && sent_q);
    if (values) goes_on |= delta_q ? !ahead_ready_i || ahead_i[3:0] != 4'd1 : !window_ready;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Wait: begin
        if (begin_page) begin
          state_q <= Values;
          delta_q <= delta_i;
          owed_q  <= count_i;
          left_q  <= bytes_i;
        end else if (rst_n && ends_i) begin
          state_q <= Last;
          sent_q  <= 1'b0;
        end
      end
      Values: if (page_over) state_q <= Wait;
      // The end of the levels may take longer.
      Last: if (ended && again_i) state_q <= Stopped;
      default: if (again_i) state_q <= Wait;
    endcase
    if (values && fault != '0) fault_q <= 1'b1;
    if (values && window_ready && move) left_q <= left_q < 8'(take) ? '0 : left_q - 8'(take);
    if (values && out) owed_q <= owed_q - 5'(count);
    if (state_q == Last && out) sent_q <= 1'b1;
    short_q  <= values && !delta_q && window_ready && owed_q != '0 && left_q < {(owed_q > 5'd8 ? 5'd8 : owed_q), 3'd0};
    waited_q <= out || goes_on ? '0 : waited_q + 2'd1;
  end

  always_comb begin
    if (rst_n && !fault_q) begin
      assert (known && !buffer_valid);
      assert ((fault != '0) == short_q);
      if (fault == '0) begin
        assert (kept);
        if (valid) assert (values ? count != '0 && count <= 4'd8 && 5'(count) <= owed_q && !last : state_q == Last && last && count == '0 && !sent_q);
        if (values && !delta_q) assert (move == (out && window_ready) && take == 7'd64 && (!valid || data[0] == window));
        if (page_over) assert (owed_q == '0);
        if (state_q == Stopped) assert (sent_q);
        assert (waited_q < 2'd2);
      end
    end
  end

endmodule

`default_nettype wire
