// SPDX-License-Identifier: Apache-2.0
// The block protocol ap_ctrl_hs of Vitis kernels in front of a circuit's registers: control and
// interrupts at 0x00, the arguments from 0x10, as the runtime writes them.
//
// | address | |
// |---|---|
// | 0x0000 | bit 0 ap_start, 1 ap_done (a read clears it), 2 ap_idle, 3 ap_ready, 7 auto_restart |
// | 0x0004 | bit 0: interrupts are on |
// | 0x0008 | which events interrupt: bit 0 ap_done, 1 ap_ready |
// | 0x000c | which did; a bit that is written as one is toggled |
// | 0x0010 to 0x0fff | the arguments: a write goes to the register `write_register_i`; read as zero |
// | 0x1000 to 0xefff | the circuit's registers at the same address |
// | 0xf000 to 0xffff | the circuit's registers at 0x0000 to 0x0fff |
//
// ap_start writes 1 to the circuit's register at StartAddress; ap_done follows the next rising edge
// of `done_i`. A circuit takes its inputs until it ends, so that ap_ready comes with ap_done, and
// ap_start is cleared then.
//
// `write_register_i` and `write_known_i` belong to `write_address_o` in the same cycle,
// `read_known_i` to `read_address_o`. Addresses that are not known, and writes of a part of a word,
// get the response SLVERR. A write without strobes has no effect.
//
// Latency: 3 cycles for an access here, 3 more than the circuit's own for one there. One write and
// one read at a time. All AXI outputs come from registers.
//
// Layer: axi.

`include "as_assertions.svh"

`default_nettype none

module as_ap_control #(
    parameter logic [15:0] StartAddress = 16'h0018
) (
    input logic clk_i,
    input logic rst_ni,

    // From the host.
    input  logic        s_aw_valid_i,
    output logic        s_aw_ready_o,
    input  logic [15:0] s_aw_addr_i,
    input  logic        s_w_valid_i,
    output logic        s_w_ready_o,
    input  logic [31:0] s_w_data_i,
    input  logic [ 3:0] s_w_strb_i,
    output logic        s_b_valid_o,
    input  logic        s_b_ready_i,
    output logic [ 1:0] s_b_resp_o,
    input  logic        s_ar_valid_i,
    output logic        s_ar_ready_o,
    input  logic [15:0] s_ar_addr_i,
    output logic        s_r_valid_o,
    input  logic        s_r_ready_i,
    output logic [31:0] s_r_data_o,
    output logic [ 1:0] s_r_resp_o,

    // To the circuit.
    output logic        m_aw_valid_o,
    input  logic        m_aw_ready_i,
    output logic [15:0] m_aw_addr_o,
    output logic        m_w_valid_o,
    input  logic        m_w_ready_i,
    output logic [31:0] m_w_data_o,
    output logic [ 3:0] m_w_strb_o,
    input  logic        m_b_valid_i,
    output logic        m_b_ready_o,
    input  logic [ 1:0] m_b_resp_i,
    output logic        m_ar_valid_o,
    input  logic        m_ar_ready_i,
    output logic [15:0] m_ar_addr_o,
    input  logic        m_r_valid_i,
    output logic        m_r_ready_o,
    input  logic [31:0] m_r_data_i,
    input  logic [ 1:0] m_r_resp_i,

    // The arguments: an address below 0x1000, the circuit's register of it, and whether there is
    // one.
    output logic [15:0] write_address_o,
    input  logic [15:0] write_register_i,
    input  logic        write_known_i,
    output logic [15:0] read_address_o,
    input  logic        read_known_i,

    // The circuit has ended since its last start.
    input  logic done_i,
    output logic interrupt_o
);

  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlaveError = 2'b10;
  localparam logic [3:0] OwnPage = 4'h0;
  localparam logic [3:0] FirstPage = 4'hf;
  // Words of page 0.
  localparam logic [1:0] Control = 2'd0;
  localparam logic [1:0] GlobalEnable = 2'd1;
  localparam logic [1:0] Enable = 2'd2;
  localparam logic [1:0] Status = 2'd3;

  typedef enum logic [1:0] {
    Take,
    Pass,
    Reply
  } step_e;

  // The state of the kernel.
  logic start_q, restart_q, running_q, low_q, done_q, ready_q;
  logic global_q;
  logic [1:0] enable_q, status_q;
  logic interrupt_q;
  logic begins, ends;

  // Writes: taken and not carried out; passed on to the circuit.
  step_e write_q;
  logic aw_ready_q, w_ready_q, b_valid_q;
  logic [15:0] aw_addr_q;
  logic [31:0] w_data_q;
  logic [ 3:0] w_strb_q;
  logic [ 1:0] b_resp_q;
  logic m_aw_valid_q, m_w_valid_q, mine_q;
  logic [15:0] m_aw_addr_q;
  logic [31:0] m_w_data_q;
  logic [ 3:0] m_w_strb_q;
  logic carry, write_own, write_here, write_passes, whole;
  logic [15:0] write_inside;

  // Reads, likewise.
  step_e read_q;
  logic ar_ready_q, r_valid_q, m_ar_valid_q;
  logic [15:0] ar_addr_q, m_ar_addr_q;
  logic [31:0] r_data_q;
  logic [ 1:0] r_resp_q;
  logic look, read_own, read_here, read_passes;
  logic [31:0] value;

  assign s_aw_ready_o    = aw_ready_q;
  assign s_w_ready_o     = w_ready_q;
  assign s_b_valid_o     = b_valid_q;
  assign s_b_resp_o      = b_resp_q;
  assign s_ar_ready_o    = ar_ready_q;
  assign s_r_valid_o     = r_valid_q;
  assign s_r_data_o      = r_data_q;
  assign s_r_resp_o      = r_resp_q;
  assign m_aw_valid_o    = m_aw_valid_q;
  assign m_aw_addr_o     = m_aw_addr_q;
  assign m_w_valid_o     = m_w_valid_q;
  assign m_w_data_o      = m_w_data_q;
  assign m_w_strb_o      = m_w_strb_q;
  assign m_b_ready_o     = write_q == Pass;
  assign m_ar_valid_o    = m_ar_valid_q;
  assign m_ar_addr_o     = m_ar_addr_q;
  assign m_r_ready_o     = read_q == Pass;
  assign write_address_o = aw_addr_q;
  assign read_address_o  = ar_addr_q;
  assign interrupt_o     = interrupt_q;

  // A start goes before the host's next write.
  assign begins          = write_q == Take && start_q && !running_q;
  assign carry           = write_q == Take && !begins && !aw_ready_q && !w_ready_q;
  assign write_own       = aw_addr_q[15:12] == OwnPage;
  assign write_here      = write_own && aw_addr_q[11:4] == '0;
  assign write_passes    = !write_own || (!write_here && write_known_i);
  assign whole           = w_strb_q == '1;

  always_comb begin
    unique case (aw_addr_q[15:12])
      OwnPage:   write_inside = write_register_i;
      FirstPage: write_inside = {4'h0, aw_addr_q[11:0]};
      default:   write_inside = aw_addr_q;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q      <= Take;
      aw_ready_q   <= 1'b1;
      w_ready_q    <= 1'b1;
      b_valid_q    <= 1'b0;
      m_aw_valid_q <= 1'b0;
      m_w_valid_q  <= 1'b0;
      mine_q       <= 1'b0;
    end else begin
      if (carry) aw_ready_q <= 1'b1;
      else if (s_aw_valid_i) aw_ready_q <= 1'b0;
      if (carry) w_ready_q <= 1'b1;
      else if (s_w_valid_i) w_ready_q <= 1'b0;
      if (m_aw_ready_i) m_aw_valid_q <= 1'b0;
      if (m_w_ready_i) m_w_valid_q <= 1'b0;
      unique case (write_q)
        Take: begin
          mine_q <= begins;
          if (begins || (carry && write_passes)) begin
            write_q      <= Pass;
            m_aw_valid_q <= 1'b1;
            m_w_valid_q  <= 1'b1;
          end else if (carry) begin
            write_q   <= Reply;
            b_valid_q <= 1'b1;
          end
        end
        Pass: begin
          if (m_b_valid_i) begin
            write_q   <= mine_q ? Take : Reply;
            b_valid_q <= !mine_q;
          end
        end
        default: begin
          if (s_b_ready_i) begin
            write_q   <= Take;
            b_valid_q <= 1'b0;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_ready_q) aw_addr_q <= s_aw_addr_i;
    if (w_ready_q) begin
      w_data_q <= s_w_data_i;
      w_strb_q <= s_w_strb_i;
    end
    if (write_q == Take) begin
      m_aw_addr_q <= begins ? StartAddress : write_inside;
      m_w_data_q  <= begins ? 32'd1 : w_data_q;
      m_w_strb_q  <= begins ? '1 : w_strb_q;
      b_resp_q    <= write_here && (whole || w_strb_q == '0) ? Okay : SlaveError;
    end else if (write_q == Pass) begin
      b_resp_q <= m_b_resp_i;
    end
  end

  assign look        = read_q == Take && !ar_ready_q;
  assign read_own    = ar_addr_q[15:12] == OwnPage;
  assign read_here   = read_own && ar_addr_q[11:4] == '0;
  assign read_passes = !read_own;

  always_comb begin
    unique case (ar_addr_q[3:2])
      Control:      value = {24'd0, restart_q, 3'd0, ready_q, !start_q && !running_q, done_q, start_q};
      GlobalEnable: value = {31'd0, global_q};
      Enable:       value = {30'd0, enable_q};
      default:      value = {30'd0, status_q};
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q       <= Take;
      ar_ready_q   <= 1'b1;
      r_valid_q    <= 1'b0;
      m_ar_valid_q <= 1'b0;
    end else begin
      if (look) ar_ready_q <= 1'b1;
      else if (s_ar_valid_i) ar_ready_q <= 1'b0;
      if (m_ar_ready_i) m_ar_valid_q <= 1'b0;
      unique case (read_q)
        Take: begin
          if (look) begin
            read_q       <= read_passes ? Pass : Reply;
            m_ar_valid_q <= read_passes;
            r_valid_q    <= !read_passes;
          end
        end
        Pass: begin
          if (m_r_valid_i) begin
            read_q    <= Reply;
            r_valid_q <= 1'b1;
          end
        end
        default: begin
          if (s_r_ready_i) begin
            read_q    <= Take;
            r_valid_q <= 1'b0;
          end
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (ar_ready_q) ar_addr_q <= s_ar_addr_i;
    if (look) begin
      m_ar_addr_q <= ar_addr_q[15:12] == FirstPage ? {4'h0, ar_addr_q[11:0]} : ar_addr_q;
      r_data_q    <= read_here ? value : '0;
      r_resp_q    <= read_here || read_known_i ? Okay : SlaveError;
    end else if (read_q == Pass) begin
      r_data_q <= m_r_data_i;
      r_resp_q <= m_r_resp_i;
    end
  end

  // The circuit's `done_i` of an earlier run stays until the start reaches it.
  assign ends = running_q && low_q && done_i;

  logic written;
  logic [1:0] word;
  assign written = carry && write_here && whole;
  assign word    = aw_addr_q[3:2];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q     <= 1'b0;
      restart_q   <= 1'b0;
      running_q   <= 1'b0;
      low_q       <= 1'b0;
      done_q      <= 1'b0;
      ready_q     <= 1'b0;
      global_q    <= 1'b0;
      enable_q    <= '0;
      status_q    <= '0;
      interrupt_q <= 1'b0;
    end else begin
      if (written && word == Control && w_data_q[0]) start_q <= 1'b1;
      else if (ends) start_q <= restart_q;
      if (written && word == Control) restart_q <= w_data_q[7];
      if (begins) running_q <= 1'b1;
      else if (ends) running_q <= 1'b0;
      if (begins) low_q <= 1'b0;
      else if (!done_i) low_q <= 1'b1;
      if (ends) begin
        done_q  <= 1'b1;
        ready_q <= 1'b1;
      end else if (look && read_here && ar_addr_q[3:2] == Control) begin
        done_q  <= 1'b0;
        ready_q <= 1'b0;
      end
      if (written && word == GlobalEnable) global_q <= w_data_q[0];
      if (written && word == Enable) enable_q <= w_data_q[1:0];
      status_q    <= (status_q ^ (written && word == Status ? w_data_q[1:0] : '0)) | (ends ? enable_q : '0);
      interrupt_q <= global_q && status_q != '0;
    end
  end

  `AS_STREAM_STABLE(s_b, s_b_valid_o, s_b_ready_i, s_b_resp_o, 1'b0)
  `AS_STREAM_STABLE(s_r, s_r_valid_o, s_r_ready_i, {s_r_resp_o, s_r_data_o}, 1'b0)
  `AS_STREAM_STABLE(m_aw, m_aw_valid_o, m_aw_ready_i, m_aw_addr_o, 1'b0)
  `AS_STREAM_STABLE(m_w, m_w_valid_o, m_w_ready_i, {m_w_strb_o, m_w_data_o}, 1'b0)
  `AS_STREAM_STABLE(m_ar, m_ar_valid_o, m_ar_ready_i, m_ar_addr_o, 1'b0)

endmodule

`default_nettype wire
