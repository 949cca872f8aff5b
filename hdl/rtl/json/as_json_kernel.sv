// SPDX-License-Identifier: Apache-2.0
// A parser: takes bytes, makes write commands for Arrow buffers. It holds everything that does not
// depend on the plan; the plan's part comes in by `match_*` and `map_*`.
//
//   feed → scan → (matchers look ahead, the beat waits) → route → convert → queue → writers
//
// Back-pressure of the writers stops at the queue; steps are made only while it has room for all
// steps in flight.
//
// Layer: json.

`default_nettype none

module as_json_kernel
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8,
    parameter int unsigned L = 2,
    parameter int unsigned Nodes = 2,
    parameter int unsigned Slots = 1,
    parameter int unsigned Levels = 1,
    parameter int unsigned Window = 32,
    // Beats by which the matchers look ahead.
    parameter int unsigned Ahead = 2,
    // Whether the plan has such columns.
    parameter bit Floats = 1'b0,
    parameter bit Times = 1'b0,
    parameter bit Decimals = 1'b0,
    localparam int unsigned PieceBits = L * 64
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic        unknown_refused_i,
    input logic [31:0] record_bytes_max_i,
    input logic [15:0] depth_max_i,

    input  logic           feed_valid_i,
    input  logic           feed_ended_i,
    output logic           feed_advance_o,
    input  logic [W*8-1:0] feed_data_i,

    // Text for the matchers, and what they found in the beat that the route sees.
    output logic               match_advance_o,
    output logic [    W*8-1:0] match_data_o,
    input  logic [Slots*W-1:0] match_slot_i,

    output logic [      7:0] map_context_o,
    output logic [    W-1:0] map_lane_o,
    input  logic             map_known_i,
    input  logic [      7:0] map_node_i,
    output logic [      7:0] map_row_node_o,
    input  row_t             map_row_i,
    output logic [      7:0] map_row_context_o,
    input  row_t             map_row_context_i,
    input  logic [Nodes-1:0] map_fields_i,
    input  logic [Nodes-1:0] map_nullable_i,
    output logic [      7:0] map_missing_o,
    input  logic [      7:0] map_missing_last_i,
    output logic             map_begin_o,
    output logic [      7:0] map_after_o,
    input  slot_t            map_slot_i,
    input  logic [Nodes-1:0] map_slot_clears_i,
    input  logic [Nodes-1:0] map_slot_sets_i,

    // The writers took everything that was fed, or the rest is given up.
    output logic done_o,
    // Bytes, or room for values, were missing in this cycle.
    output logic starved_o,
    output logic blocked_o,

    output logic        fault_o,
    output fault_e      fault_code_o,
    output logic [63:0] fault_position_o,
    output logic [31:0] rows_o,

    output logic                 op_valid_o,
    input  logic                 op_ready_i,
    output op_t                  op_o,
    output logic [PieceBits-1:0] op_data_o
);

  // Scan, look-ahead, and the registers of the matchers.
  localparam int unsigned Stages = Ahead + 2;
  localparam int unsigned EndBits = as_stream_pkg::count_bits(Stages + 1);
  // Holds all that may be in flight in the converters.
  localparam int unsigned QueueDepth = Floats || Times || Decimals ? 32 : 16;
  localparam int unsigned OpenBits = as_stream_pkg::count_bits(QueueDepth);

  logic [W*8-1:0] data;
  logic [W-1:0] space, newline, scalar, quote, escape, bad_string, bad_utf8;
  logic [W-1:0] stop, stop_ok, stop_value, run_bad, value_end, null_end;
  logic [Stages-1:0] valid_q;
  logic [EndBits-1:0] blanks_q;
  logic shift, advance, halted_q, room;

  assign shift           = (advance || !valid_q[Stages-1]) && feed_valid_i && !halted_q;
  assign feed_advance_o  = shift;
  assign match_advance_o = shift;
  assign match_data_o    = data;

  as_json_scan #(
      .W(W)
  ) i_scan (
      .clk_i,
      .rst_ni,
      .clr_i,
      .advance_i   (shift),
      .data_i      (feed_data_i),
      .data_o      (data),
      .space_o     (space),
      .newline_o   (newline),
      .scalar_o    (scalar),
      .quote_o     (quote),
      .escape_o    (escape),
      .bad_string_o(bad_string),
      .bad_utf8_o  (bad_utf8),
      .stop_o      (stop),
      .stop_ok_o   (stop_ok),
      .stop_value_o(stop_value),
      .run_bad_o   (run_bad),
      .value_end_o (value_end),
      .null_end_o  (null_end)
  );

  typedef struct packed {
    logic [W*8-1:0] data;
    logic [W-1:0] space, newline, scalar, quote, escape, bad_string, bad_utf8;
    logic [W-1:0] stop, stop_ok, stop_value, run_bad, value_end, null_end;
  } beat_t;
  beat_t seen, beat;
  assign seen = '{data, space, newline, scalar, quote, escape, bad_string, bad_utf8,
                  stop, stop_ok, stop_value, run_bad, value_end, null_end};

  as_json_delay #(
      .Width ($bits(beat_t)),
      .Stages(Ahead + 1)
  ) i_wait (
      .clk_i,
      .advance_i(shift),
      .data_i   (seen),
      .data_o   (beat)
  );

  logic        step_valid;
  step_t       step;
  logic [L*8-1:0] lanes;
  logic        route_idle, route_fault;
  fault_e      route_fault_code;
  logic [31:0] route_rows;

  as_json_route #(
      .W     (W),
      .L     (L),
      .Nodes (Nodes),
      .Slots (Slots),
      .Levels(Levels),
      .Window(Window)
  ) i_route (
      .clk_i,
      .rst_ni,
      .clr_i,
      .unknown_refused_i,
      .record_bytes_max_i,
      .depth_max_i,
      // A beat advances only when the next one can follow.
      .beat_valid_i       (valid_q[Stages-1] && feed_valid_i && !halted_q),
      .advance_o          (advance),
      .data_i             (beat.data),
      .space_i            (beat.space),
      .newline_i          (beat.newline),
      .scalar_i           (beat.scalar),
      .quote_i            (beat.quote),
      .escape_i           (beat.escape),
      .bad_string_i       (beat.bad_string),
      .bad_utf8_i         (beat.bad_utf8),
      .stop_i             (beat.stop),
      .stop_ok_i          (beat.stop_ok),
      .stop_value_i       (beat.stop_value),
      .run_bad_i          (beat.run_bad),
      .value_end_i        (beat.value_end),
      .null_end_i         (beat.null_end),
      .slot_start_i       (match_slot_i),
      .map_context_o,
      .map_lane_o,
      .map_known_i,
      .map_node_i,
      .row_node_o         (map_row_node_o),
      .row_i              (map_row_i),
      .row_context_o      (map_row_context_o),
      .context_i          (map_row_context_i),
      .fields_i           (map_fields_i),
      .nullable_i         (map_nullable_i),
      .missing_o          (map_missing_o),
      .missing_last_i     (map_missing_last_i),
      .slot_begin_o       (map_begin_o),
      .slot_after_o       (map_after_o),
      .slot_i             (map_slot_i),
      .slot_clears_i      (map_slot_clears_i),
      .slot_sets_i        (map_slot_sets_i),
      .room_i             (room),
      .step_valid_o       (step_valid),
      .step_o             (step),
      .lanes_o            (lanes),
      .idle_o             (route_idle),
      .fault_o            (route_fault),
      .fault_code_o       (route_fault_code),
      .fault_position_o,
      .rows_o             (route_rows)
  );

  // The beat of the step that the route has just made, preceded by the bytes before it.
  logic [Window*8-1:0] history_q;
  logic [(Window+W)*8-1:0] bytes_q;
  // The classes of these bytes.
  logic [W*4-1:0] classes;
  logic [Window*4-1:0] past_q;
  logic [(Window+W)*4-1:0] classes_q;
  always_comb begin
    for (int unsigned i = 0; i < W; i++) classes[i*4+:4] = classify(beat.data[i*8+:8]);
  end
  always_ff @(posedge clk_i) begin
    if (clr_i) begin
      history_q <= {Window{8'h20}};
      past_q    <= {Window{ClassNone}};
    end else if (shift && valid_q[Stages-1]) begin
      history_q <= (Window * 8)'({beat.data, history_q} >> (W * 8));
      past_q    <= (Window * 4)'({classes, past_q} >> (W * 4));
    end
    bytes_q   <= {beat.data, history_q};
    classes_q <= {classes, past_q};
  end

  logic out_valid, out_flag, convert_busy, convert_fault;
  step_t out;
  logic [PieceBits-1:0] out_data;
  logic [7:0] out_bytes, convert_record;
  fault_e convert_code;

  as_json_convert #(
      .W       (W),
      .L       (L),
      .Window  (Window),
      .Floats  (Floats),
      .Times   (Times),
      .Decimals(Decimals)
  ) i_convert (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i       (step_valid),
      .step_i        (step),
      .lanes_i       (lanes),
      .bytes_i       (bytes_q),
      .classes_i     (classes_q),
      .valid_o       (out_valid),
      .step_o        (out),
      .data_o        (out_data),
      .data_bytes_o  (out_bytes),
      .flag_o        (out_flag),
      .busy_o        (convert_busy),
      .fault_o       (convert_fault),
      .fault_code_o  (convert_code),
      .fault_record_o(convert_record)
  );

  op_t made;
  logic queue_ready;
  logic [OpenBits-1:0] open_q;

  always_comb begin
    made              = '0;
    made.bytes        = out_bytes;
    made.has_data     = out.row.data && (out.text || out.values) && out_bytes != '0;
    made.data_buffer  = out.row.data_buffer;
    made.has_flag     = out.row.flag && out.values;
    made.flag         = out_flag;
    made.flag_buffer  = out.row.flag_buffer;
    made.count        = out.text ? 8'd1 : out.count;
    made.has_valid    = out.validity && (out.values || out.closes) && made.count != '0;
    made.valid        = out.valid;
    made.valid_buffer = out.row.valid_buffer;
    made.has_outer    = out.outer && out.outer_count != '0;
    made.outer        = out.outer_valid;
    made.outer_buffer = out.outer_buffer;
    made.outer_count  = out.outer_count;
    made.adds         = out.adds;
    made.closes       = out.closes;
    made.counter      = out.counter;
    made.add          = out.add;
  end

  as_fifo #(
      .Width($bits(op_t) + PieceBits),
      .Depth(QueueDepth)
  ) i_queue (
      .clk_i,
      .rst_ni,
      .clr_i,
      .valid_i(out_valid),
      .ready_o(queue_ready),
      .data_i ({made, out_data}),
      .valid_o(op_valid_o),
      .ready_i(op_ready_i),
      .data_o ({op_o, op_data_o})
  );
  // Room for all that is in flight was reserved.
  logic unused;
  assign unused = queue_ready;
  // Two steps may have been made and not counted yet.
  assign room   = open_q < OpenBits'(QueueDepth - 3);

  // The first fault of the converters belongs to the route's record or to an earlier one.
  logic        late_q;
  fault_e      late_code_q;
  logic [31:0] late_rows_q;
  logic        route_done;
  assign route_done   = route_fault || halted_q || (blanks_q == EndBits'(Stages + 1) && route_idle);
  assign done_o       = route_done && !step_valid && !convert_busy && !op_valid_o;
  assign fault_o      = late_q || route_fault;
  assign fault_code_o = late_q ? late_code_q : route_fault ? route_fault_code : FaultNone;
  assign rows_o       = late_q ? late_rows_q : route_rows;
  assign starved_o    = !feed_valid_i && !route_done;
  assign blocked_o    = !room && !route_done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q  <= '0;
      blanks_q <= '0;
      halted_q <= 1'b0;
      late_q   <= 1'b0;
      open_q   <= '0;
    end else if (clr_i) begin
      valid_q  <= '0;
      blanks_q <= '0;
      halted_q <= 1'b0;
      late_q   <= 1'b0;
      open_q   <= '0;
    end else begin
      if (shift) valid_q <= {valid_q[Stages-2:0], 1'b1};
      if (shift && feed_ended_i && blanks_q != EndBits'(Stages + 1)) blanks_q <= blanks_q + 1'b1;
      if (convert_fault) begin
        late_q   <= 1'b1;
        halted_q <= 1'b1;
      end
      open_q <= open_q + OpenBits'(step_valid) - OpenBits'(op_valid_o && op_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (convert_fault && !late_q) begin
      late_code_q <= convert_code;
      late_rows_q <= route_rows - 32'(8'(route_rows[7:0] - convert_record));
    end
  end

endmodule

`default_nettype wire
