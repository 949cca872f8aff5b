// SPDX-License-Identifier: Apache-2.0
// A dictionary of numbers: entries in words as they come in a PLAIN page, with a copy for each of
// the Look indices of a step.
//
// Latency: 2 cycles. Throughput: 64 bytes of entries per cycle in, Look numbers per cycle out.
//
// Layer: parquet.

`include "as_assertions.svh"

`default_nettype none

module as_parquet_entries #(
    parameter  int unsigned Width     = 64,
    parameter  int unsigned Entries   = 4096,
    parameter  int unsigned Look      = 8,
    localparam int unsigned IndexBits = $clog2(Entries),
    localparam int unsigned Lanes     = 512 / Width,
    localparam int unsigned CountBits = as_stream_pkg::count_bits(Lanes)
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

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o
);

  // Entries taken, in full words.
  logic [31:0] loaded_q;
  logic        load_put;
  // The dictionary as words of Lanes entries, in page order; one copy for each index of a step.
  localparam int unsigned LaneBits = $clog2(Lanes);
  localparam int unsigned WordBits = IndexBits - LaneBits;

  logic [        31:0] load_left;
  logic [         6:0] load_bytes;
  logic                load_short_q;
  logic                read_valid_q;
  logic [         3:0] read_count_q;
  logic [Look*LaneBits-1:0] lane_q;
  logic                out_valid_q;
  logic [         3:0] out_count_q;
  logic [Lanes*Width-1:0] out_q;
  logic                read_move;
  logic                out_move;
  logic [Look*512-1:0] words;

  assign load_left  = entries_i - loaded_q;
  assign load_bytes = load_left >= 32'(Lanes) ? 7'd64 : 7'(load_left << $clog2(Width / 8));
  // The entries are the end of the page; whether all were there is known a cycle later.
  assign load_put = load_i && window_ready_i && !done_o;
  assign bad_o    = load_short_q;
  assign take_o   = 7'd64;
  assign move_o   = load_put;
  assign done_o   = loaded_q >= entries_i;

  assign out_move     = !out_valid_q || ready_i;
  assign read_move    = !read_valid_q || out_move;
  assign look_ready_o = read_move;
  assign empty_o      = !read_valid_q && !out_valid_q;
  assign valid_o      = out_valid_q;
  assign data_o       = out_q;
  assign count_o      = CountBits'(out_count_q);

  for (genvar lane = 0; lane < Look; lane++) begin : gen_copy
    as_ram #(
        .Width(512),
        .Depth(Entries / Lanes)
    ) i_words (
        .clk_i,
        .write_i        (load_put),
        .write_address_i(loaded_q[LaneBits+:WordBits]),
        .write_data_i   (window_i),
        .read_i         (read_move),
        .read_address_i (look_i[lane*IndexBits+LaneBits+:WordBits]),
        .read_data_o    (words[lane*512+:512])
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q <= 1'b0;
      out_valid_q  <= 1'b0;
    end else if (clr_i) begin
      read_valid_q <= 1'b0;
      out_valid_q  <= 1'b0;
    end else begin
      if (read_move) read_valid_q <= look_valid_i;
      if (out_move) out_valid_q <= read_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) loaded_q <= '0;
    else if (load_put) loaded_q <= loaded_q + 32'(Lanes);
    load_short_q <= load_put && left_i < 32'(load_bytes);
    if (read_move) begin
      read_count_q <= look_count_i;
      for (int unsigned lane = 0; lane < Look; lane++) lane_q[lane*LaneBits+:LaneBits] <= look_i[lane*IndexBits+:LaneBits];
    end
    if (out_move) begin
      out_count_q <= read_count_q;
      out_q       <= '0;
      for (int unsigned lane = 0; lane < Look; lane++) begin
        out_q[lane*Width+:Width] <= words[lane*512+32'(lane_q[lane*LaneBits+:LaneBits])*Width+:Width];
      end
    end
  end

  `AS_POWER_OF_TWO(entries, Entries)
  `AS_STREAM_STABLE(output, valid_o, ready_i, {count_o, data_o}, clr_i)

endmodule

`default_nettype wire
