// SPDX-License-Identifier: Apache-2.0
// Proves for as_graph_fill, for any map of this many steps, that every step of every object makes
// one piece, in order, from its own bytes, the address of the object that it refers to and its
// vtable pointer, after the right padding; that offered pieces do not change; that it ends once,
// after the last piece or with the first fault, and no piece of that step leaves; and that it makes
// progress while the window has bytes and pieces are taken.
//
// There are eight steps; objects of class 0 begin with step 0, those of class 1 with step 4.

`default_nettype none

module as_graph_fill_proof (
    input logic        clk_i,
    input logic        start_i,
    input logic [ 2:0] count_i,
    input logic [ 7:0] base_i,
    input logic [ 3:0] total_i,
    input logic        window_valid_i,
    input logic        piece_ready_i,
    input logic [ 7:0] takes_i,
    input logic [ 7:0] needs_i,
    input logic [ 7:0] lasts_i,
    input logic [ 7:0] faults_i,
    input logic [ 7:0] granules_i,
    input logic [ 7:0] masks_i,
    input logic [31:0] refs_i,
    input logic [ 7:0] classes_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The map and the message are chosen in the first cycle. For each step: whether it takes two
  // bytes, needs one more, ends its object, has a fault, makes two granules, is aligned to two, and
  // which object it refers to. For each object: its class.
  logic [7:0] takes_q, needs_q, lasts_q, faults_q, granules_q, masks_q, base_q;
  // Four bits each, of which three are used.
  logic [31:0] refs_q;
  logic [7:0] classes_q;
  logic [2:0] count_q;
  logic [5:0] left_q = '0, at_q = '0;
  logic start, started_q = 1'b0;
  assign start = rst_n && start_i && !started_q;

  function automatic logic [1:0] take_of(input logic [7:0] takes, input logic [2:0] step);
    return takes[step] ? 2'd2 : 2'd0;
  endfunction

  logic window_ready;
  logic [2:0] take;
  as_stream_source #(
      .Width(1)
  ) i_window (
      .clk_i,
      .rst_ni (rst_n && started_q),
      .valid_i(window_valid_i),
      .data_i (1'b0),
      .ready_i(take != '0),
      .valid_o(window_ready),
      .data_o ()
  );

  logic types_read, table_read, vptr_read, vptr_slot;
  logic [1:0] types_address, table_address;
  logic [1:0] types_q;
  logic [9:0] table_q;
  logic [7:0] vptr_q, address, vptr;
  logic class_next, last, outside, null_ref, target, piece_valid, piece_last, skip, done;
  logic [2:0] next, need, map_take, read_step, made_step, granules, piece_granules, left;
  logic [31:0] read_window, made_window, id, piece, made;
  logic [5:0] position;
  as_graph_pkg::code_e code, made_code;

  // RAMs: classes, two per word; offsets of objects (object number plus one granule), two per word;
  // vtable pointers.
  always_ff @(posedge clk_i) begin
    if (types_read) types_q <= classes_q[{types_address, 1'b0}+:2];
    if (table_read) table_q <= {4'({table_address, 1'b1}) + 4'd1, 1'b1, 4'({table_address, 1'b0}) + 4'd1, 1'b0};
    if (vptr_read) vptr_q <= {7'h2a, vptr_slot};
  end

  // The map.
  assign need     = 3'(take_of(takes_q, next)) + 3'(needs_q[next]);
  assign map_take = 3'(take_of(takes_q, next));
  assign last     = lasts_q[next];
  assign granules = granules_q[next] ? 3'd2 : 3'd1;
  assign id       = refs_q[{read_step, 2'd0}+:3] == 3'd7 ? as_graph_pkg::NullId : 32'(refs_q[{read_step, 2'd0}+:3]);
  assign made     = {vptr[0], target, null_ref, outside, address, 8'd0, 3'd0, made_window[5:0], made_step};
  always_comb begin
    made_code = faults_q[made_step] ? as_graph_pkg::WrongType : as_graph_pkg::Good;
    if (left < 3'(take_of(takes_q, made_step)) + 3'(needs_q[made_step])) made_code = as_graph_pkg::Truncated;
  end

  as_graph_fill #(
      .Bytes       (4),
      .StepBytes   (4),
      .GranuleBytes(2),
      .Lanes       (2),
      .Refs        (1),
      .TypeBits    (1),
      .StepBits    (3),
      .SlotBits    (1),
      .AlignBits   (1),
      .OffsetBits  (4),
      .CountBits   (3),
      .WordBits    (2),
      .PointerBits (8),
      .LengthBits  (6)
  ) i_fill (
      .clk_i,
      .rst_ni           (rst_n),
      .start_i          (start),
      .count_i          (count_q),
      .base_i           (base_q),
      .window_ready_i   (window_ready),
      .window_i         ({26'd0, at_q}),
      .left_i           (left_q),
      .position_i       (at_q),
      .take_o           (take),
      .types_read_o     (types_read),
      .types_address_o  (types_address),
      .types_word_i     (types_q),
      .table_read_o     (table_read),
      .table_address_o  (table_address),
      .table_word_i     (table_q),
      .vptr_read_o      (vptr_read),
      .vptr_slot_o      (vptr_slot),
      .vptr_i           (vptr_q),
      .map_type_o       (class_next),
      .map_first_i      ({class_next, 2'b00}),
      .map_next_o       (next),
      .map_last_i       (last),
      .map_need_i       (need),
      .map_take_i       (map_take),
      .map_granules_i   (granules),
      .map_slot_i       (next[0]),
      .map_align_mask_i (masks_q[next]),
      .map_read_step_o  (read_step),
      .map_read_window_o(read_window),
      .map_id_i         (id),
      .map_step_o       (made_step),
      .map_window_o     (made_window),
      .map_left_o       (left),
      .map_target_o     (target),
      .map_null_o       (null_ref),
      .map_outside_o    (outside),
      .map_address_o    (address),
      .map_vptr_o       (vptr),
      .map_code_i       (made_code),
      .map_fault_at_i   ('0),
      .map_piece_i      (made),
      .piece_valid_o    (piece_valid),
      .piece_ready_i    (piece_ready_i),
      .piece_o          (piece),
      .piece_granules_o (piece_granules),
      .piece_skip_o     (skip),
      .piece_last_o     (piece_last),
      .done_o           (done),
      .code_o           (code),
      .position_o       (position)
  );

  logic kept;
  as_stream_rules #(
      .Width(37)
  ) i_piece (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(piece_valid),
      .ready_i(piece_ready_i),
      .data_i ({piece_last, skip, piece_granules, piece}),
      .kept_o (kept)
  );

  // The step whose piece comes next: its number, the position of its bytes, its object; whether it
  // begins an object, and the object's offset.
  logic [2:0] step_q = '0, object_q = '0, ref_of;
  logic [5:0] step_at_q = '0, all;
  logic first_q = 1'b1, odd_q = 1'b0, ended_q = 1'b0, complete_q = 1'b0;
  logic [2:0] step, step_after;
  logic [5:0] after;
  logic out, skip_due, bad, bad_after, lacks, lacks_after;
  assign out        = piece_valid && piece_ready_i;
  assign step       = first_q ? {classes_q[object_q], 2'b00} : step_q;
  assign ref_of     = refs_q[{step, 2'd0}+:3];
  assign skip_due   = first_q && masks_q[step] && odd_q;
  assign after      = step_at_q + 6'(take_of(takes_q, step));
  // Whether the next step has a fault, and the one after it.
  assign step_after = lasts_q[step] ? {classes_q[3'(object_q+3'd1)], 2'b00} : step + 3'd1;
  assign lacks       = 6'(take_of(takes_q, step)) + 6'(needs_q[step]) > all - step_at_q;
  assign lacks_after = 6'(take_of(takes_q, step_after)) + 6'(needs_q[step_after]) > all - after;
  assign bad         = faults_q[step] || lacks;
  assign bad_after   = faults_q[step_after] || lacks_after;
  assign all        = at_q + left_q;
  logic [2:0] waited_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {takes_q, needs_q, lasts_q, faults_q, granules_q, masks_q, base_q} <= {takes_i, needs_i, lasts_i, faults_i, granules_i, masks_i, base_i};
      refs_q    <= refs_i;
      classes_q <= classes_i;
      count_q   <= count_i < 3'd6 ? count_i + 3'd1 : 3'd6;
      left_q    <= 6'(total_i);
    end
    if (start) started_q <= 1'b1;
    if (rst_n) begin
      at_q   <= at_q + 6'(take);
      left_q <= left_q - 6'(take);
      if (out) begin
        step_q    <= step + 3'd1;
        step_at_q <= after;
        first_q   <= lasts_q[step];
        object_q  <= object_q + 3'(lasts_q[step]);
        odd_q     <= odd_q ^ skip_due ^ !granules_q[step];
        if (piece_last) complete_q <= 1'b1;
      end
      if (done) ended_q <= 1'b1;
    end
    waited_q <= !started_q || ended_q || done || out || !window_ready || !piece_ready_i ? '0 : waited_q + 1'b1;
  end

  always_comb begin
    if (rst_n) begin
      assert (kept && 6'(take) <= left_q && (take == '0 || window_ready));
      if (piece_valid && !start) begin
        assert (started_q && !complete_q && !bad);
        assert (piece[2:0] == step && piece[8:3] == step_at_q);
        assert (piece_granules == (granules_q[step] ? 3'd2 : 3'd1) && skip == skip_due);
        assert (piece_last == (lasts_q[step] && object_q + 3'd1 == count_q));
        assert (piece[31] == step[0] && piece[29] == (ref_of == 3'd7) && piece[28] == (ref_of >= count_q));
        if (ref_of != 3'd7) assert (piece[30] == ref_of[0] && piece[27:20] == base_q + {4'd0, ref_of, 1'b0} + 8'd2);
      end
      assert (!done || (started_q && !ended_q));
      if (done && code == as_graph_pkg::Good) assert (complete_q && !piece_valid);
      // The previous piece may still wait.
      if (done && code != as_graph_pkg::Good) begin
        assert ((code == as_graph_pkg::Truncated) == (piece_valid ? lacks_after : lacks));
        assert (!complete_q && (piece_valid ? bad_after && position == after && !piece_last : bad && position == step_at_q));
      end
      assert (waited_q < 3'd6);
    end
  end

endmodule

`default_nettype wire
