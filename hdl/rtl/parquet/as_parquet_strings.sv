// SPDX-License-Identifier: Apache-2.0
// The bytes of a column of strings, to one buffer: those of PLAIN and of DELTA_LENGTH_BYTE_ARRAY
// from the window, those of a dictionary from the dictionary.
//
// PLAIN takes one string per cycle: its length is output (`put_o`, with the window) and its first
// bytes; longer ones take more cycles. In DELTA_LENGTH_BYTE_ARRAY the decoded lengths are summed,
// and when all are here (`lengths_end_i`), that many bytes follow, 64 per cycle. The number of
// bytes taken is known early; whether they are taken, late.
//
// Layer: parquet.

`default_nettype none

module as_parquet_strings #(
    parameter  int unsigned Lanes     = 16,
    localparam int unsigned Bytes     = 64,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    // A page of `count_i` strings begins; in PLAIN they are taken immediately.
    input  logic        begin_i,
    input  logic        plain_i,
    input  logic [31:0] count_i,
    input  logic        values_i,
    output logic [ 7:0] fault_o,
    // Part of the page is still to be taken; the window is moved from here.
    output logic        busy_o,
    output logic        takes_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    output logic [  6:0] take_o,
    output logic         move_o,

    output logic put_o,
    input  logic put_ready_i,

    input logic                 lengths_valid_i,
    input logic [ Lanes*32-1:0] lengths_i,
    input logic [CountBits-1:0] lengths_count_i,
    input logic                 lengths_end_i,

    input  logic         bytes_valid_i,
    output logic         bytes_ready_o,
    input  logic [511:0] bytes_i,
    input  logic [  6:0] bytes_count_i,

    // The chunk ends; the end was taken.
    input  logic ends_i,
    output logic ended_o,

    output logic               valid_o,
    input  logic               ready_i,
    output logic [Bytes*8-1:0] data_o,
    output logic [  Bytes-1:0] strobe_o,
    output logic               last_o
);
  import as_parquet_pkg::*;

  localparam int unsigned Levels = $clog2(Lanes);
  localparam int unsigned SumBits = 37;

  // PLAIN.
  logic        plain_run_q;
  logic [31:0] strings_q;
  logic [31:0] string_left_q;
  logic        first;
  logic        bad;
  logic        head;
  logic        put;
  logic [ 6:0] count;
  logic [31:0] whole;

  assign first = string_left_q == '0;
  assign bad   = first && (left_i < 32'd4 || window_i[31] || window_i[31:0] > left_i - 32'd4);
  assign head  = values_i && plain_run_q && window_ready_i && strings_q != '0;
  assign put   = head && !bad && put_ready_i && bytes_ready_o;
  assign put_o = put && first;
  assign whole = first ? window_i[31:0] : string_left_q;
  assign count = first ? (window_i[31:0] >= 32'd60 ? 7'd60 : 7'(window_i[5:0]))
                       : (string_left_q >= 32'd64 ? 7'd64 : 7'(string_left_q));

  // The sum of a page's lengths: a tree with a register after each level, and an accumulator.
  logic [            Levels:0] sum_valid_q;
  logic [   Lanes*SumBits-1:0] sum_q     [Levels+1];
  logic [         SumBits-1:0] lengths_q;
  logic                        negative;
  logic                        negative_q;
  logic                        lengths_known;

  always_comb begin
    negative = 1'b0;
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      if (CountBits'(lane) < lengths_count_i && lengths_i[lane*32+31]) negative = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < Lanes; lane++) begin
      sum_q[0][lane*SumBits+:SumBits] <= CountBits'(lane) < lengths_count_i ? SumBits'(lengths_i[lane*32+:32]) : '0;
    end
    for (int unsigned k = 1; k <= Levels; k++) begin
      for (int unsigned n = 0; n < Lanes >> k; n++) begin
        sum_q[k][n*SumBits+:SumBits] <= sum_q[k-1][2*n*SumBits+:SumBits] + sum_q[k-1][(2*n+1)*SumBits+:SumBits];
      end
    end
    if (clr_i || begin_i) begin
      sum_valid_q <= '0;
      lengths_q   <= '0;
      negative_q  <= 1'b0;
    end else begin
      sum_valid_q <= {sum_valid_q[Levels-1:0], lengths_valid_i};
      if (sum_valid_q[Levels]) lengths_q <= lengths_q + sum_q[Levels][SumBits-1:0];
      if (lengths_valid_i && negative) negative_q <= 1'b1;
    end
  end

  // Bytes of DELTA_LENGTH_BYTE_ARRAY.
  logic        chars_run_q;
  logic [31:0] chars_left_q;
  logic        chars_put;

  assign lengths_known = lengths_end_i && sum_valid_q == '0 && !chars_run_q;
  assign chars_put     = values_i && chars_run_q && window_ready_i && chars_left_q != '0;

  always_comb begin
    fault_o = FaultNone;
    if (head && bad) fault_o = left_i < 32'd4 ? FaultValues : FaultLength;
    else if (negative_q || (lengths_known && lengths_q > SumBits'(left_i))) fault_o = FaultLength;
  end
  assign busy_o  = (plain_run_q && strings_q != '0) || (lengths_end_i && !chars_run_q) || (chars_run_q && chars_left_q != '0);
  assign takes_o = plain_run_q || chars_run_q;

  // The strings' bytes are the end of the page.
  assign take_o = chars_run_q ? 7'd64 : first ? count + 7'd4 : count;
  assign move_o = chars_run_q ? chars_put && bytes_ready_o : put;

  logic [511:0] bytes_in;
  logic [  6:0] bytes_in_count;
  logic         ended_q;

  always_comb begin
    bytes_in       = window_i;
    bytes_in_count = chars_left_q >= 32'd64 ? 7'd64 : 7'(chars_left_q);
    if (plain_run_q) begin
      bytes_in_count = count;
      if (first) bytes_in = 512'(window_i[511:32]);
    end
    if (bytes_valid_i) begin
      bytes_in       = bytes_i;
      bytes_in_count = bytes_count_i;
    end
    if (ends_i) bytes_in_count = '0;
  end

  assign ended_o = ended_q || bytes_ready_o;

  always_ff @(posedge clk_i) begin
    ended_q <= ends_i && ended_o;
    if (begin_i) begin
      plain_run_q   <= plain_i;
      string_left_q <= '0;
      strings_q     <= count_i;
      chars_run_q   <= 1'b0;
    end else if (values_i) begin
      if (put) begin
        string_left_q <= whole - 32'(count);
        if (whole == 32'(count)) strings_q <= strings_q - 32'd1;
      end
      if (lengths_known) begin
        chars_run_q  <= 1'b1;
        chars_left_q <= 32'(lengths_q);
      end
      if (chars_put && bytes_ready_o) chars_left_q <= chars_left_q - 32'(bytes_in_count);
    end
  end

  logic         held_valid, held_ready, held_last;
  logic [511:0] held;
  logic [  6:0] held_count;

  as_skid_buffer #(
      .Width(512 + 8)
  ) i_hold (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(bytes_valid_i || put || chars_put || (ends_i && !ended_q)),
      .ready_o(bytes_ready_o),
      .data_i ({ends_i, bytes_in_count, bytes_in}),
      .valid_o(held_valid),
      .ready_i(held_ready),
      .data_o ({held_last, held_count, held})
  );

  as_arrow_values #(
      .ElementBits(8),
      .Lanes(64),
      .Bytes(Bytes)
  ) i_bytes (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i (held_valid),
      .ready_o (held_ready),
      .data_i  (held),
      .count_i (held_count),
      .last_i  (held_last),
      .valid_o,
      .ready_i,
      .data_o,
      .strobe_o,
      .last_o
  );

endmodule

`default_nettype wire
