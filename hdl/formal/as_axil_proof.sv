// SPDX-License-Identifier: Apache-2.0
// Proves for as_axil_slave that every access gets one response, in order, with the register's
// value, and that offered responses do not change.

`default_nettype none

module as_axil_proof (
    input logic        clk_i,
    input logic        aw_valid_i,
    input logic        w_valid_i,
    input logic        b_ready_i,
    input logic        ar_valid_i,
    input logic        r_ready_i,
    input logic [ 3:0] address_i,
    input logic [31:0] data_i,
    input logic [31:0] read_data_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic aw_ready, w_ready, b_valid, ar_ready, r_valid, write, read;
  logic [1:0] b_resp, r_resp;
  logic [31:0] r_data, write_data;
  logic [3:0] write_address, read_address;

  as_axil_slave #(
      .AddressBits(4)
  ) i_slave (
      .clk_i,
      .rst_ni         (rst_n),
      .aw_valid_i     (aw_valid_i),
      .aw_ready_o     (aw_ready),
      .aw_addr_i      (address_i),
      .w_valid_i      (w_valid_i),
      .w_ready_o      (w_ready),
      .w_data_i       (data_i),
      .b_valid_o      (b_valid),
      .b_ready_i      (b_ready_i),
      .b_resp_o       (b_resp),
      .ar_valid_i     (ar_valid_i),
      .ar_ready_o     (ar_ready),
      .ar_addr_i      (address_i),
      .r_valid_o      (r_valid),
      .r_ready_i      (r_ready_i),
      .r_data_o       (r_data),
      .r_resp_o       (r_resp),
      .write_o        (write),
      .write_address_o(write_address),
      .write_data_o   (write_data),
      .read_o         (read),
      .read_address_o (read_address),
      .read_data_i    (read_data_i)
  );

  logic b_kept, r_kept;
  as_stream_rules #(
      .Width(2)
  ) i_b (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(b_valid),
      .ready_i(b_ready_i),
      .data_i (b_resp),
      .kept_o (b_kept)
  );
  as_stream_rules #(
      .Width(34)
  ) i_r (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(r_valid),
      .ready_i(r_ready_i),
      .data_i ({r_resp, r_data}),
      .kept_o (r_kept)
  );

  // Accesses that were taken and not answered, and the register's value at the last read.
  logic [1:0] writes_q = '0;
  logic [1:0] reads_q = '0;
  logic       read_q = 1'b0;
  logic [31:0] said_q = '0;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      writes_q <= writes_q + 2'(aw_valid_i && aw_ready) - 2'(b_valid && b_ready_i);
      reads_q  <= reads_q + 2'(ar_valid_i && ar_ready) - 2'(r_valid && r_ready_i);
      read_q   <= read;
      if (read_q) said_q <= read_data_i;
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (b_kept && r_kept);
      // Address and data of a write are taken together, once each, and the register sees what was
      // taken.
      assert (write == (aw_valid_i && aw_ready) && write == (w_valid_i && w_ready));
      assert (read == (ar_valid_i && ar_ready));
      assert (!write || (write_address == address_i && write_data == data_i));
      assert (!read || read_address == address_i);
      // One response per access: none without an access, immediately for a write, a cycle later for
      // a read.
      assert (writes_q == 2'(b_valid));
      assert (reads_q == 2'(r_valid) + 2'(read_q));
      assert (!r_valid || r_data == said_q);
      assert (!b_valid || b_resp == '0);
    end
  end

endmodule

`default_nettype wire
