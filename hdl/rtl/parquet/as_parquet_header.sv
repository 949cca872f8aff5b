// SPDX-License-Identifier: Apache-2.0
// The metadata interpreter: parses a page header, Thrift compact protocol, one byte per cycle.
//
// After `start_i` it takes bytes until the header's end; `done_o` is high for one cycle, with
// `fault_o` if the header is malformed: a varint of more than 5 bytes (10 in skipped fields), a
// list or a map, structures nested deeper than 4, sizes or counts missing or negative. Statistics
// and unknown fields are skipped.
//
// Latency: 1 cycle after the last byte. Throughput: one byte per cycle.
//
// Layer: parquet.

`default_nettype none

module as_parquet_header (
    input logic clk_i,
    input logic rst_ni,
    input logic clr_i,

    input  logic       start_i,
    input  logic       valid_i,
    output logic       take_o,
    input  logic [7:0] byte_i,

    output logic                  done_o,
    output logic                  fault_o,
    // A kind of page to be skipped.
    output logic                  other_o,
    output as_parquet_pkg::page_e kind_o,
    output logic [31:0]           encoding_o,
    output logic [31:0]           count_o,
    output logic [31:0]           uncompressed_o,
    output logic [31:0]           compressed_o,
    output logic [31:0]           definition_bytes_o,
    output logic [31:0]           repetition_bytes_o,
    output logic                  is_compressed_o
);

  typedef enum logic [2:0] {
    Idle,
    Field,
    Id,
    Varint,
    Size,
    Skip,
    Done
  } state_e;

  localparam logic [3:0] TypeTrue = 4'd1;
  localparam logic [3:0] TypeFalse = 4'd2;
  localparam logic [3:0] TypeByte = 4'd3;
  localparam logic [3:0] TypeI16 = 4'd4;
  localparam logic [3:0] TypeI32 = 4'd5;
  localparam logic [3:0] TypeI64 = 4'd6;
  localparam logic [3:0] TypeDouble = 4'd7;
  localparam logic [3:0] TypeBinary = 4'd8;
  localparam logic [3:0] TypeStruct = 4'd12;
  localparam logic [3:0] TypeUuid = 4'd13;

  state_e       state_q;
  logic         fault_q;
  logic [  2:0] depth_q;
  // The previous field id, of the header and of the structure in it.
  logic [ 15:0] outer_q;
  logic [ 15:0] inner_q;
  logic [  3:0] type_q;
  logic [ 34:0] value_q;
  logic [  3:0] length_q;
  logic [ 31:0] skip_q;
  // The current structure: field 5, 7 or 8 of the header; others are skipped.
  logic [  3:0] struct_q;

  logic         has_kind_q;
  logic [ 31:0] code_q;
  logic [  7:0] has_q;
  logic [ 31:0] number_q[7];
  logic         has_uncompressed_q;
  logic         has_compressed_q;
  logic [  3:0] found_q;

  logic [ 15:0] id;
  logic [ 15:0] last_id;
  logic [ 34:0] value;
  logic [ 31:0] zigzag;
  logic         ends;

  assign take_o  = state_q inside {Field, Id, Varint, Size, Skip};
  assign last_id = depth_q == 3'd0 ? outer_q : inner_q;
  assign id      = last_id + 16'(byte_i[7:4]);
  assign ends    = !byte_i[7];
  assign zigzag  = (value[32:1] & 32'h7fffffff) ^ {32{value[0]}};

  always_comb begin
    value = value_q;
    for (int unsigned k = 0; k < 5; k++) begin
      if (length_q == 4'(k)) value[k*7+:7] = byte_i[6:0];
    end
  end

  // The field that is being read is number `current`, at this depth.
  logic [15:0] current_q;

  function automatic state_e after(input logic [3:0] kind);
    unique case (kind)
      TypeTrue, TypeFalse, TypeStruct:     after = Field;
      TypeByte, TypeDouble, TypeUuid:      after = Skip;
      TypeI16, TypeI32, TypeI64:           after = Varint;
      TypeBinary:                          after = Size;
      default:                             after = Done;
    endcase
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      fault_q <= 1'b0;
    end else if (clr_i) begin
      state_q <= Idle;
      fault_q <= 1'b0;
    end else begin
      unique case (state_q)
        // These values stay until the next start.
        Idle, Done:
        if (start_i) begin
          state_q <= Field;
          fault_q <= 1'b0;
        end
        Field:
        if (valid_i) begin
          if (byte_i[3:0] == 4'd0) begin
            // A stop: the structure ends.
            if (depth_q == 3'd0) state_q <= Done;
          end else if (byte_i[7:4] == 4'd0) begin
            state_q <= Id;
          end else begin
            state_q <= after(byte_i[3:0]);
            fault_q <= after(byte_i[3:0]) == Done || (byte_i[3:0] == TypeStruct && depth_q == 3'd4);
            if (byte_i[3:0] == TypeStruct && depth_q == 3'd4) state_q <= Done;
          end
        end
        Id:
        if (valid_i) begin
          if (ends) begin
            state_q <= after(type_q);
            fault_q <= after(type_q) == Done || (type_q == TypeStruct && depth_q == 3'd4);
            if (type_q == TypeStruct && depth_q == 3'd4) state_q <= Done;
          end else if (length_q == 4'd2) begin
            state_q <= Done;
            fault_q <= 1'b1;
          end
        end
        Varint:
        if (valid_i) begin
          if (ends) begin
            state_q <= Field;
            // 32 bits have at most 4 in the fifth byte.
            if (type_q == TypeI32 && (length_q > 4'd4 || (length_q == 4'd4 && byte_i[6:4] != '0))) begin
              state_q <= Done;
              fault_q <= 1'b1;
            end
          end else if (length_q == 4'd9) begin
            state_q <= Done;
            fault_q <= 1'b1;
          end
        end
        Size:
        if (valid_i) begin
          if (ends) begin
            state_q <= value[31:0] == '0 ? Field : Skip;
            if (length_q > 4'd4 || value[34:31] != '0) begin
              state_q <= Done;
              fault_q <= 1'b1;
            end
          end else if (length_q == 4'd4) begin
            state_q <= Done;
            fault_q <= 1'b1;
          end
        end
        Skip:    if (valid_i && skip_q == 32'd1) state_q <= Field;
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle || start_i) begin
      depth_q            <= '0;
      outer_q            <= '0;
      inner_q            <= '0;
      struct_q           <= '0;
      has_kind_q         <= 1'b0;
      has_q              <= '0;
      has_uncompressed_q <= 1'b0;
      has_compressed_q   <= 1'b0;
      found_q            <= '0;
      is_compressed_o    <= 1'b1;
    end else if (valid_i && take_o) begin
      length_q <= length_q + 4'd1;
      value_q  <= value;
      if (state_q == Field || (state_q == Id && ends)) begin
        length_q <= '0;
        value_q  <= '0;
      end
      if (state_q == Field) begin
        type_q <= byte_i[3:0];
        skip_q <= byte_i[3:0] == TypeByte ? 32'd1 : byte_i[3:0] == TypeDouble ? 32'd8 : 32'd16;
        if (byte_i[3:0] == 4'd0) begin
          depth_q <= depth_q - 3'd1;
        end else if (byte_i[7:4] != 4'd0) begin
          begin_field(byte_i[3:0], id);
        end
      end
      if (state_q == Id && ends) begin_field(type_q, {2'b00, value[14:1]} & 16'h3fff);
      if (state_q == Varint && ends) begin
        if (depth_q == 3'd0 && type_q == TypeI32) begin
          unique case (current_q)
            16'd1: begin
              code_q     <= zigzag;
              has_kind_q <= 1'b1;
            end
            16'd2: begin
              uncompressed_o     <= zigzag;
              has_uncompressed_q <= !zigzag[31];
            end
            16'd3: begin
              compressed_o     <= zigzag;
              has_compressed_q <= !zigzag[31];
            end
            default: ;
          endcase
        end
        if (depth_q == 3'd1 && type_q == TypeI32 && struct_q != '0 && current_q >= 16'd1 && current_q <= 16'd6) begin
          number_q[3'(current_q)] <= zigzag;
          has_q[3'(current_q)]    <= !zigzag[31];
        end
      end
      if (state_q == Size) skip_q <= value[31:0];
      if (state_q == Skip) skip_q <= skip_q - 32'd1;
    end
  end

  // Types that begin with a field's header.
  task automatic begin_field(input logic [3:0] kind, input logic [15:0] number);
    current_q <= number;
    if (depth_q == 3'd0) outer_q <= number;
    else if (depth_q == 3'd1) inner_q <= number;
    if (kind == TypeStruct) begin
      depth_q <= depth_q + 3'd1;
      if (depth_q == 3'd0) begin
        inner_q  <= '0;
        struct_q <= number == 16'd5 || number == 16'd7 || number == 16'd8 ? 4'(number) : '0;
        if (number == 16'd5 || number == 16'd7 || number == 16'd8) begin
          found_q <= 4'(number);
          has_q   <= '0;
          is_compressed_o <= 1'b1;
        end
      end
    end
    if (depth_q == 3'd1 && struct_q != '0 && number == 16'd7 && (kind == TypeTrue || kind == TypeFalse)) begin
      is_compressed_o <= kind == TypeTrue;
    end
  endtask

  assign kind_o             = found_q == 4'd8 ? as_parquet_pkg::PageV2 :
                              found_q == 4'd7 ? as_parquet_pkg::PageDictionary : as_parquet_pkg::PageV1;
  assign count_o            = number_q[1];
  assign encoding_o         = found_q == 4'd8 ? number_q[4] : number_q[2];
  assign definition_bytes_o = number_q[5];
  assign repetition_bytes_o = number_q[6];
  assign done_o             = state_q == Done;

  logic whole;
  always_comb begin
    other_o = 1'b0;
    unique case (code_q)
      32'd0:   whole = found_q == 4'd5 && has_q[1] && has_q[2];
      32'd2:   whole = found_q == 4'd7 && has_q[1] && has_q[2];
      32'd3:   whole = found_q == 4'd8 && has_q[1] && has_q[2] && has_q[3] && has_q[4] && has_q[5] && has_q[6];
      default: begin
        whole   = 1'b1;
        other_o = 1'b1;
      end
    endcase
  end
  assign fault_o = fault_q || !has_kind_q || !has_uncompressed_q || !has_compressed_q || !whole;

  logic unused;
  assign unused = ^{has_q[7], has_q[0]};

endmodule

`default_nettype wire
