// SPDX-License-Identifier: Apache-2.0
// RLE_DICTIONARY: stores a dictionary page, then turns indices (RLE and bit-packed runs) into its
// entries.
//
// `load_i` takes a page of `count_i` entries in PLAIN, `look_i` a page of `count_i` indices. For
// numbers, up to 8 come out per cycle: there is a copy of the entries for each of the 8. For
// strings, one length per cycle and up to 64 of its bytes per cycle: the bytes are in two banks of
// lines, so that 64 bytes at any position are read in one access. Faults: a dictionary that does
// not fit, a second one, indices without one or beyond it.
//
// Latency: 9 cycles. Layer: parquet.

`default_nettype none

module as_parquet_dictionary #(
    parameter  int unsigned Width      = 64,
    parameter  bit          Strings    = 1'b0,
    parameter  int unsigned Entries    = 4096,
    parameter  int unsigned EntryBytes = 65536,
    localparam int unsigned Lanes      = 512 / Width,
    localparam int unsigned CountBits  = as_stream_pkg::count_bits(Lanes)
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    // A column chunk begins: there is no dictionary yet.
    input  logic        start_i,
    input  logic        load_i,
    input  logic        look_i,
    input  logic [31:0] count_i,
    output logic        idle_o,
    output logic        empty_o,
    output logic [ 7:0] fault_o,

    input  logic         window_ready_i,
    input  logic [511:0] window_i,
    input  logic [ 31:0] left_i,
    // How many bytes are taken, known early, and whether they are, known late.
    output logic [  6:0] take_o,
    output logic         move_o,

    output logic                   valid_o,
    input  logic                   ready_i,
    output logic [Lanes*Width-1:0] data_o,
    output logic [  CountBits-1:0] count_o,

    output logic         bytes_valid_o,
    input  logic         bytes_ready_i,
    output logic [511:0] bytes_o,
    output logic [  6:0] bytes_count_o
);
  import as_parquet_pkg::*;

  // Indices in one step.
  localparam int unsigned Look = 8;
  localparam int unsigned IndexBits = $clog2(Entries);
  // As wide as a writer makes indices of this many entries, in full bytes.
  localparam int unsigned Bits = IndexBits <= 16 ? 16 : 32;

  typedef enum logic [1:0] {
    Idle,
    Load,
    LoadDrain
  } state_e;

  state_e        state_q;
  logic   [ 7:0] fault_q;
  logic          known_q;
  logic   [31:0] entries_q;

  logic [6:0] load_take;
  logic       load_move;
  logic       load_done;
  logic       load_bad;
  logic       load_empty;

  logic               look;
  logic               indices_idle, indices_empty;
  logic [        7:0] indices_fault;
  logic [        6:0] indices_take;
  logic               indices_move;
  logic               indices_valid;
  logic [Look*Bits-1:0] indices;
  logic [        3:0] indices_count;
  logic               move;

  assign look = look_i && known_q;

  as_parquet_indices #(
      .Look(Look),
      .Bits(Bits)
  ) i_indices (
      .clk_i,
      .rst_ni,
      .clr_i  (clr_i || start_i),
      .start_i(look),
      .count_i,
      .idle_o (indices_idle),
      .empty_o(indices_empty),
      .fault_o(indices_fault),
      .window_ready_i,
      .window_i(window_i[Look*Bits-1:0]),
      .left_i,
      .take_o (indices_take),
      .move_o (indices_move),
      .move_i (move),
      .valid_o(indices_valid),
      .data_o (indices),
      .count_o(indices_count)
  );

  // The indices within the dictionary, and whether one is beyond it.
  logic                      look_valid_q;
  logic                      look_ready;
  logic [Look*IndexBits-1:0] look_q;
  logic [               3:0] look_count_q;
  logic                      beyond;

  always_comb begin
    beyond = 1'b0;
    for (int unsigned lane = 0; lane < Look; lane++) begin
      if (4'(lane) < indices_count && 32'(indices[lane*Bits+:Bits]) >= entries_q) beyond = 1'b1;
    end
  end

  assign move    = !look_valid_q || look_ready;
  assign take_o  = state_q == Load ? load_take : indices_take;
  assign move_o  = state_q == Load ? load_move : indices_move;
  assign idle_o  = state_q == Idle && indices_idle;
  assign empty_o = indices_empty && !look_valid_q && load_empty;
  assign fault_o = fault_q != FaultNone ? fault_q : indices_fault;

  task automatic fail(input fault_e why);
    fault_q <= why;
    state_q <= Idle;
  endtask

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= Idle;
      fault_q      <= FaultNone;
      known_q      <= 1'b0;
      look_valid_q <= 1'b0;
    end else if (clr_i || start_i) begin
      state_q      <= Idle;
      fault_q      <= FaultNone;
      known_q      <= 1'b0;
      look_valid_q <= 1'b0;
    end else begin
      if (move) begin
        look_valid_q <= indices_valid;
        if (indices_valid && beyond) fault_q <= FaultIndex;
      end
      unique case (state_q)
        Idle: begin
          if (load_i) begin
            state_q <= Load;
            known_q <= 1'b1;
            if (known_q || count_i > 32'(Entries)) fail(FaultDictionary);
          end else if (look_i && !known_q) begin
            fail(FaultDictionary);
          end
        end
        Load: begin
          if (load_bad) fail(FaultDictionary);
          else if (load_done) state_q <= LoadDrain;
        end
        LoadDrain: if (load_empty) state_q <= Idle;
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      look_count_q <= indices_count;
      for (int unsigned lane = 0; lane < Look; lane++) look_q[lane*IndexBits+:IndexBits] <= indices[lane*Bits+:IndexBits];
    end
    if (load_i) entries_q <= count_i;
  end

  if (Strings) begin : gen_strings
    logic [31:0] length;

    as_parquet_entry_strings #(
        .Entries   (Entries),
        .EntryBytes(EntryBytes),
        .Look      (Look)
    ) i_entries (
        .clk_i,
        .rst_ni,
        .clr_i,
        .begin_i     (load_i),
        .load_i      (state_q == Load),
        .entries_i   (entries_q),
        .done_o      (load_done),
        .bad_o       (load_bad),
        .window_ready_i,
        .window_i,
        .left_i,
        .take_o      (load_take),
        .move_o      (load_move),
        .look_valid_i(look_valid_q),
        .look_ready_o(look_ready),
        .look_i      (look_q),
        .look_count_i(look_count_q),
        .empty_o     (load_empty),
        .valid_o,
        .ready_i,
        .length_o    (length),
        .bytes_valid_o,
        .bytes_ready_i,
        .bytes_o,
        .bytes_count_o
    );

    assign data_o  = (Lanes * Width)'(length);
    assign count_o = CountBits'(1);
  end else begin : gen_numbers
    as_parquet_entries #(
        .Width  (Width),
        .Entries(Entries),
        .Look   (Look)
    ) i_entries (
        .clk_i,
        .rst_ni,
        .clr_i,
        .begin_i     (load_i),
        .load_i      (state_q == Load),
        .entries_i   (entries_q),
        .done_o      (load_done),
        .bad_o       (load_bad),
        .window_ready_i,
        .window_i,
        .left_i,
        .take_o      (load_take),
        .move_o      (load_move),
        .look_valid_i(look_valid_q),
        .look_ready_o(look_ready),
        .look_i      (look_q),
        .look_count_i(look_count_q),
        .empty_o     (load_empty),
        .valid_o,
        .ready_i,
        .data_o,
        .count_o
    );

    assign bytes_valid_o = 1'b0;
    assign bytes_o       = '0;
    assign bytes_count_o = '0;
    logic unused;
    assign unused = bytes_ready_i;
  end

endmodule

`default_nettype wire
