// SPDX-License-Identifier: Apache-2.0
// Record accounting: the number of records, the length of the last one, and where the first record
// starts that is not taken.
//
// Whether a record is too long is known a cycle after its end: the work done since then is
// discarded.
//
// Layer: json.

`default_nettype none

module as_json_account
  import as_json_pkg::*;
#(
    parameter int unsigned W = 8
) (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input logic [31:0] record_bytes_max_i,

    // The route makes a step; it finishes the beat; a record ends, at a lane of the beat or after a
    // prediction that begins there.
    input logic       active_i,
    input logic       advance_i,
    input logic       record_end_i,
    input logic       jump_i,
    input logic [7:0] stop_i,
    input logic [7:0] length_i,
    // The fault, and its lane.
    input fault_e     fault_i,
    input logic [7:0] fault_lane_i,

    output logic        too_long_o,
    output logic        ended_o,
    output logic        faulted_o,
    output fault_e      fault_o,
    output logic [63:0] position_o,
    output logic [31:0] rows_o
);

  logic [31:0] rows_q;
  logic [63:0] base_q, position_q;
  // The bytes of the record before the beat: full beats, less the bytes of the first one that
  // precede the record. A run has less than 2^33 bytes.
  logic [33:0] used_q;
  logic [8:0] before_q;
  // Of the record that has just ended: up to the lane of its end, plus the prediction after it.
  logic signed [33:0] length_q;
  logic [7:0] more_q;
  logic ended_q, faulted_q, too_long;
  fault_e fault_q;

  assign too_long   = ended_q && length_q + $signed({26'd0, more_q}) > $signed({2'b00, record_bytes_max_i});
  assign too_long_o = too_long;
  assign ended_o    = ended_q;
  assign faulted_o  = faulted_q;
  assign fault_o    = fault_q;
  assign position_o = position_q;
  assign rows_o     = rows_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rows_q    <= '0;
      base_q    <= '0;
      used_q    <= '0;
      before_q  <= '0;
      ended_q   <= 1'b0;
      faulted_q <= 1'b0;
    end else if (clr_i) begin
      rows_q    <= '0;
      base_q    <= '0;
      used_q    <= '0;
      before_q  <= '0;
      ended_q   <= 1'b0;
      faulted_q <= 1'b0;
    end else begin
      if (active_i) begin
        if (record_end_i) begin
          rows_q   <= rows_q + 1'b1;
          used_q   <= advance_i ? 34'(W) : '0;
          before_q <= 9'(stop_i) + (jump_i ? 9'(length_i) : 9'd1);
        end else if (advance_i) used_q <= used_q + 34'(W);
        if (advance_i) base_q <= base_q + 64'(W);
      end
      ended_q <= active_i && record_end_i && !too_long;
      if (active_i && fault_i != FaultNone || too_long) faulted_q <= 1'b1;
      if (ended_q && (faulted_q || too_long)) rows_q <= rows_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (active_i) begin
      length_q <= used_q - 34'(before_q) + 34'(stop_i);
      more_q   <= jump_i ? length_i : '0;
      if (fault_i != FaultNone) begin
        fault_q    <= fault_i;
        position_q <= base_q + 64'(fault_lane_i);
      end
    end
    if (too_long && !faulted_q) begin
      fault_q    <= FaultLong;
      position_q <= base_q;
    end
  end

endmodule

`default_nettype wire
