// SPDX-License-Identifier: Apache-2.0
// A streaming Snappy decompressor: the decompressor of the Parquet paper (Fig. 2).
//
// A page of `left_i` bytes is taken from the window: first `stored_i` bytes that are passed on
// unchanged (the levels of a V2 page, or an uncompressed page), then, if there are more, one Snappy
// block that must yield exactly the rest of `bytes_i`. The output is beats that begin with the
// page. Copies that reach back further than HistoryBytes, or before the page, are faults, as is all
// malformed data.
//
// Three stages. First an element is taken with its bytes, while the window already shows the next
// one. Then a step of it is formed, which reads the history. Last the step's bytes are output,
// which writes the history. Throughput: one element per cycle, up to 64 bytes. A literal of more
// than 60 bytes takes 3 cycles plus one per 64 bytes. A copy from bytes that are just being output
// waits a cycle. A copy that overlaps itself doubles its reach with every step, and a following
// copy with the same offset begins with that reach.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_snappy #(
    parameter  int unsigned HistoryBytes = 65536,
    localparam int unsigned AddressBits  = $clog2(HistoryBytes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [31:0] bytes_i,
    input  logic [31:0] stored_i,
    input  logic [31:0] left_i,
    output logic        idle_o,
    output logic [ 7:0] fault_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    output logic [  6:0] take_o,
    output logic         move_o,

    output logic         valid_o,
    input  logic         ready_i,
    output logic [511:0] data_o
);
  import as_parquet_pkg::*;

  typedef enum logic [2:0] {
    Idle,
    Stored,
    SeeLength,
    Length,
    Elements,
    Close,
    Drain
  } state_e;

  state_e      state_q;
  logic [ 7:0] fault_q;
  // Bytes of the page that were not taken, or belong to elements that were.
  logic [31:0] left_q;
  logic [31:0] stored_q;
  // Bytes of the page that are not yet produced by any taken element, and the number produced by
  // this block.
  logic [31:0] owed_q;
  logic [31:0] made_q;
  // The length before the block, or the head of the next element.
  logic [39:0] seen_q;
  logic        seen_valid_q;

  // The length before the block.
  logic [ 2:0] varint_bytes;
  logic [34:0] varint;
  logic        varint_bad;

  always_comb begin
    varint_bytes = '0;
    varint       = '0;
    for (int unsigned k = 5; k > 0; k--) begin
      if (!seen_q[(k-1)*8+7]) varint_bytes = 3'(k);
    end
    for (int unsigned k = 0; k < 5; k++) begin
      if (3'(k) < varint_bytes) varint[k*7+:7] = seen_q[k*8+:7];
    end
    varint_bad = varint_bytes == '0 || 32'(varint_bytes) > left_q || varint[34:32] != '0 || varint[31:0] != owed_q;
  end

  // The element that was seen.
  logic        is_literal;
  logic        is_short;
  logic [ 2:0] head_bytes;
  logic [32:0] length;
  logic [31:0] offset;
  logic        tag_bad;

  always_comb begin
    is_literal = seen_q[1:0] == 2'd0;
    is_short   = seen_q[7:2] < 6'd60;
    offset     = '0;
    unique case (seen_q[1:0])
      2'd0: begin
        head_bytes = is_short ? 3'd1 : 3'd2 + 3'(seen_q[3:2]);
        unique case (seen_q[7:2])
          6'd60:   length = 33'(seen_q[15:8]) + 33'd1;
          6'd61:   length = 33'(seen_q[23:8]) + 33'd1;
          6'd62:   length = 33'(seen_q[31:8]) + 33'd1;
          6'd63:   length = 33'(seen_q[39:8]) + 33'd1;
          default: length = 33'(seen_q[7:2]) + 33'd1;
        endcase
      end
      2'd1: begin
        head_bytes = 3'd2;
        length     = 33'(seen_q[4:2]) + 33'd4;
        offset     = 32'({seen_q[7:5], seen_q[15:8]});
      end
      2'd2: begin
        head_bytes = 3'd3;
        length     = 33'(seen_q[7:2]) + 33'd1;
        offset     = 32'(seen_q[23:8]);
      end
      default: begin
        head_bytes = 3'd5;
        length     = 33'(seen_q[7:2]) + 33'd1;
        offset     = seen_q[39:8];
      end
    endcase
    tag_bad = 33'(left_q) < 33'(head_bytes) + (is_literal ? length : '0) || length > 33'(owed_q) ||
              (!is_literal && (offset == '0 || offset > made_q || offset > 32'(HistoryBytes)));
  end

  // The bytes it takes of the window, and the head of the next element, if visible.
  logic [ 6:0] whole;
  logic [39:0] after;
  logic        after_seen;
  logic        element;

  assign whole       = 7'(head_bytes) + (is_literal && is_short ? 7'(length) : '0);
  assign after_seen  = whole <= 7'd59 && (!is_literal || is_short);
  as_funnel #(
      .Unit  (8),
      .In    (64),
      .Out   (5),
      .AtBits(6)
  ) i_after (
      .data_i(window_i),
      .at_i  (whole[5:0]),
      .data_o(after)
  );

  // The element being executed. An invalid one makes no steps.
  logic         element_q;
  logic         bad_q;
  logic         literal_q;
  // Its bytes are still in the window.
  logic         long_q;
  logic [ 31:0] length_q;
  // As read, and with the reach so far; the reach of a copy stays until the next element.
  logic [ 16:0] offset_q;
  logic [ 16:0] reach_q;
  logic [511:0] literal_data_q;
  // Where the bytes of the next step go.
  logic [AddressBits-1:0] at_q;

  logic [6:0] count;
  logic       meets;
  logic       step;
  logic       step_last;

  // The step whose bytes are output.
  logic                   put_q;
  logic                   put_copy_q;
  logic                   put_keep_q;
  logic                   put_last_q;
  logic [            6:0] put_count_q;
  logic [AddressBits-1:0] put_at_q;
  logic [          511:0] put_data_q;
  logic                   put_ready;
  logic                   put_free;
  logic [          511:0] copied;

  assign put_free = !put_q || put_ready;

  always_comb begin
    count = length_q >= 32'd64 ? 7'd64 : 7'(length_q);
    if (!literal_q && reach_q < 17'(count)) count = 7'(reach_q);
  end
  // It would copy bytes that are output in this cycle.
  assign meets     = !literal_q && put_q && reach_q < 17'(count) + 17'(put_count_q);
  assign step      = element_q && !bad_q && put_free && !meets && (!long_q || window_ready_i);
  assign step_last = step && length_q == 32'(count);
  assign element   = state_q == Elements && seen_valid_q && window_ready_i && owed_q != '0 && (!element_q || step_last);

  logic [6:0] stored;
  logic       stored_step;
  assign stored      = stored_q >= 32'd64 ? 7'd64 : 7'(stored_q);
  assign stored_step = state_q == Stored && window_ready_i && put_free;

  always_comb begin
    unique case (state_q)
      Stored:  {move_o, take_o} = {stored_step, stored};
      Length:  {move_o, take_o} = {1'b1, 7'(varint_bytes)};
      default: {move_o, take_o} = long_q ? {step, count} : {element, whole};
    endcase
  end

  assign idle_o  = state_q == Idle;
  assign fault_o = fault_q;

  task automatic fail;
    fault_q <= FaultSnappy;
    state_q <= Idle;
  endtask

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      fault_q <= FaultNone;
    end else if (clr_i) begin
      state_q <= Idle;
      fault_q <= FaultNone;
    end else begin
      unique case (state_q)
        Idle: if (start_i) begin
          state_q <= stored_i != '0 ? Stored : left_i == '0 ? Close : SeeLength;
          // An empty page may have no Snappy block.
          if (left_i == '0 && bytes_i != '0) fail();
        end
        Stored: if (stored_step && stored_q == 32'(stored)) begin
          state_q <= left_q == stored_q ? Close : SeeLength;
          if (left_q == stored_q && owed_q != stored_q) fail();
        end
        SeeLength: if (window_ready_i) state_q <= Length;
        Length: begin
          state_q <= Elements;
          if (varint_bad) fail();
        end
        Elements: begin
          if (element_q && bad_q) fail();
          else if (owed_q == '0 && (!element_q || step_last)) state_q <= Close;
        end
        Close: begin
          if (left_q != '0) fail();
          else if (put_free) state_q <= Drain;
        end
        Drain: if (put_ready) state_q <= Idle;
        default: ;
      endcase
    end
  end

  // Elements.
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        left_q       <= left_i;
        stored_q     <= stored_i;
        owed_q       <= bytes_i;
        made_q       <= '0;
        seen_valid_q <= 1'b0;
      end
      Stored: if (stored_step) begin
        left_q   <= left_q - 32'(stored);
        stored_q <= stored_q - 32'(stored);
        owed_q   <= owed_q - 32'(stored);
      end
      SeeLength: seen_q <= window_i[39:0];
      Length: left_q <= left_q - 32'(varint_bytes);
      default: begin
        if (element) begin
          left_q       <= left_q - 32'(head_bytes) - (is_literal ? 32'(length) : '0);
          owed_q       <= owed_q - 32'(length);
          made_q       <= made_q + 32'(length);
          seen_q       <= after;
          seen_valid_q <= after_seen;
        end else if (!seen_valid_q) begin
          seen_q       <= window_i[39:0];
          seen_valid_q <= window_ready_i && !long_q;
        end
      end
    endcase
  end

  // Steps.
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      element_q <= 1'b0;
      literal_q <= 1'b1;
      long_q    <= 1'b0;
      at_q      <= '0;
    end else if (element) begin
      element_q      <= 1'b1;
      bad_q          <= tag_bad;
      literal_q      <= is_literal;
      long_q         <= is_literal && !is_short;
      length_q       <= 32'(length);
      offset_q       <= 17'(offset);
      literal_data_q <= 512'(window_i[511:8]);
      // After a copy with this offset, the bytes it could reach repeat with the same period.
      if (literal_q || offset_q != 17'(offset)) reach_q <= 17'(offset);
    end else if (step) begin
      element_q <= !step_last;
      if (step_last) long_q <= 1'b0;
      length_q <= length_q - 32'(count);
      if (!literal_q && reach_q == 17'(count)) reach_q <= reach_q << 1;
    end
    if (step) at_q <= at_q + AddressBits'(count);
  end

  // Bytes.
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      put_q <= 1'b0;
    end else if (put_free) begin
      put_q       <= step || stored_step || (state_q == Close && left_q == '0);
      put_copy_q  <= step && !literal_q;
      put_keep_q  <= step;
      put_last_q  <= state_q == Close;
      put_count_q <= state_q == Close ? '0 : step ? count : stored;
      put_at_q    <= at_q;
      put_data_q  <= long_q || state_q == Stored ? window_i : literal_data_q;
    end
  end

  as_parquet_history #(
      .HistoryBytes(HistoryBytes)
  ) i_history (
      .clk_i,
      .write_i   (put_q && put_keep_q && put_ready),
      .write_at_i(put_at_q),
      .data_i    (put_copy_q ? copied : put_data_q),
      .count_i   (put_count_q),
      .read_i    (step && !literal_q),
      .read_at_i (at_q - AddressBits'(reach_q)),
      .data_o    (copied)
  );

  logic       packed_valid;
  logic [6:0] packed_count;
  logic       packed_last;

  as_arrow_pack #(
      .ElementBits(8),
      .Lanes(64),
      .Slots(64)
  ) i_pack (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(put_q),
      .ready_o(put_ready),
      .data_i (put_copy_q ? copied : put_data_q),
      .count_i(put_count_q),
      .last_i (put_last_q),
      .valid_o(packed_valid),
      .ready_i(packed_count == '0 || ready_i),
      .data_o,
      .count_o(packed_count),
      .last_o (packed_last)
  );
  // A page of full beats ends without one more.
  assign valid_o = packed_valid && packed_count != '0;

  logic unused;
  assign unused = packed_last;

  `AS_STREAM_STABLE(output, valid_o, ready_i, data_o, clr_i)

endmodule

`default_nettype wire
