// SPDX-License-Identifier: Apache-2.0
// Decodes definition levels of one bit, RLE and bit-packed runs: which rows of a column are null.
//
// After `start_i` it takes `bytes_i` bytes of the window and makes tokens of the first `count_i`
// levels: a run of equal ones, or up to 64 different ones. When it is idle again, `valid_count_o`
// is the number of ones. Bytes after the last level are skipped.
//
// Throughput: 64 levels per cycle, or a run in 2 cycles.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_levels (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [31:0] count_i,
    input  logic [31:0] bytes_i,
    output logic        idle_o,
    output logic [ 7:0] fault_o,
    output logic [31:0] valid_count_o,

    input  logic        window_ready_i,
    input  logic [63:0] window_i,
    // How many bytes are taken, known early, and whether they are, known late.
    output logic [ 6:0] take_o,
    output logic        move_o,

    // {run, count, bits}: of a run, bit 0 is the level of all.
    output logic        token_valid_o,
    input  logic        token_ready_i,
    output logic [96:0] token_o
);
  import as_parquet_pkg::*;

  typedef enum logic [2:0] {
    Idle,
    See,
    Head,
    Run,
    Bits,
    Rest
  } state_e;

  state_e       state_q;
  logic  [ 7:0] fault_q;
  logic  [31:0] left_q;
  logic  [31:0] bytes_q;
  logic  [31:0] ones_q;
  logic  [47:0] seen_q;
  logic  [ 2:0] head_bytes_q;
  // Of an RLE run.
  logic  [31:0] run_count_q;
  logic         run_value_q;
  // Levels left in the bit-packed run.
  logic  [31:0] packed_q;

  logic  [34:0] head;
  logic         head_bad;
  logic  [ 7:0] run_value;
  logic  [63:0] bits;
  // The token of the previous cycle, to be counted.
  logic         counted_q;
  logic  [31:0] counted_run_q;
  logic  [63:0] counted_bits_q;
  logic  [ 6:0] ones;

  // Bytes of a varint, 0 if it is too long.
  function automatic logic [2:0] bytes_of(input logic [39:0] bytes);
    bytes_of = '0;
    for (int unsigned k = 5; k > 0; k--) begin
      if (!bytes[(k-1)*8+7]) bytes_of = 3'(k);
    end
  endfunction

  always_comb begin
    head = '0;
    for (int unsigned k = 0; k < 5; k++) begin
      if (3'(k) < head_bytes_q) head[k*7+:7] = seen_q[k*8+:7];
    end
    run_value = 8'(seen_q >> {head_bytes_q, 3'b000});
    // A run of length zero would never end.
    head_bad  = head_bytes_q == '0 || head[34:32] != '0 || head[31:1] == '0 ||
                32'(head_bytes_q) + 32'(!head[0]) > bytes_q || (head[0] ? head[31:29] != '0 : run_value > 8'd1);
  end

  // A step of bit-packed levels, computed a cycle before: how many levels, how many bytes, and
  // whether it ends the run and the page.
  logic [31:0] packed_after;
  logic [31:0] left_after;
  logic [31:0] bytes_after;
  logic [ 6:0] count_q;
  logic [ 6:0] take_q;
  logic        run_ends_q;
  logic        page_ends_q;

  always_comb begin
    packed_after  = state_q == Head ? {head[28:1], 4'b0000} >> 1 : packed_q - 32'd64;
    left_after    = state_q == Head ? left_q : left_q - 32'(count_q);
    bytes_after   = bytes_q - 32'(take_o);
    ones          = '0;
    for (int unsigned k = 0; k < 64; k++) begin
      bits[k] = window_i[k] && 7'(k) < count_q;
      ones += 7'(counted_bits_q[k]);
    end
  end

  // Whether a step has the bytes of its levels is checked a cycle later: levels without bytes are
  // discarded with the fault. The last bytes of a run may be missing if no level is in them.
  logic short_q;
  logic put;
  assign put           = token_valid_o && token_ready_i;
  assign token_valid_o = state_q == Run || (state_q == Bits && window_ready_i);
  assign token_o       = state_q == Run ? {1'b1, run_count_q, 63'd0, run_value_q} : {1'b0, 32'(count_q), bits};

  always_comb begin
    take_o = 7'(head_bytes_q);
    move_o = 1'b0;
    unique case (state_q)
      Run: begin
        take_o = 7'(head_bytes_q) + 7'd1;
        move_o = put;
      end
      Head: move_o = seen_q[0];
      Bits: begin
        take_o = take_q;
        move_o = put;
      end
      Rest: begin
        take_o = bytes_q < 32'd64 ? 7'(bytes_q) : 7'd64;
        move_o = window_ready_i;
      end
      default: ;
    endcase
  end

  assign idle_o        = state_q == Idle;
  assign fault_o       = fault_q;
  assign valid_count_o = ones_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      fault_q <= FaultNone;
    end else if (clr_i) begin
      state_q <= Idle;
      fault_q <= FaultNone;
    end else begin
      unique case (state_q)
        Idle: if (start_i) state_q <= count_i == '0 ? Rest : See;
        See:  if (window_ready_i) state_q <= Head;
        Head:
        if (head_bad) begin
          state_q <= Idle;
          fault_q <= FaultLevels;
        end else begin
          state_q <= head[0] ? Bits : Run;
        end
        Run:  if (put) state_q <= page_ends_q ? Rest : See;
        Bits:
        if (put) begin
          if (page_ends_q) state_q <= Rest;
          else if (run_ends_q) state_q <= See;
        end
        Rest: if (window_ready_i && bytes_q <= 32'd64) state_q <= Idle;
        default: ;
      endcase
      if (short_q) begin
        state_q <= Idle;
        fault_q <= FaultLevels;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      left_q  <= count_i;
      bytes_q <= bytes_i;
      ones_q  <= '0;
    end else begin
      if (move_o) bytes_q <= bytes_q - 32'(take_o);
      if (counted_q) ones_q <= ones_q + counted_run_q + 32'(ones);
    end
    counted_q      <= put;
    counted_run_q  <= state_q == Run && run_value_q ? run_count_q : '0;
    counted_bits_q <= state_q == Run ? '0 : bits;
    short_q        <= put && state_q == Bits && bytes_q[31:3] == '0 && 7'({bytes_q[2:0], 3'b000}) < count_q;
    if (state_q == See) begin
      seen_q       <= window_i[47:0];
      head_bytes_q <= bytes_of(window_i[39:0]);
    end
    if (state_q == Head) begin
      run_count_q <= {1'b0, head[31:1]} < left_q ? {1'b0, head[31:1]} : left_q;
      run_value_q <= run_value[0];
    end
    if (state_q == Head || put) begin
      packed_q    <= packed_after;
      left_q      <= state_q == Run ? left_q - run_count_q : left_after;
      count_q     <= packed_after >= 32'd64 && left_after >= 32'd64 ? 7'd64
                     : packed_after < left_after ? 7'(packed_after) : 7'(left_after);
      take_q      <= bytes_after < 32'd8 && bytes_after < packed_after >> 3 ? 7'(bytes_after)
                     : packed_after < 32'd64 ? 7'(packed_after >> 3) : 7'd8;
      run_ends_q  <= packed_after <= 32'd64;
      page_ends_q <= head[0] || state_q != Head ? left_after <= 32'd64 && left_after <= packed_after
                                                : left_q <= {1'b0, head[31:1]};
    end
  end

  // A fault drops what is offered; bits past the end of the levels may change until then.
  `AS_STREAM_STABLE(token, token_valid_o, token_ready_i, token_o[96:64], clr_i || short_q)

endmodule

`default_nettype wire
