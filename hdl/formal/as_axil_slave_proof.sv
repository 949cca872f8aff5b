// SPDX-License-Identifier: Apache-2.0
// Proves for as_axil_slave the rules of AXI4-Lite, with address and data of a write in any order;
// that the register bus sees each access once, as it was taken, and a write only if all of its
// bytes are strobed and its address is known; and that the response is the register's value and
// tells unknown addresses and partial writes.

`default_nettype none

module as_axil_slave_proof (
    input logic        clk_i,
    input logic        aw_valid_i,
    input logic        w_valid_i,
    input logic        b_ready_i,
    input logic        ar_valid_i,
    input logic        r_ready_i,
    input logic [ 3:0] aw_addr_i,
    input logic [ 3:0] ar_addr_i,
    input logic [31:0] data_i,
    input logic [ 3:0] strb_i,
    input logic [31:0] read_data_i,
    input logic        write_known_i,
    input logic        read_known_i
);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic aw_ready, w_ready, b_valid, ar_ready, r_valid, write, read, kept;
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
      .aw_addr_i      (aw_addr_i),
      .w_valid_i      (w_valid_i),
      .w_ready_o      (w_ready),
      .w_data_i       (data_i),
      .w_strb_i       (strb_i),
      .b_valid_o      (b_valid),
      .b_ready_i      (b_ready_i),
      .b_resp_o       (b_resp),
      .ar_valid_i     (ar_valid_i),
      .ar_ready_o     (ar_ready),
      .ar_addr_i      (ar_addr_i),
      .r_valid_o      (r_valid),
      .r_ready_i      (r_ready_i),
      .r_data_o       (r_data),
      .r_resp_o       (r_resp),
      .write_o        (write),
      .write_address_o(write_address),
      .write_data_o   (write_data),
      .write_known_i  (write_known_i),
      .read_o         (read),
      .read_address_o (read_address),
      .read_data_i    (read_data_i),
      .read_known_i   (read_known_i)
  );

  as_axil_rules i_rules (
      .clk_i,
      .rst_ni    (rst_n),
      .aw_valid_i(aw_valid_i),
      .aw_ready_i(aw_ready),
      .w_valid_i (w_valid_i),
      .w_ready_i (w_ready),
      .b_valid_i (b_valid),
      .b_ready_i (b_ready_i),
      .b_resp_i  (b_resp),
      .ar_valid_i(ar_valid_i),
      .ar_ready_i(ar_ready),
      .r_valid_i (r_valid),
      .r_ready_i (r_ready_i),
      .r_data_i  (r_data),
      .r_resp_i  (r_resp),
      .kept_o    (kept)
  );

  // What was taken and has not reached the register bus, and what the bus said.
  logic aw_q = 1'b0, w_q = 1'b0, ar_q = 1'b0, read_q = 1'b0, answers_q = 1'b0;
  logic [3:0] aw_addr_q, ar_addr_q, strb_q;
  logic [31:0] data_q, said_q;
  logic [ 1:0] b_resp_q, r_resp_q;
  logic        carried;
  // A write without strobes, or with some, is carried out by its response alone.
  assign carried = aw_q && w_q && !answers_q;
  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      if (aw_valid_i && aw_ready) begin
        aw_q      <= 1'b1;
        aw_addr_q <= aw_addr_i;
      end else if (carried) aw_q <= 1'b0;
      if (w_valid_i && w_ready) begin
        w_q    <= 1'b1;
        data_q <= data_i;
        strb_q <= strb_i;
      end else if (carried) w_q <= 1'b0;
      if (carried) begin
        answers_q <= 1'b1;
        b_resp_q  <= write_known_i && (strb_q == '1 || strb_q == '0) ? 2'b00 : 2'b10;
      end else if (b_ready_i) answers_q <= 1'b0;
      if (ar_valid_i && ar_ready) begin
        ar_q      <= 1'b1;
        ar_addr_q <= ar_addr_i;
      end else if (read) ar_q <= 1'b0;
      read_q <= read;
      if (read_q) begin
        said_q   <= read_data_i;
        r_resp_q <= read_known_i ? 2'b00 : 2'b10;
      end
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (kept);
      assert (aw_ready == !aw_q && w_ready == !w_q && ar_ready == !ar_q);
      assert (write == (carried && write_known_i && strb_q == '1));
      assert (!write || (write_address == aw_addr_q && write_data == data_q));
      assert (b_valid == answers_q && (!b_valid || b_resp == b_resp_q));
      assert (!read || (ar_q && !read_q && read_address == ar_addr_q));
      assert (!r_valid || (r_data == said_q && r_resp == r_resp_q));
    end
  end

endmodule

`default_nettype wire
