// SPDX-License-Identifier: Apache-2.0
// The rules of AXI4-Lite for a subordinate, after the AXI specification, as wires that are high
// while they hold: offers stay until they are taken (A3.2.1), a response follows its request
// (A3.3.1), and there is one for each. The rules for the manager are its sources'
// (`as_stream_source`).

`default_nettype none

module as_axil_rules #(
    parameter int unsigned CountBits = 4
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        aw_valid_i,
    input  logic        aw_ready_i,
    input  logic        w_valid_i,
    input  logic        w_ready_i,
    input  logic        b_valid_i,
    input  logic        b_ready_i,
    input  logic [ 1:0] b_resp_i,
    input  logic        ar_valid_i,
    input  logic        ar_ready_i,
    input  logic        r_valid_i,
    input  logic        r_ready_i,
    input  logic [31:0] r_data_i,
    input  logic [ 1:0] r_resp_i,
    output logic        kept_o
);

  logic b_kept, r_kept;
  as_stream_rules #(
      .Width(2)
  ) i_b (
      .clk_i,
      .rst_ni,
      .valid_i(b_valid_i),
      .ready_i(b_ready_i),
      .data_i (b_resp_i),
      .kept_o (b_kept)
  );
  as_stream_rules #(
      .Width(34)
  ) i_r (
      .clk_i,
      .rst_ni,
      .valid_i(r_valid_i),
      .ready_i(r_ready_i),
      .data_i ({r_resp_i, r_data_i}),
      .kept_o (r_kept)
  );

  // Requests that were taken and not answered.
  logic [CountBits-1:0] aw_q, w_q, ar_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_q <= '0;
      w_q  <= '0;
      ar_q <= '0;
    end else begin
      aw_q <= aw_q + CountBits'(aw_valid_i && aw_ready_i) - CountBits'(b_valid_i && b_ready_i);
      w_q  <= w_q + CountBits'(w_valid_i && w_ready_i) - CountBits'(b_valid_i && b_ready_i);
      ar_q <= ar_q + CountBits'(ar_valid_i && ar_ready_i) - CountBits'(r_valid_i && r_ready_i);
    end
  end

  // The exclusive response is not for AXI4-Lite (B1.1.1).
  assign kept_o = b_kept && r_kept && (!b_valid_i || (aw_q != '0 && w_q != '0 && b_resp_i != 2'b01)) &&
                  (!r_valid_i || (ar_q != '0 && r_resp_i != 2'b01));

endmodule

`default_nettype wire
