// SPDX-License-Identifier: Apache-2.0
// A streaming Snappy decompressor, in the decompressor's slot of the Parquet paper (Fig. 2).
//
// A page of `left_i` bytes is taken from the window: first `stored_i` bytes that go on as they are (the levels of a V2 page, or all of a page
// that is not compressed), then, if there are more, one Snappy block that must make exactly the rest of `bytes_i`. Beats that begin with the page
// come out. Copies that reach back further than HistoryBytes, or before the page, are faults, as is everything malformed.
//
// A literal of up to 60 bytes takes 2 cycles, longer ones 2 more and 64 bytes a cycle, a copy 3 cycles for up to 64 bytes. A copy that overlaps
// itself doubles its reach with every step.
//
// Layer: parquet.
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

    output logic         valid_o,
    input  logic         ready_i,
    output logic [511:0] data_o
);
  import as_parquet_pkg::*;

  typedef enum logic [3:0] {
    Idle,
    Stored,
    SeeLength,
    Length,
    See,
    Tag,
    Literal,
    Read,
    Write,
    End
  } state_e;

  state_e      state_q;
  logic [ 7:0] fault_q;
  logic [31:0] left_q;
  logic [31:0] stored_q;
  // Bytes that are still to be made, and how many this block has made.
  logic [31:0] owed_q;
  logic [31:0] made_q;
  logic [39:0] seen_q;
  logic [31:0] length_q;
  logic [31:0] offset_q;

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

  // Bytes that come out in this cycle, and go into the history unless they were stored.
  logic         put;
  logic         put_ready;
  logic         wants;
  logic [511:0] piece;
  logic [  6:0] count;
  logic [  6:0] copy_count;
  logic [511:0] copied;

  always_comb begin
    copy_count = length_q >= 32'd64 ? 7'd64 : 7'(length_q);
    if (offset_q < 32'(copy_count)) copy_count = 7'(offset_q);
  end

  always_comb begin
    wants = 1'b0;
    piece = window_i;
    count = '0;
    unique case (state_q)
      Stored: begin
        wants = window_ready_i;
        count = stored_q >= 32'd64 ? 7'd64 : 7'(stored_q);
      end
      Tag: begin
        wants = is_literal && is_short && !tag_bad;
        piece = 512'(window_i[511:8]);
        count = 7'(length);
      end
      Literal: begin
        wants = window_ready_i;
        count = length_q >= 32'd64 ? 7'd64 : 7'(length_q);
      end
      Write: begin
        wants = 1'b1;
        piece = copied;
        count = copy_count;
      end
      End:     wants = 1'b1;
      default: ;
    endcase
  end

  assign put = wants && put_ready;

  always_comb begin
    take_o = '0;
    unique case (state_q)
      Stored, Literal: if (put) take_o = count;
      Length:          if (!varint_bad) take_o = 7'(varint_bytes);
      Tag:             if (!tag_bad && (put || !(is_literal && is_short))) take_o = 7'(head_bytes) + (put ? count : '0);
      default:         ;
    endcase
  end

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
      .valid_i(wants),
      .ready_o(put_ready),
      .data_i (piece),
      .count_i(count),
      .last_i (state_q == End),
      .valid_o(packed_valid),
      .ready_i(packed_count == '0 || ready_i),
      .data_o,
      .count_o(packed_count),
      .last_o (packed_last)
  );
  // A page of whole beats ends without one more.
  assign valid_o = packed_valid && packed_count != '0;

  // The history: lines of 64 bytes at even and at odd places.
  logic [AddressBits-1:0] at;
  logic [AddressBits-1:0] from;
  logic [         1023:0] placed;
  logic [          127:0] enable;
  logic [           63:0] low_enable, high_enable, even_enable, odd_enable;
  logic [          511:0] even, odd, even_data, odd_data;
  logic                   swap_q;
  logic [            5:0] shift_q;
  logic                   keep;

  assign keep   = put && (state_q inside {Tag, Literal, Write});
  assign at     = made_q[AddressBits-1:0];
  assign from   = at - offset_q[AddressBits-1:0];
  assign placed = 1024'(piece) << {at[5:0], 3'b000};
  always_comb begin
    for (int unsigned b = 0; b < 128; b++) enable[b] = keep && b >= 32'(at[5:0]) && b < 32'(at[5:0]) + 32'(count);
  end
  assign {high_enable, low_enable} = enable;
  assign even_enable = at[6] ? high_enable : low_enable;
  assign odd_enable  = at[6] ? low_enable : high_enable;
  assign even_data   = at[6] ? placed[1023:512] : placed[511:0];
  assign odd_data    = at[6] ? placed[511:0] : placed[1023:512];

  as_ram_bytes #(
      .Bytes(64),
      .Depth(HistoryBytes / 128)
  ) i_even (
      .clk_i,
      .write_i        (even_enable),
      .write_address_i(at[AddressBits-1:7] + (AddressBits - 7)'(at[6])),
      .write_data_i   (even_data),
      .read_i         (state_q == Read),
      .read_address_i (from[AddressBits-1:7] + (AddressBits - 7)'(from[6])),
      .read_data_o    (even)
  );
  as_ram_bytes #(
      .Bytes(64),
      .Depth(HistoryBytes / 128)
  ) i_odd (
      .clk_i,
      .write_i        (odd_enable),
      .write_address_i(at[AddressBits-1:7]),
      .write_data_i   (odd_data),
      .read_i         (state_q == Read),
      .read_address_i (from[AddressBits-1:7]),
      .read_data_o    (odd)
  );

  assign copied  = 512'((swap_q ? {even, odd} : {odd, even}) >> {shift_q, 3'b000});
  assign idle_o  = state_q == Idle;
  assign fault_o = fault_q;

  task automatic fail;
    fault_q <= FaultSnappy;
    state_q <= Idle;
  endtask

  // Where it goes on behind an element.
  function automatic state_e behind(input logic [31:0] owed);
    return owed == '0 ? End : See;
  endfunction

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
          state_q <= stored_i != '0 ? Stored : left_i == '0 ? End : SeeLength;
          // A page of nothing may have nothing to decompress.
          if (left_i == '0 && bytes_i != '0) fail();
        end
        Stored: if (put && stored_q == 32'(count)) begin
          state_q <= left_q == stored_q ? End : SeeLength;
          if (left_q == stored_q && owed_q != stored_q) fail();
        end
        SeeLength: if (window_ready_i) state_q <= Length;
        Length: begin
          state_q <= behind(owed_q);
          if (varint_bad) fail();
        end
        See: if (window_ready_i) begin
          state_q <= Tag;
          if (left_q == '0) fail();
        end
        Tag: begin
          if (tag_bad) fail();
          else if (!is_literal) state_q <= Read;
          else if (!is_short) state_q <= Literal;
          else if (put) state_q <= behind(owed_q - 32'(count));
        end
        Literal: if (put && length_q == 32'(count)) state_q <= behind(owed_q - 32'(count));
        Read: state_q <= Write;
        Write: if (put) begin
          if (length_q != 32'(count)) state_q <= Read;
          else state_q <= owed_q == 32'(count) ? End : window_ready_i && left_q != '0 ? Tag : See;
        end
        End: begin
          if (left_q != '0) fail();
          else if (put) state_q <= Idle;
        end
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      left_q   <= left_i;
      stored_q <= stored_i;
      owed_q   <= bytes_i;
      made_q   <= '0;
    end else begin
      left_q <= left_q - 32'(take_o);
      if (put) owed_q <= owed_q - 32'(count);
      if (put && state_q == Stored) stored_q <= stored_q - 32'(count);
      if (keep) made_q <= made_q + 32'(count);
    end
    // The window shows what follows as soon as an element's own bytes were taken.
    if (state_q inside {SeeLength, See, Write}) seen_q <= window_i[39:0];
    if (state_q == Tag) begin
      length_q <= 32'(length);
      offset_q <= offset;
    end
    if (put && state_q inside {Literal, Write}) length_q <= length_q - 32'(count);
    // What was copied is there to be copied again.
    if (put && state_q == Write && offset_q == 32'(count)) offset_q <= offset_q << 1;
    if (state_q == Read) begin
      swap_q  <= from[6];
      shift_q <= from[5:0];
    end
  end

  logic unused;
  assign unused = packed_last;

endmodule
