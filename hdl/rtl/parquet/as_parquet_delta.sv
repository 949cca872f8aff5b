// SPDX-License-Identifier: Apache-2.0
// DELTA_BINARY_PACKED: the delta decoder of the Parquet paper (Sect. III-C), with a parallel prefix
// sum.
//
// After `start_i` it takes bytes of the window: the header, then blocks of a minimum delta, widths
// and miniblocks. Lanes values come out per cycle, the first one of a page alone. Blocks are
// multiples of 128 values and have up to 8 miniblocks of multiples of 32. Values wrap at Width
// bits, as in software.
//
// A block's header is looked at early, together with the group before the last one of the previous
// block, decoded with the last group, and taken with the first group of its own block. It costs no
// cycle if it can be seen that early (groups of up to 55 bytes, if memory keeps up), else two; a
// first group of more than 46 bytes costs one. The header of a page takes 12 cycles. A value comes
// out 2 clog2(Lanes) + 5 cycles after its bytes were seen.
//
// `take_o`, the number of bytes taken, is known early in a cycle; `move_o`, whether they are taken,
// is late: as_stream_window requires this.
//
// Layer: parquet.

`default_nettype none

module as_parquet_delta #(
    parameter  int unsigned Width     = 64,
    localparam int unsigned Lanes     = 512 / Width,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [31:0] count_i,
    // All bytes were taken; values may still be in flight until `empty_o`.
    output logic        idle_o,
    output logic        empty_o,
    output logic [ 7:0] fault_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    output logic [  6:0] take_o,
    output logic         move_o,
    // A block's header, `ahead_o` bytes after the front of the window.
    output logic [  7:0] ahead_o,
    input  logic         ahead_ready_i,
    input  logic [143:0] ahead_i,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o
);
  import as_parquet_pkg::*;

  localparam int unsigned ShiftBits = as_stream_pkg::count_bits(Width);
  // Bytes per group: the width in bits times this.
  localparam int unsigned GroupShift = $clog2(Lanes / 8);
  localparam int unsigned UserBits = Width + CountBits + 1;
  // A varint of 10 bytes and 8 widths.
  localparam int unsigned HeaderBytes = 18;

  typedef enum logic [2:0] {
    Idle,
    See,     // look at a varint and the bytes after it
    Read,    // decode it
    Number,  // take it
    Block,   // take the header of a block, with its first values if they are here
    Groups
  } state_e;

  state_e           state_q;
  // Which varint: 0 block size, 1 miniblocks, 2 values, 3 first value, 4 minimum delta.
  logic [      2:0] step_q;
  logic [      7:0] fault_q;
  logic [    143:0] seen_q;
  logic [     31:0] seen_left_q;
  // The next header was seen.
  logic             peeked_q;
  logic [     31:0] wanted_q;
  // Values still to come.
  logic [     31:0] left_q;
  logic [     31:0] block_q;
  logic [      3:0] miniblocks_q;
  logic [     31:0] groups_q;

  // The varint that was seen, decoded.
  logic [     69:0] varint;
  logic [     63:0] zigzag;
  logic [      3:0] varint_bytes;
  logic [      4:0] header_bytes;
  logic [     63:0] widths;
  logic             varint_bad;

  logic [     63:0] varint_q;
  logic             bad_q;
  logic             short_q;
  logic             fits_q;
  logic [      4:0] header_bytes_q;
  // Of the current block.
  logic [Width-1:0] smallest_q;
  logic [     63:0] widths_q;
  logic [      3:0] miniblock_q;
  logic [     31:0] group_q;
  logic [      6:0] take_q;
  logic [      7:0] ahead_q;

  // Bytes of a varint, 0 if it is too long.
  function automatic logic [3:0] bytes_of(input logic [79:0] bytes);
    bytes_of = '0;
    for (int unsigned k = 10; k > 0; k--) begin
      if (!bytes[(k-1)*8+7]) bytes_of = 4'(k);
    end
  endfunction

  // Bytes of a group of numbers of this width.
  function automatic logic [6:0] group_of(input logic [7:0] bits);
    group_of = 7'(bits << GroupShift);
  endfunction

  assign varint_bytes = bytes_of(seen_q[79:0]);
  assign header_bytes = 5'(varint_bytes) + 5'(miniblocks_q);
  assign widths       = 64'(seen_q >> {varint_bytes, 3'b000});
  // The tenth byte holds one bit of 64.
  assign varint_bad   = varint_bytes == '0 || 32'(varint_bytes) > seen_left_q || varint[69:64] != '0;
  assign zigzag       = {1'b0, varint[63:1]} ^ {64{varint[0]}};

  always_comb begin
    varint = '0;
    for (int unsigned k = 0; k < 10; k++) begin
      if (4'(k) < varint_bytes) varint[k*7+:7] = seen_q[k*8+:7];
    end
  end

  logic                   added_valid_q;
  logic                   bad_miniblock;
  logic                   move;
  logic                   act;
  logic                   put;
  logic                   put_first;
  logic                   in_block;
  logic                   decode;
  logic [            7:0] width;
  logic [  CountBits-1:0] group_count;
  logic                   last_group;
  logic                   short_group;
  logic                   rest_ends;
  logic                   block_ends;
  logic                   sum_ready;
  logic                   unpacked_valid;
  logic [Lanes*Width-1:0] unpacked;
  logic [   UserBits-1:0] unpacked_user;
  logic                   unpack_empty;

  assign in_block    = state_q == Block;
  assign width       = widths_q[7:0];
  assign group_count = left_q >= 32'(Lanes) ? CountBits'(Lanes) : CountBits'(left_q);
  assign last_group  = group_q == '0;
  // The last group may end with its last value.
  assign short_group = left_i < 32'(take_q);
  // The miniblock of the last value may have more bytes, up to the end of the page: a block may be
  // declared far larger than its page.
  assign rest_ends   = last_group || width == '0 || left_i <= 32'(take_q);
  assign block_ends  = last_group && miniblock_q == '0;
  assign move        = sum_ready || !added_valid_q;
  // A group is taken.
  assign act         = window_ready_i && move && (state_q == Groups || (in_block && !bad_q && !short_q && fits_q));
  assign put         = act && left_q != '0;
  assign put_first   = state_q == Number && step_q == 3'd3 && move && wanted_q != '0 && !bad_q;
  assign decode      = state_q == Read || (state_q == Groups && act && block_ends);

  assign take_o  = take_q;
  assign ahead_o = ahead_q;
  assign move_o  = act || (state_q == Number && !bad_q && (step_q != 3'd3 || move)) ||
                   (in_block && window_ready_i && !bad_q && !short_q && !fits_q);

  // A register between the window and the unpacker. The first value travels as a group of its own,
  // of full width and with base zero.
  logic                 raw_valid_q;
  logic [        511:0] raw_q;
  logic [          4:0] raw_skip_q;
  logic [ShiftBits-1:0] raw_width_q;
  logic [ UserBits-1:0] raw_user_q;

  // A group after a header is no longer than the bytes the header leaves.
  logic [511:0] raw;
  assign raw[511:(64-HeaderBytes)*8] = raw_q[511:(64-HeaderBytes)*8];
  as_funnel #(
      .Unit  (8),
      .In    (64),
      .Out   (64 - HeaderBytes),
      .AtBits(5)
  ) i_skip (
      .data_i(raw_q),
      .at_i  (raw_skip_q),
      .data_o(raw[(64-HeaderBytes)*8-1:0])
  );

  as_bit_unpack #(
      .Width(Width),
      .Lanes(Lanes),
      .UserBits(UserBits)
  ) i_unpack (
      .clk_i,
      .rst_ni,
      .clr_i,
      .move_i (move),
      .valid_i(raw_valid_q),
      .data_i (raw),
      .width_i(raw_width_q),
      .user_i (raw_user_q),
      .valid_o(unpacked_valid),
      .data_o (unpacked),
      .user_o (unpacked_user),
      .empty_o(unpack_empty)
  );

  // The minimum delta is added, then all are summed.
  logic [Lanes*Width-1:0] added_q;
  logic [  CountBits-1:0] added_count_q;
  logic                   added_clear_q;
  logic                   sum_empty;
  logic                   unused_last;

  as_prefix_sum #(
      .Width(Width),
      .Lanes(Lanes)
  ) i_sum (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(added_valid_q),
      .ready_o(sum_ready),
      .data_i (added_q),
      .count_i(added_count_q),
      .clear_i(added_clear_q),
      .last_i (1'b0),
      .valid_o,
      .ready_i,
      .data_o,
      .count_o,
      .last_o (unused_last),
      .empty_o(sum_empty)
  );

  // Whether a group that ends with the page has all its bytes is checked a cycle later: values
  // without bytes are discarded with the fault.
  logic        late_q;
  logic [ 9:0] late_bits_q;
  logic [11:0] late_need_q;

  assign idle_o  = state_q == Idle && !late_q;
  assign empty_o = !raw_valid_q && unpack_empty && !added_valid_q && sum_empty;
  assign fault_o = fault_q;

  logic unused;
  assign unused = ^{unused_last, zigzag};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q       <= Idle;
      fault_q       <= FaultNone;
      added_valid_q <= 1'b0;
      raw_valid_q   <= 1'b0;
      late_q        <= 1'b0;
    end else if (clr_i) begin
      state_q       <= Idle;
      fault_q       <= FaultNone;
      added_valid_q <= 1'b0;
      raw_valid_q   <= 1'b0;
      late_q        <= 1'b0;
    end else begin
      late_q <= act && short_group;
      if (move) begin
        raw_valid_q   <= put || put_first;
        added_valid_q <= unpacked_valid;
      end
      unique case (state_q)
        Idle: if (start_i) state_q <= See;
        See:  if (window_ready_i) state_q <= Read;
        Read: state_q <= step_q == 3'd4 ? Block : Number;
        Number:
        if (bad_q) begin
          fail(seen_left_q == '0 ? FaultValues : FaultDelta);
        end else begin
          state_q <= See;
          unique case (step_q)
            // Multiples of 128, and small enough that nothing overflows.
            3'd0: if (varint_q[6:0] != '0 || varint_q[63:31] != '0 || varint_q[30:0] == '0) fail(FaultDelta);
            3'd1: if (varint_q[63:4] != '0 || varint_q[3:0] == '0 || varint_q[3:0] > 4'd8 || bad_miniblock) fail(FaultDelta);
            3'd2: if (varint_q[63:32] != '0 || varint_q[31:0] != wanted_q) fail(FaultCount);
            default: begin
              if (!move) state_q <= Number;
              else if (left_q == '0) state_q <= Idle;
            end
          endcase
        end
        Block, Groups: begin
          if (in_block && bad_q) fail(seen_left_q == '0 ? FaultValues : FaultDelta);
          else if (in_block && short_q) fail(FaultValues);
          else if (width > 8'(Width)) fail(FaultDelta);
          else if (act) begin
            if (left_q <= 32'(Lanes) && rest_ends) state_q <= Idle;
            else if (block_ends) state_q <= peeked_q ? Block : See;
            else state_q <= Groups;
          end else if (in_block && window_ready_i && !fits_q) begin
            state_q <= Groups;
          end
        end
        default: ;
      endcase
      if (late_q && 12'(late_bits_q) < late_need_q) fail(FaultValues);
    end
  end

  // 1, 2, 4 or 8 miniblocks of a multiple of 32 values.
  always_comb begin
    unique case (varint_q[3:0])
      4'd1, 4'd2, 4'd4: bad_miniblock = 1'b0;
      4'd8:             bad_miniblock = block_q[7:0] != '0;
      default:          bad_miniblock = 1'b1;
    endcase
  end

  task automatic fail(input fault_e why);
    fault_q <= why;
    state_q <= Idle;
  endtask

  always_ff @(posedge clk_i) begin
    if (move) begin
      raw_q       <= put_first ? 512'(smallest_q) : window_i;
      raw_skip_q  <= in_block ? header_bytes_q : '0;
      raw_width_q <= put_first ? ShiftBits'(Width) : ShiftBits'(width);
      raw_user_q  <= put_first ? {1'b1, CountBits'(1), Width'(0)} : {1'b0, group_count, smallest_q};
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        added_q[lane*Width+:Width] <= unpacked[lane*Width+:Width] + unpacked_user[Width-1:0];
      end
      added_count_q <= unpacked_user[Width+:CountBits];
      added_clear_q <= unpacked_user[UserBits-1];
    end
    late_bits_q <= {7'(left_i) - (in_block ? 7'(header_bytes_q) : 7'd0), 3'b000};
    late_need_q <= 12'(width) * 12'(group_count);
    unique case (state_q)
      Idle: begin
        step_q   <= '0;
        wanted_q <= count_i;
        left_q   <= count_i == '0 ? '0 : count_i - 32'd1;
        ahead_q  <= '0;
      end
      See: begin
        seen_q      <= ahead_i;
        seen_left_q <= left_i;
      end
      Number:
      if (step_q != 3'd3 || move) begin
        step_q <= step_q + 3'd1;
        unique case (step_q)
          3'd0: block_q <= varint_q[31:0];
          3'd1: begin
            miniblocks_q <= varint_q[3:0];
            // Groups of a miniblock, less one.
            groups_q     <= (block_q >> ($clog2(Lanes) + (varint_q[3] ? 3 : varint_q[2] ? 2 : varint_q[1] ? 1 : 0))) - 32'd1;
          end
          default: ;
        endcase
      end
      Block:
      if (window_ready_i && (act || !fits_q)) begin
        take_q  <= group_of(width);
        ahead_q <= {group_of(width), 1'b0};
      end
      Groups:
      if (act) begin
        // A miniblock has two groups or more: the one before the last of a block is in the same one
        // as the last.
        if (miniblock_q == '0 && group_q == 32'd1) begin
          peeked_q    <= ahead_ready_i;
          seen_q      <= ahead_i;
          seen_left_q <= left_i < 32'(ahead_q) ? '0 : left_i - 32'(ahead_q);
        end
        if (last_group) begin
          take_q  <= group_of(widths_q[15:8]);
          ahead_q <= {group_of(widths_q[15:8]), 1'b0};
        end
      end
      default: ;
    endcase
    if (act) begin
      left_q  <= left_q >= 32'(Lanes) ? left_q - 32'(Lanes) : '0;
      group_q <= group_q - 32'd1;
      if (last_group) begin
        widths_q    <= widths_q >> 8;
        miniblock_q <= miniblock_q - 4'd1;
        group_q     <= groups_q;
      end
    end
    if (decode) begin
      varint_q       <= varint[63:0];
      bad_q          <= varint_bad;
      short_q        <= seen_left_q < 32'(header_bytes);
      fits_q         <= group_of(widths[7:0]) <= 7'(64 - HeaderBytes);
      header_bytes_q <= header_bytes;
      smallest_q     <= Width'(zigzag);
      widths_q       <= widths;
      miniblock_q    <= miniblocks_q - 4'd1;
      group_q        <= groups_q;
      ahead_q        <= '0;
      take_q         <= 7'(varint_bytes);
      if (step_q == 3'd4) begin
        take_q <= 7'(header_bytes) + (group_of(widths[7:0]) <= 7'(64 - HeaderBytes) ? group_of(widths[7:0]) : '0);
      end
    end
  end

endmodule

`default_nettype wire
