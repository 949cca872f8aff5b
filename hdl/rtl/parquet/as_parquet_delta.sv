// SPDX-License-Identifier: Apache-2.0
// DELTA_BINARY_PACKED: the delta decoder of the Parquet paper (Sect. III-C), with a parallel prefix sum.
//
// After `start_i` it takes bytes of the window: the header, then blocks of a smallest difference, widths and miniblocks. Lanes values come
// out a cycle, the first one of a page alone. Blocks are multiples of 128 values and have up to 8 miniblocks of multiples of 32. Values wrap
// at Width bits, as in software.
//
// The header of a block is looked at while the last values of the block before are taken, and taken with the first of its own: it costs no
// cycle where both fit into the window, widths up to 46 bits, else one or two. The header of a page takes 8 cycles. A value comes out
// 2 clog2(Lanes) + 4 cycles after its bytes were seen.
//
// Layer: parquet.
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
    // All bytes were taken; values may still be on their way until `empty_o`.
    output logic        idle_o,
    output logic        empty_o,
    output logic [ 7:0] fault_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    output logic [  6:0] take_o,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o
);
  import as_parquet_pkg::*;

  localparam int unsigned ShiftBits = as_stream_pkg::count_bits(Width);
  // A group's bytes are this often its width in bits.
  localparam int unsigned GroupShift = $clog2(Lanes / 8);
  localparam int unsigned UserBits = Width + CountBits + 1;

  typedef enum logic [2:0] {
    Idle,
    See,     // look at a varint
    Number,  // and take it
    Block,   // take the header of a block, with its first values if they are here
    Groups
  } state_e;

  state_e           state_q;
  // Which varint: 0 block size, 1 miniblocks, 2 values, 3 first value, 4 smallest difference.
  logic [      2:0] step_q;
  logic [      7:0] fault_q;
  // A varint of 10 bytes and 8 widths, at most.
  logic [    143:0] seen_q;
  logic [     31:0] seen_left_q;
  logic [      3:0] varint_bytes_q;
  logic [     31:0] wanted_q;
  // Differences that are still to come.
  logic [     31:0] left_q;
  logic [     31:0] block_q;
  logic [      3:0] miniblocks_q;
  logic [     31:0] groups_q;
  logic [Width-1:0] smallest_q;
  logic [     63:0] widths_q;
  logic [      3:0] miniblock_q;
  logic [     31:0] group_q;

  // The varint that was seen.
  logic [     69:0] varint;
  logic             varint_bad;
  logic [     63:0] zigzag;

  always_comb begin
    varint = '0;
    for (int unsigned k = 0; k < 10; k++) begin
      if (4'(k) < varint_bytes_q) varint[k*7+:7] = seen_q[k*8+:7];
    end
    // The tenth byte holds one bit of 64.
    varint_bad = varint_bytes_q == '0 || 32'(varint_bytes_q) > seen_left_q || varint[69:64] != '0;
    zigzag     = {1'b0, varint[63:1]} ^ {64{varint[0]}};
  end

  // Bytes of a varint, 0 if it is too long.
  function automatic logic [3:0] bytes_of(input logic [79:0] bytes);
    bytes_of = '0;
    for (int unsigned k = 10; k > 0; k--) begin
      if (!bytes[(k-1)*8+7]) bytes_of = 4'(k);
    end
  endfunction

  logic                 added_valid_q;
  logic                 bad_miniblock;
  logic                 move;
  logic                 put;
  logic                 put_first;
  // Of the block whose header is being taken, or of the one in work.
  logic                 in_block;
  logic [          4:0] header_bytes;
  logic [         63:0] widths;
  logic [          7:0] width;
  logic [         31:0] group;
  logic [          3:0] miniblock;
  logic [    Width-1:0] smallest;
  logic [         31:0] group_left;
  logic                 header_short;
  logic                 header_fits;
  logic                 act;
  logic [          6:0] group_bytes;
  logic [          6:0] group_take;
  logic [CountBits-1:0] group_count;
  logic                 short_group;
  logic                 rest_ends;
  logic                 block_ends;
  logic                 peek;
  logic              sum_ready;
  logic              unpacked_valid;
  logic [Lanes*Width-1:0] unpacked;
  logic [UserBits-1:0] unpacked_user;
  logic              unpack_empty;

  assign in_block     = state_q == Block;
  assign header_bytes = 5'(varint_bytes_q) + 5'(miniblocks_q);
  assign widths       = in_block ? 64'(seen_q >> {varint_bytes_q, 3'b000}) : widths_q;
  assign width        = widths[7:0];
  assign group        = in_block ? groups_q : group_q;
  assign miniblock    = in_block ? miniblocks_q - 4'd1 : miniblock_q;
  assign smallest     = in_block ? Width'(zigzag) : smallest_q;
  assign group_left   = in_block ? left_i - 32'(header_bytes) : left_i;
  assign header_short = seen_left_q < 32'(header_bytes);
  assign group_bytes  = 7'(width << GroupShift);
  assign group_count  = left_q >= 32'(Lanes) ? CountBits'(Lanes) : CountBits'(left_q);
  // The last group may end with its last value.
  assign short_group  = group_left < 32'(group_bytes);
  assign group_take   = short_group ? 7'(group_left) : group_bytes;
  assign header_fits  = 8'(header_bytes) + 8'(group_bytes) <= 8'd64;
  // Behind the last value its miniblock goes on, as long as it has bytes: a block may be declared far larger than its page.
  assign rest_ends    = group == '0 || width == '0 || group_left <= 32'(group_bytes);
  assign block_ends   = group == '0 && miniblock == '0;
  assign move         = sum_ready || !added_valid_q;
  // A group is taken.
  assign act          = window_ready_i && move && (state_q == Groups || (in_block && !varint_bad && !header_short && header_fits));
  assign put          = act && fault_q == FaultNone && left_q != '0;
  assign put_first    = state_q == Number && step_q == 3'd3 && move && wanted_q != '0 && !varint_bad;
  // The next header is in the window behind the last group of a block.
  assign peek         = !in_block && group_bytes <= 7'd46;

  always_comb begin
    take_o = '0;
    unique case (state_q)
      Number:  if (!varint_bad && (step_q != 3'd3 || move)) take_o = 7'(varint_bytes_q);
      Block: begin
        if (act) take_o = 7'(header_bytes) + group_take;
        else if (window_ready_i && !varint_bad && !header_short && !header_fits) take_o = 7'(header_bytes);
      end
      Groups:  if (act) take_o = group_take;
      default: ;
    endcase
  end

  // The first value travels as a group of its own, of full width and on a base of zero.
  as_bit_unpack #(
      .Width(Width),
      .Lanes(Lanes),
      .UserBits(UserBits)
  ) i_unpack (
      .clk_i,
      .rst_ni,
      .clr_i,
      .move_i (move),
      .valid_i(put || put_first),
      .data_i (put_first ? (Lanes * Width)'(Width'(zigzag)) : in_block ? 512'(window_i >> {header_bytes, 3'b000}) : window_i),
      .width_i(put_first ? ShiftBits'(Width) : ShiftBits'(width)),
      .user_i (put_first ? {1'b1, CountBits'(1), Width'(0)} : {1'b0, group_count, smallest}),
      .valid_o(unpacked_valid),
      .data_o (unpacked),
      .user_o (unpacked_user),
      .empty_o(unpack_empty)
  );

  // The smallest difference is added, then all are summed.
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

  assign idle_o  = state_q == Idle;
  assign empty_o = unpack_empty && !added_valid_q && sum_empty;
  assign fault_o = fault_q;

  logic unused;
  assign unused = ^{unused_last, zigzag};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q       <= Idle;
      fault_q       <= FaultNone;
      added_valid_q <= 1'b0;
    end else if (clr_i) begin
      state_q       <= Idle;
      fault_q       <= FaultNone;
      added_valid_q <= 1'b0;
    end else begin
      if (move) added_valid_q <= unpacked_valid;
      unique case (state_q)
        Idle: if (start_i) state_q <= See;
        See: if (window_ready_i) state_q <= step_q == 3'd4 ? Block : Number;
        Number:
        if (varint_bad) begin
          fail(left_i == '0 ? FaultValues : FaultDelta);
        end else begin
          state_q <= See;
          unique case (step_q)
            // Multiples of 128, and not so large that anything overflows.
            3'd0: if (varint[6:0] != '0 || varint[63:31] != '0 || varint[30:0] == '0) fail(FaultDelta);
            3'd1: if (varint[63:4] != '0 || varint[3:0] == '0 || varint[3:0] > 4'd8 || bad_miniblock) fail(FaultDelta);
            3'd2: if (varint[63:32] != '0 || varint[31:0] != wanted_q) fail(FaultCount);
            default: begin
              if (!move) state_q <= Number;
              else if (left_q == '0) state_q <= Idle;
            end
          endcase
        end
        Block, Groups: begin
          if (in_block && varint_bad) fail(seen_left_q == '0 ? FaultValues : FaultDelta);
          else if (in_block && header_short) fail(FaultValues);
          else if (width > 8'(Width)) fail(FaultDelta);
          else if (act) begin
            if (short_group && 64'(group_left) * 8 < 64'(width) * 64'(group_count)) fail(FaultValues);
            else if (left_q <= 32'(Lanes) && rest_ends) state_q <= Idle;
            else if (block_ends) state_q <= peek ? Block : See;
            else state_q <= Groups;
          end else if (in_block && window_ready_i && !header_fits) begin
            state_q <= Groups;
          end
        end
        default: ;
      endcase
    end
  end

  logic [143:0] behind;
  assign behind = 144'(window_i >> {group_bytes, 3'b000});

  // 1, 2, 4 or 8 miniblocks of a multiple of 32 values.
  always_comb begin
    unique case (varint[3:0])
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
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        added_q[lane*Width+:Width] <= unpacked[lane*Width+:Width] + unpacked_user[Width-1:0];
      end
      added_count_q <= unpacked_user[Width+:CountBits];
      added_clear_q <= unpacked_user[UserBits-1];
    end
    unique case (state_q)
      Idle: begin
        step_q   <= '0;
        wanted_q <= count_i;
        left_q   <= count_i == '0 ? '0 : count_i - 32'd1;
      end
      See: begin
        seen_q         <= window_i[143:0];
        varint_bytes_q <= bytes_of(window_i[79:0]);
        seen_left_q    <= left_i;
      end
      Number:
      if (step_q != 3'd3 || move) begin
        step_q <= step_q + 3'd1;
        unique case (step_q)
          3'd0: block_q <= varint[31:0];
          3'd1: begin
            miniblocks_q <= varint[3:0];
            // Groups of a miniblock, less one.
            groups_q     <= (block_q >> ($clog2(Lanes) + (varint[3] ? 3 : varint[2] ? 2 : varint[1] ? 1 : 0))) - 32'd1;
          end
          default: ;
        endcase
      end
      Block, Groups: begin
        if (in_block) begin
          smallest_q  <= smallest;
          widths_q    <= widths;
          miniblock_q <= miniblock;
          group_q     <= groups_q;
        end
        if (act) begin
          left_q  <= left_q >= 32'(Lanes) ? left_q - 32'(Lanes) : '0;
          group_q <= group - 32'd1;
          if (group == '0) begin
            widths_q    <= widths >> 8;
            miniblock_q <= miniblock - 4'd1;
            group_q     <= groups_q;
          end
          // What is behind the group, if the window shows it: the header of the next block, should the block end here.
          seen_q         <= behind;
          varint_bytes_q <= bytes_of(behind[79:0]);
          seen_left_q    <= group_left - 32'(group_take);
        end
      end
      default: ;
    endcase
  end

endmodule
