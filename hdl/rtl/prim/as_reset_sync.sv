// SPDX-License-Identifier: Apache-2.0
// A reset for the circuit from one that may come from another clock: it begins at once and ends at
// a clock edge, so that all registers leave it in the same cycle.
//
// Latency of the end: Stages cycles. The registers are marked for synthesis as those of a
// synchronizer.
//
// Layer: prim.

`default_nettype none

module as_reset_sync #(
    parameter int unsigned Stages = 3
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic rst_no
);

  (* ASYNC_REG = "TRUE" *)
  logic [Stages-2:0] stage_q;
  (* ASYNC_REG = "TRUE" *)
  logic rst_q;

  assign rst_no = rst_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stage_q <= '0;
      rst_q   <= 1'b0;
    end else begin
      stage_q <= (Stages - 1)'({stage_q, 1'b1});
      rst_q   <= stage_q[Stages-2];
    end
  end

endmodule

`default_nettype wire
