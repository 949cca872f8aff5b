// SPDX-License-Identifier: Apache-2.0
// A dictionary of strings: their bytes in two banks of lines, so that 64 of them at any position
// are read in one access, and the position and length of each.
//
// Latency: 3 cycles. Throughput: one entry per cycle in; one length and its first 64 bytes per
// cycle out, then 64 bytes per cycle.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_entry_strings #(
    parameter  int unsigned Entries    = 4096,
    parameter  int unsigned EntryBytes = 65536,
    parameter  int unsigned Look       = 8,
    localparam int unsigned IndexBits  = $clog2(Entries)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    // A dictionary begins; while `load_i` is high its entries are taken from the window.
    input  logic         begin_i,
    input  logic         load_i,
    input  logic [ 31:0] entries_i,
    output logic         done_o,
    output logic         bad_o,
    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    output logic [  6:0] take_o,
    output logic         move_o,

    // Indices, all within the dictionary.
    input  logic                      look_valid_i,
    output logic                      look_ready_o,
    input  logic [Look*IndexBits-1:0] look_i,
    input  logic [               3:0] look_count_i,
    output logic                      empty_o,

    output logic        valid_o,
    input  logic        ready_i,
    output logic [31:0] length_o,

    output logic         bytes_valid_o,
    input  logic         bytes_ready_i,
    output logic [511:0] bytes_o,
    output logic [  6:0] bytes_count_o
);

  // Entries taken.
  logic [31:0] loaded_q;
  logic        load_put;

  localparam int unsigned AddressBits = $clog2(EntryBytes);
  localparam int unsigned LineBits = AddressBits - 6;

  // Loading: lengths in page order, bytes packed to lines.
  logic [         31:0] load_left_q;
  logic                 load_first;
  logic [          6:0] load_bytes;
  logic [         32:0] size_q;
  logic                 pack_ready, pack_valid, pack_last;
  logic [        511:0] line;
  logic [          6:0] line_count;
  logic [ LineBits-1:0] line_q;
  logic                 flushed_q;
  logic                 load_ends;

  assign load_first = load_left_q == '0;
  assign load_ends  = loaded_q == entries_i;
  assign bad_o   = load_i && window_ready_i && !load_ends &&
                      (load_first ? left_i < 32'd4 || window_i[31:0] > left_i - 32'd4 || size_q + 33'(window_i[31:0]) > 33'(EntryBytes)
                                  : 1'b0);
  assign load_bytes = load_first ? (window_i[31:0] >= 32'd60 ? 7'd60 : 7'(window_i[5:0]))
                                 : (load_left_q >= 32'd64 ? 7'd64 : 7'(load_left_q));
  logic load_step;
  assign load_step = load_i && window_ready_i && !load_ends && !bad_o && pack_ready;
  assign take_o    = load_bytes + (load_first ? 7'd4 : 7'd0);
  assign move_o    = load_step;
  // An entry is loaded with its last bytes.
  assign load_put = load_step && (load_first ? window_i[31:0] : load_left_q) == 32'(load_bytes);
  assign done_o   = load_i && load_ends && flushed_q;

  as_arrow_pack #(
      .ElementBits(8),
      .Lanes(64),
      .Slots(64)
  ) i_pack (
      .clk_i,
      .rst_ni,
      .clr_i  (clr_i || begin_i),
      .valid_i(load_step || (load_i && load_ends && !flushed_q)),
      .ready_o(pack_ready),
      .data_i (load_first && !load_ends ? 512'(window_i[511:32]) : window_i),
      .count_i(load_ends ? '0 : load_bytes),
      .last_i (load_ends),
      .valid_o(pack_valid),
      .ready_i(1'b1),
      .data_o (line),
      .count_o(line_count),
      .last_o (pack_last)
  );

  // The position and length of an entry.
  logic [AddressBits:0] begin_q;
  logic [AddressBits:0] length_q;
  logic [AddressBits:0] whole;
  assign whole = load_first ? (AddressBits + 1)'(window_i[31:0]) : length_q;

  logic                   place_read;
  logic [  IndexBits-1:0] place_index;
  logic [2*AddressBits+1:0] place;

  as_ram #(
      .Width(2 * (AddressBits + 1)),
      .Depth(Entries)
  ) i_places (
      .clk_i,
      .write_i        (load_put),
      .write_address_i(loaded_q[IndexBits-1:0]),
      .write_data_i   ({load_first ? size_q[AddressBits:0] : begin_q, whole}),
      .read_i         (place_read),
      .read_address_i (place_index),
      .read_data_o    (place)
  );

  // One index at a time.
  logic [          2:0] turn_q;
  logic                 place_valid_q;
  logic                 place_move;

  assign place_index  = look_i[turn_q*IndexBits+:IndexBits];
  assign place_read   = place_move;
  assign look_ready_o = place_move && 4'(turn_q) + 4'd1 >= look_count_i;

  // An entry's bytes, 64 at a time: a length goes out with the first.
  logic [AddressBits:0] at_q;
  logic [AddressBits:0] more_q;
  logic                 going_q;
  logic [AddressBits:0] at;
  logic [AddressBits:0] more;
  logic                 step;
  logic                 line_move;
  logic [          6:0] piece;
  logic                 first_piece;

  assign first_piece = !going_q;
  assign at          = going_q ? at_q : place[2*AddressBits+1-:AddressBits+1];
  assign more        = going_q ? more_q : place[AddressBits:0];
  assign piece       = more >= (AddressBits + 1)'(64) ? 7'd64 : 7'(more);
  assign step        = line_move && (going_q || place_valid_q);
  assign place_move  = !place_valid_q || (step && more == (AddressBits + 1)'(piece));

  // Lines at even and at odd places.
  logic [LineBits-1:0] row;
  logic [LineBits-2:0] even_address, odd_address;
  logic [511:0] even, odd;
  assign row          = at[6+:LineBits];
  assign even_address = row[LineBits-1:1] + (LineBits - 1)'(row[0]);
  assign odd_address  = row[LineBits-1:1];

  as_ram #(
      .Width(512),
      .Depth(EntryBytes / 128)
  ) i_even (
      .clk_i,
      .write_i        (pack_valid && line_count != '0 && !line_q[0]),
      .write_address_i(line_q[LineBits-1:1]),
      .write_data_i   (line),
      .read_i         (step),
      .read_address_i (even_address),
      .read_data_o    (even)
  );
  as_ram #(
      .Width(512),
      .Depth(EntryBytes / 128)
  ) i_odd (
      .clk_i,
      .write_i        (pack_valid && line_count != '0 && line_q[0]),
      .write_address_i(line_q[LineBits-1:1]),
      .write_data_i   (line),
      .read_i         (step),
      .read_address_i (odd_address),
      .read_data_o    (odd)
  );

  logic                 read_valid_q;
  logic                 read_first_q;
  logic                 swap_q;
  logic [          5:0] shift_q;
  logic [          6:0] read_count_q;
  logic [         31:0] read_length_q;
  logic                 length_valid_q;
  logic                 bytes_valid_q;
  logic [         31:0] length_out_q;
  logic [        511:0] bytes_q;
  logic [          6:0] bytes_count_q;
  logic                 out_free;

  // A length and its first bytes go out together, to each consumer when it takes them.
  assign out_free      = (!length_valid_q || ready_i) && (!bytes_valid_q || bytes_ready_i);
  assign line_move     = !read_valid_q || out_free;
  assign empty_o       = !place_valid_q && !going_q && !read_valid_q && !length_valid_q && !bytes_valid_q && !pack_valid;
  assign valid_o       = length_valid_q;
  assign length_o      = length_out_q;
  assign bytes_valid_o = bytes_valid_q;
  assign bytes_o       = bytes_q;
  assign bytes_count_o = bytes_count_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q         <= '0;
      place_valid_q  <= 1'b0;
      going_q        <= 1'b0;
      read_valid_q   <= 1'b0;
      length_valid_q <= 1'b0;
      bytes_valid_q  <= 1'b0;
    end else if (clr_i) begin
      turn_q         <= '0;
      place_valid_q  <= 1'b0;
      going_q        <= 1'b0;
      read_valid_q   <= 1'b0;
      length_valid_q <= 1'b0;
      bytes_valid_q  <= 1'b0;
    end else begin
      if (place_move) begin
        place_valid_q <= look_valid_i;
        if (look_valid_i) turn_q <= look_ready_o ? '0 : turn_q + 3'd1;
      end
      if (step) going_q <= more != (AddressBits + 1)'(piece);
      if (line_move) read_valid_q <= step;
      if (ready_i) length_valid_q <= 1'b0;
      if (bytes_ready_i) bytes_valid_q <= 1'b0;
      if (read_valid_q && out_free) begin
        length_valid_q <= read_first_q;
        bytes_valid_q  <= read_count_q != '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (clr_i || begin_i) begin
      load_left_q <= '0;
      size_q      <= '0;
      line_q      <= '0;
      flushed_q   <= 1'b0;
      loaded_q    <= '0;
    end else begin
      if (load_put) loaded_q <= loaded_q + 32'd1;
      if (load_step) begin
        load_left_q <= (load_first ? window_i[31:0] : load_left_q) - 32'(load_bytes);
        if (load_first) begin
          begin_q  <= size_q[AddressBits:0];
          length_q <= (AddressBits + 1)'(window_i[31:0]);
          size_q   <= size_q + 33'(window_i[31:0]);
        end
      end
      if (load_i && load_ends && pack_ready) flushed_q <= 1'b1;
      if (pack_valid && line_count != '0) line_q <= line_q + 1'b1;
    end
    if (step) begin
      at_q   <= at + (AddressBits + 1)'(piece);
      more_q <= more - (AddressBits + 1)'(piece);
    end
    if (line_move) begin
      read_first_q  <= first_piece;
      swap_q        <= row[0];
      shift_q       <= at[5:0];
      read_count_q  <= piece;
      read_length_q <= 32'(more);
    end
    if (read_valid_q && out_free) begin
      length_out_q  <= read_length_q;
      bytes_count_q <= read_count_q;
      bytes_q       <= 512'((swap_q ? {even, odd} : {odd, even}) >> {shift_q, 3'b000});
    end
  end

  logic unused;
  assign unused = ^{pack_last, size_q[32]};

  `AS_POWER_OF_TWO(entries, Entries)
  `AS_POWER_OF_TWO(entry_bytes, EntryBytes)
  `AS_STREAM_STABLE(output, valid_o, ready_i, length_o, clr_i)
  `AS_STREAM_STABLE(bytes, bytes_valid_o, bytes_ready_i, {bytes_count_o, bytes_o}, clr_i)

endmodule

`default_nettype wire
