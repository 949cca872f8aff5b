// SPDX-License-Identifier: Apache-2.0
// RLE_DICTIONARY: keeps a dictionary page, then turns indices (RLE and bit-packed runs) into its entries.
//
// `load_i` takes a page of `count_i` entries in PLAIN, `look_i` a page of `count_i` indices. Of numbers, up to 8 come out a cycle: the entries
// are kept once for each of the 8. Of strings, one length a cycle and up to 64 of its bytes a cycle: bytes are kept in two banks of
// lines, so that 64 bytes that begin anywhere are read at once. A dictionary that does not fit, a second one, indices without one or beyond it
// are faults.
//
// Latency: 9 cycles. Layer: parquet.
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

    // A column chunk begins: there is no dictionary.
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
    output logic [  6:0] take_o,

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

  typedef enum logic [3:0] {
    Idle,
    Load,
    LoadDrain,
    Width1,
    See,
    Head,
    Run,
    Bits
  } state_e;

  state_e         state_q;
  logic    [ 7:0] fault_q;
  logic           known_q;
  logic    [31:0] entries_q;
  logic    [31:0] left_q;
  logic    [31:0] loaded_q;
  logic    [ 5:0] width_q;
  logic    [71:0] seen_q;
  logic    [31:0] seen_left_q;
  // Indices that the run still has.
  logic    [31:0] run_q;
  logic    [31:0] run_index_q;

  // The head of a run, and the index of an RLE run behind it.
  logic [ 2:0] head_bytes;
  logic [34:0] head;
  logic [ 2:0] index_bytes;
  logic [31:0] index;
  logic        head_bad;

  always_comb begin
    head_bytes = '0;
    head       = '0;
    for (int unsigned k = 5; k > 0; k--) begin
      if (!seen_q[(k-1)*8+7]) head_bytes = 3'(k);
    end
    for (int unsigned k = 0; k < 5; k++) begin
      if (3'(k) < head_bytes) head[k*7+:7] = seen_q[k*8+:7];
    end
    index_bytes = 3'((width_q + 6'd7) >> 3);
    index = 32'(seen_q >> {head_bytes, 3'b000});
    for (int unsigned k = 0; k < 4; k++) begin
      if (3'(k) >= index_bytes) index[k*8+:8] = '0;
    end
    head_bad = head_bytes == '0 || head[34:32] != '0 || head[31:1] == '0 || (head[0] && head[31:29] != '0) ||
               32'(head_bytes) + (head[0] ? '0 : 32'(index_bytes)) > seen_left_q;
  end

  // A step of up to 8 indices.
  logic        move;
  logic        put;
  logic [31:0] step_most;
  logic [ 3:0] step_count;
  logic [ 6:0] step_bytes;
  logic        step_short;

  assign step_most  = run_q < left_q ? run_q : left_q;
  assign step_count = step_most >= 32'(Look) ? 4'(Look) : 4'(step_most);
  assign step_bytes = 7'(width_q);
  // The last bytes of a run may be missing if no index is in them.
  assign step_short = left_i < 32'(step_bytes) && {left_i[28:0], 3'b000} < 32'(width_q) * 32'(step_count);
  assign put        = move && ((state_q == Run) || (state_q == Bits && window_ready_i && !step_short));

  logic         load_put;
  logic         load_bad;
  logic [  6:0] load_take;
  logic         load_done;

  always_comb begin
    take_o = '0;
    unique case (state_q)
      Load:    take_o = load_take;
      Width1:  if (window_ready_i && left_i != '0) take_o = 7'd1;
      Head:    if (!head_bad) take_o = 7'(head_bytes) + (head[0] ? '0 : 7'(index_bytes));
      Bits:    if (put) take_o = left_i < 32'(step_bytes) ? 7'(left_i) : step_bytes;
      default: ;
    endcase
  end

  // Indices of a step, side by side.
  logic               unpacked_valid;
  logic [Look*32-1:0] unpacked;
  logic [        3:0] unpacked_count;
  logic               unpack_empty;
  logic [Look*32-1:0] same;

  always_comb begin
    for (int unsigned lane = 0; lane < Look; lane++) same[lane*32+:32] = run_index_q;
  end

  as_bit_unpack #(
      .Width(32),
      .Lanes(Look),
      .UserBits(4)
  ) i_unpack (
      .clk_i,
      .rst_ni,
      .clr_i,
      .move_i (move),
      .valid_i(put),
      .data_i (state_q == Run ? same : window_i[Look*32-1:0]),
      .width_i(state_q == Run ? 6'd32 : width_q),
      .user_i (step_count),
      .valid_o(unpacked_valid),
      .data_o (unpacked),
      .user_o (unpacked_count),
      .empty_o(unpack_empty)
  );

  // Indices that are in the dictionary, and whether one is not.
  logic                     look_valid_q;
  logic [Look*IndexBits-1:0] look_q;
  logic [              3:0] look_count_q;
  logic                     beyond;

  always_comb begin
    beyond = 1'b0;
    for (int unsigned lane = 0; lane < Look; lane++) begin
      if (4'(lane) < unpacked_count && unpacked[lane*32+:32] >= entries_q) beyond = 1'b1;
    end
  end

  logic behind_empty;
  logic look_ready;

  assign move    = !look_valid_q || look_ready;
  assign idle_o  = state_q == Idle;
  assign empty_o = unpack_empty && !look_valid_q && behind_empty;
  assign fault_o = fault_q;

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
        look_valid_q <= unpacked_valid;
        if (unpacked_valid && beyond) fault_q <= FaultIndex;
      end
      unique case (state_q)
        Idle: begin
          if (load_i) begin
            state_q <= Load;
            known_q <= 1'b1;
            if (known_q || count_i > 32'(Entries)) fail(FaultDictionary);
          end else if (look_i) begin
            state_q <= Width1;
            if (!known_q) fail(FaultDictionary);
          end
        end
        Load: begin
          if (load_bad) fail(FaultDictionary);
          else if (load_done) state_q <= LoadDrain;
        end
        LoadDrain: if (behind_empty) state_q <= Idle;
        Width1:
        if (window_ready_i) begin
          state_q <= window_i[7:0] == '0 ? Run : See;
          if (left_i == '0) fail(FaultValues);
          else if (window_i[7:0] > 8'd32) fail(FaultIndex);
        end
        See:  if (window_ready_i) state_q <= Head;
        Head: begin
          state_q <= head[0] ? Bits : Run;
          if (head_bad) fail(FaultValues);
        end
        Run, Bits: begin
          if (put) begin
            if (left_q == 32'(step_count)) state_q <= Idle;
            else if (run_q == 32'(step_count)) state_q <= See;
          end else if (state_q == Bits && window_ready_i && step_short) begin
            fail(FaultValues);
          end
        end
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      look_count_q <= unpacked_count;
      for (int unsigned lane = 0; lane < Look; lane++) look_q[lane*IndexBits+:IndexBits] <= unpacked[lane*32+:IndexBits];
    end
    unique case (state_q)
      Idle: begin
        left_q <= count_i;
        if (load_i) begin
          entries_q <= count_i;
          loaded_q  <= '0;
        end
      end
      Width1: begin
        width_q     <= window_i[5:0];
        // Indices of no bits are all 0, whatever follows.
        run_q       <= '1;
        run_index_q <= '0;
      end
      See: begin
        seen_q      <= window_i[71:0];
        seen_left_q <= left_i;
      end
      Head: begin
        run_q       <= head[0] ? {head[29:1], 3'b000} : {1'b0, head[31:1]};
        run_index_q <= index;
      end
      Run, Bits:
      if (put) begin
        left_q <= left_q - 32'(step_count);
        run_q  <= run_q - 32'(step_count);
      end
      default: ;
    endcase
    if (load_put) loaded_q <= loaded_q + (Strings ? 32'd1 : 32'(Lanes));
  end

  if (!Strings) begin : gen_numbers
    // The dictionary as words of Lanes entries, as they come; one copy for each index of a step.
    localparam int unsigned LaneBits = $clog2(Lanes);
    localparam int unsigned WordBits = IndexBits - LaneBits;

    logic [        31:0] load_left;
    logic [         6:0] load_bytes;
    logic                read_valid_q;
    logic [         3:0] read_count_q;
    logic [Look*LaneBits-1:0] lane_q;
    logic                out_valid_q;
    logic [         3:0] out_count_q;
    logic [Lanes*Width-1:0] out_q;
    logic                read_move;
    logic                out_move;
    logic [Look*512-1:0] words;

    assign load_left  = entries_q - loaded_q;
    assign load_bytes = load_left >= 32'(Lanes) ? 7'd64 : 7'(load_left << $clog2(Width / 8));
    assign load_put   = state_q == Load && window_ready_i && load_left != '0 && !load_done && !load_bad;
    assign load_bad   = state_q == Load && window_ready_i && !load_done && left_i < 32'(load_bytes);
    assign load_take  = load_put ? load_bytes : '0;
    assign load_done  = state_q == Load && (entries_q == '0 || loaded_q >= entries_q);

    assign out_move     = !out_valid_q || ready_i;
    assign read_move    = !read_valid_q || out_move;
    assign look_ready   = read_move;
    assign behind_empty = !read_valid_q && !out_valid_q;
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
          .read_address_i (look_q[lane*IndexBits+LaneBits+:WordBits]),
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
        if (read_move) read_valid_q <= look_valid_q;
        if (out_move) out_valid_q <= read_valid_q;
      end
    end

    always_ff @(posedge clk_i) begin
      if (read_move) begin
        read_count_q <= look_count_q;
        for (int unsigned lane = 0; lane < Look; lane++) lane_q[lane*LaneBits+:LaneBits] <= look_q[lane*IndexBits+:LaneBits];
      end
      if (out_move) begin
        out_count_q <= read_count_q;
        out_q       <= '0;
        for (int unsigned lane = 0; lane < Look; lane++) begin
          out_q[lane*Width+:Width] <= words[lane*512+32'(lane_q[lane*LaneBits+:LaneBits])*Width+:Width];
        end
      end
    end

    assign bytes_valid_o = 1'b0;
    assign bytes_o       = '0;
    assign bytes_count_o = '0;
    logic unused;
    assign unused = bytes_ready_i;
  end else begin : gen_strings
    localparam int unsigned AddressBits = $clog2(EntryBytes);
    localparam int unsigned LineBits = AddressBits - 6;

    // Loading: lengths as they come, bytes packed to lines.
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
    assign load_ends  = loaded_q == entries_q;
    assign load_bad   = state_q == Load && window_ready_i && !load_ends &&
                        (load_first ? left_i < 32'd4 || window_i[31:0] > left_i - 32'd4 || size_q + 33'(window_i[31:0]) > 33'(EntryBytes)
                                    : 1'b0);
    assign load_bytes = load_first ? (window_i[31:0] >= 32'd60 ? 7'd60 : 7'(window_i[5:0]))
                                   : (load_left_q >= 32'd64 ? 7'd64 : 7'(load_left_q));
    logic load_step;
    assign load_step  = state_q == Load && window_ready_i && !load_ends && !load_bad && pack_ready;
    assign load_take  = load_step ? load_bytes + (load_first ? 7'd4 : 7'd0) : '0;
    // An entry is loaded with its last bytes.
    assign load_put   = load_step && (load_first ? window_i[31:0] : load_left_q) == 32'(load_bytes);
    assign load_done  = state_q == Load && load_ends && flushed_q;

    as_arrow_pack #(
        .ElementBits(8),
        .Lanes(64),
        .Slots(64)
    ) i_pack (
        .clk_i,
        .rst_ni,
        .clr_i  (clr_i || start_i),
        .valid_i(load_step || (state_q == Load && load_ends && !flushed_q)),
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

    // Where an entry is and how long.
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

    // One index after the other.
    logic [          2:0] turn_q;
    logic                 place_valid_q;
    logic                 place_move;

    assign place_index = look_q[turn_q*IndexBits+:IndexBits];
    assign place_read  = place_move;
    assign look_ready  = place_move && 4'(turn_q) + 4'd1 >= look_count_q;

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

    // A length and its first bytes go out together, to each side when it takes them.
    assign out_free      = (!length_valid_q || ready_i) && (!bytes_valid_q || bytes_ready_i);
    assign line_move     = !read_valid_q || out_free;
    assign behind_empty  = !place_valid_q && !going_q && !read_valid_q && !length_valid_q && !bytes_valid_q && !pack_valid;
    assign valid_o       = length_valid_q;
    assign data_o        = (Lanes * Width)'(length_out_q);
    assign count_o       = CountBits'(1);
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
          place_valid_q <= look_valid_q;
          if (look_valid_q) turn_q <= look_ready ? '0 : turn_q + 3'd1;
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
      if (start_i || clr_i || load_i) begin
        load_left_q <= '0;
        size_q      <= '0;
        line_q      <= '0;
        flushed_q   <= 1'b0;
      end else begin
        if (load_step) begin
          load_left_q <= (load_first ? window_i[31:0] : load_left_q) - 32'(load_bytes);
          if (load_first) begin
            begin_q  <= size_q[AddressBits:0];
            length_q <= (AddressBits + 1)'(window_i[31:0]);
            size_q   <= size_q + 33'(window_i[31:0]);
          end
        end
        if (state_q == Load && load_ends && pack_ready) flushed_q <= 1'b1;
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
  end

endmodule
