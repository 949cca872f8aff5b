// SPDX-License-Identifier: Apache-2.0
// Decodes the indices of a dictionary: RLE and bit-packed runs, Look indices per step.
//
// After `start_i` it takes a page of `count_i` indices from the window; `idle_o`: all its bytes
// were taken; `empty_o`: no index is in flight. Steps advance while `move_i` is high.
//
// Latency: 5 moves. Throughput: one step per cycle; a run costs 4 cycles before its first.
//
// Layer: parquet.

`default_nettype none

module as_parquet_indices #(
    parameter int unsigned Look = 8,
    // The largest width of an index, in full bytes; a page of wider ones does not fit.
    parameter int unsigned Bits = 16
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic        start_i,
    input  logic [31:0] count_i,
    output logic        idle_o,
    output logic        empty_o,
    output logic [ 7:0] fault_o,

    input  logic               window_ready_i,
    input  logic [Look*Bits-1:0] window_i,
    input  logic [       31:0] left_i,
    // How many bytes are taken, known early, and whether they are, known late.
    output logic [  6:0] take_o,
    output logic         move_o,

    input  logic               move_i,
    output logic               valid_o,
    output logic [Look*Bits-1:0] data_o,
    output logic [        3:0] count_o
);
  import as_parquet_pkg::*;

  localparam int unsigned ShiftBits = as_stream_pkg::count_bits(Bits);

  typedef enum logic [2:0] {
    Idle,
    Width1,
    See,
    Head,
    Take,
    Run,
    Packed
  } state_e;

  state_e         state_q;
  logic    [ 7:0] fault_q;
  logic    [31:0] left_q;
  logic    [ 5:0] width_q;
  logic    [71:0] seen_q;
  logic    [31:0] seen_left_q;
  // Indices left in the run.
  logic    [31:0] run_q;
  logic [Bits-1:0] run_index_q;

  // The head of a run, and the index of an RLE run after it.
  logic [ 2:0] head_bytes;
  logic [34:0] head;
  logic [ 2:0] index_bytes;
  logic [Bits-1:0] index;
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
    index = Bits'(seen_q >> {head_bytes, 3'b000});
    for (int unsigned k = 0; k < Bits / 8; k++) begin
      if (3'(k) >= index_bytes) index[k*8+:8] = '0;
    end
    head_bad = head_bytes == '0 || head[34:32] != '0 || head[31:1] == '0 || (head[0] && head[31:29] != '0) ||
               32'(head_bytes) + (head[0] ? '0 : 32'(index_bytes)) > seen_left_q;
  end

  // The decoded head, registered.
  logic [ 6:0] head_bytes_q;
  logic        head_packed_q;
  logic        head_bad_q;

  // A step of up to 8 indices: how many, and whether it ends the run and the page, is computed a
  // cycle before.
  logic        put;
  logic [ 3:0] step_q;
  logic        run_ends_q;
  logic        page_ends_q;
  logic [31:0] run_after;
  logic [31:0] left_after;
  // Whether a step has the bytes of its indices is checked a cycle later: indices without bytes are
  // discarded with the fault. The last bytes of a run may be missing if no index is in them.
  logic        late_q;
  logic [ 9:0] late_bits_q;
  logic [ 9:0] late_need_q;

  assign put = move_i && (state_q == Run || (state_q == Packed && window_ready_i));

  always_comb begin
    run_after   = run_q;
    left_after  = left_q;
    if (state_q == Run || state_q == Packed) begin
      run_after  = run_q - 32'(step_q);
      left_after = left_q - 32'(step_q);
    end
  end

  always_comb begin
    take_o = 7'(width_q);
    move_o = 1'b0;
    unique case (state_q)
      Width1: begin
        take_o = 7'd1;
        move_o = window_ready_i;
      end
      Take: begin
        take_o = head_bytes_q;
        move_o = !head_bad_q;
      end
      Packed:  move_o = put;
      default: ;
    endcase
  end

  // Indices of a step, side by side.
  logic [Look*Bits-1:0] same;

  always_comb begin
    for (int unsigned lane = 0; lane < Look; lane++) same[lane*Bits+:Bits] = run_index_q;
  end

  as_bit_unpack #(
      .Width(Bits),
      .Lanes(Look),
      .UserBits(4)
  ) i_unpack (
      .clk_i,
      .rst_ni,
      .clr_i,
      .move_i,
      .valid_i(put),
      .data_i (state_q == Run ? same : window_i),
      .width_i(state_q == Run ? ShiftBits'(Bits) : ShiftBits'(width_q)),
      .user_i (step_q),
      .valid_o,
      .data_o,
      .user_o (count_o),
      .empty_o
  );

  assign idle_o  = state_q == Idle && !late_q;
  assign fault_o = fault_q;

  task automatic fail(input fault_e why);
    fault_q <= why;
    state_q <= Idle;
  endtask

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      fault_q <= FaultNone;
      late_q  <= 1'b0;
    end else if (clr_i) begin
      state_q <= Idle;
      fault_q <= FaultNone;
      late_q  <= 1'b0;
    end else begin
      unique case (state_q)
        Idle: if (start_i) state_q <= Width1;
        Width1:
        if (window_ready_i) begin
          state_q <= window_i[7:0] == '0 ? Take : See;
          if (left_i == '0) fail(FaultValues);
          else if (window_i[7:0] > 8'd32) fail(FaultIndex);
          else if (window_i[7:0] > 8'(Bits)) fail(FaultDictionary);
        end
        See:  if (window_ready_i) state_q <= Head;
        Head: state_q <= Take;
        Take: begin
          state_q <= head_packed_q ? Packed : Run;
          if (head_bad_q) fail(FaultValues);
        end
        Run, Packed: begin
          if (put) begin
            if (page_ends_q) state_q <= Idle;
            else if (run_ends_q) state_q <= See;
          end
        end
        default: ;
      endcase
      late_q <= put && state_q == Packed;
      if (late_q && late_bits_q < late_need_q) fail(FaultValues);
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: left_q <= count_i;
      Width1: begin
        width_q       <= window_i[5:0];
        // Indices of width 0 are all 0, whatever follows.
        run_q         <= '1;
        run_index_q   <= '0;
        head_bytes_q  <= '0;
        head_packed_q <= 1'b0;
        head_bad_q    <= 1'b0;
      end
      See: begin
        seen_q      <= window_i[71:0];
        seen_left_q <= left_i;
      end
      Head: begin
        run_q         <= head[0] ? {head[29:1], 3'b000} : {1'b0, head[31:1]};
        run_index_q   <= index;
        head_bytes_q  <= 7'(head_bytes) + (head[0] ? '0 : 7'(index_bytes));
        head_packed_q <= head[0];
        head_bad_q    <= head_bad;
      end
      Run, Packed:
      if (put) begin
        left_q <= left_after;
        run_q  <= run_after;
      end
      default: ;
    endcase
    late_bits_q <= {left_i < 32'd64 ? 7'(left_i) : 7'd64, 3'b000};
    late_need_q <= 10'(width_q) * 10'(step_q);
    // Of the step after this one, or of the first.
    if (state_q == Take || put) begin
      step_q      <= run_after >= 32'(Look) && left_after >= 32'(Look) ? 4'(Look)
                     : run_after < left_after ? 4'(run_after) : 4'(left_after);
      run_ends_q  <= run_after <= 32'(Look);
      page_ends_q <= left_after <= 32'(Look) && left_after <= run_after;
    end
  end

endmodule

`default_nettype wire
