// SPDX-License-Identifier: Apache-2.0
// Proves for as_graph_regs that requests submitted while there is room come out with the registers'
// values, in order, each once, and do not change while offered; that answers are read in order of
// arrival, each until it is dropped; that the status reports answers and room correctly; and that a
// requested vtable pointer is the one written last.
//
// Tracks one arbitrary request, answer and slot, once all of their words were written. Five bits of
// each word are checked, including the sign.

`default_nettype none

module as_graph_regs_proof (
    input logic       clk_i,
    input logic       write_i,
    input logic [5:0] write_word_i,
    input logic [4:0] write_data_i,
    input logic       read_i,
    input logic [5:0] read_word_i,
    input logic       request_ready_i,
    input logic       response_valid_i,
    input logic [6:0] response_i,
    input logic       vptr_read_i,
    input logic       vptr_slot_i,
    input logic       slot_i,
    input logic [1:0] pick_i
);

  localparam int unsigned Depth = 2;

  function automatic logic [31:0] spread(input logic [4:0] few);
    return {few[4], 27'd0, few[3:0]};
  endfunction

  logic rst_n = 1'b0;
  logic slot_q = 1'b0;
  always_ff @(posedge clk_i) begin
    rst_n <= 1'b1;
    if (!rst_n) slot_q <= slot_i;
  end

  logic write, read;
  logic [11:0] write_address, read_address;
  assign write         = rst_n && write_i;
  assign read          = rst_n && read_i;
  assign write_address = {4'd0, write_word_i, 2'b00};
  assign read_address  = {4'd0, read_word_i, 2'b00};

  logic request_valid, header, response_valid, response_ready, write_known, read_known;
  logic [6:0] response;
  logic [31:0] read_data, length, capacity, tag;
  logic [63:0] message, region, vptr;
  as_stream_source #(
      .Width(7)
  ) i_responses (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(response_valid_i),
      .data_i (response_i),
      .ready_i(response_ready),
      .valid_o(response_valid),
      .data_o (response)
  );
  // The words of an answer all differ.
  as_graph_regs #(
      .PointerBits(64),
      .Depth      (Depth)
  ) i_regs (
      .clk_i,
      .rst_ni             (rst_n),
      .write_i            (write),
      .write_address_i    (write_address),
      .write_data_i       (spread(write_data_i)),
      .write_known_o      (write_known),
      .read_i             (read),
      .read_address_i     (read_address),
      .read_data_o        (read_data),
      .read_known_o       (read_known),
      .request_valid_o    (request_valid),
      .request_ready_i    (request_ready_i),
      .request_message_o  (message),
      .request_length_o   (length),
      .request_header_o   (header),
      .request_region_o   (region),
      .request_capacity_o (capacity),
      .request_tag_o      (tag),
      .response_valid_i   (response_valid),
      .response_ready_o   (response_ready),
      .response_tag_i     ({24'd1, 1'b0, response}),
      .response_code_i    (response[3:0]),
      .response_position_i({24'd2, 1'b0, response}),
      .response_objects_i ({24'd3, 1'b0, response}),
      .response_bytes_i   ({24'd4, 1'b0, response}),
      .response_cycles_i  ({24'd5, 1'b0, response}),
      .vptr_read_i        (vptr_read_i),
      .vptr_slot_i        (vptr_slot_i),
      .vptr_o             (vptr)
  );

  // What was written, word by word, and which words were.
  logic [7:0] written_q = '0;
  logic low_written_q = 1'b0, slot_written_q = 1'b0;
  logic [4:0] words_q[8];
  logic [4:0] low_q;
  logic slot_now_q;
  always_ff @(posedge clk_i) begin
    if (write && write_address >= 12'h030 && write_address < 12'h050) begin
      words_q[write_word_i[2:0]-3'd4]   <= write_data_i;
      written_q[write_word_i[2:0]-3'd4] <= 1'b1;
    end
    if (write && write_address == 12'h080) begin
      slot_now_q     <= write_data_i[0];
      slot_written_q <= 1'b1;
    end
    if (write && write_address == 12'h084) begin
      low_q         <= write_data_i;
      low_written_q <= 1'b1;
    end
  end

  // Requests: how many wait, how many are before the tracked one, and its value.
  logic submit, request_taken, follow_q = 1'b0, request_kept;
  logic [1:0] requests_q = '0, before_q = '0;
  logic [35:0] wanted_q;
  logic [224:0] request, wanted;
  assign submit        = write && write_address == 12'h020 && write_data_i[0] && requests_q != 2'(Depth);
  assign request_taken = rst_n && request_valid && request_ready_i;
  assign request       = {message, length, header, region, capacity, tag};
  assign wanted = {
    spread(wanted_q[9:5]),
    spread(wanted_q[4:0]),
    spread(wanted_q[14:10]),
    wanted_q[35],
    spread(wanted_q[24:20]),
    spread(wanted_q[19:15]),
    spread(wanted_q[29:25]),
    spread(wanted_q[34:30])
  };
  as_stream_rules #(
      .Width(225)
  ) i_request (
      .clk_i,
      .rst_ni (rst_n),
      .valid_i(request_valid),
      .ready_i(request_ready_i),
      .data_i (request),
      .kept_o (request_kept)
  );
  always_ff @(posedge clk_i) begin
    requests_q <= requests_q + 2'(submit) - 2'(request_taken);
    if (submit && pick_i[0] && !follow_q && (written_q | 8'h08) == '1) begin
      follow_q <= 1'b1;
      before_q <= requests_q - 2'(request_taken);
      wanted_q <= {write_data_i[2], words_q[7], words_q[6], words_q[5], words_q[4], words_q[2], words_q[1], words_q[0]};
    end else if (follow_q && request_taken) begin
      before_q <= before_q - 1'b1;
      if (before_q == '0) follow_q <= 1'b0;
    end
  end

  // Answers: the same.
  logic came, drop, follow_answer_q = 1'b0;
  logic [1:0] answers_q = '0, before_answer_q = '0;
  logic [6:0] answer_q;
  assign came = response_valid && response_ready;
  assign drop = write && write_address == 12'h020 && write_data_i[1] && answers_q != '0;
  always_ff @(posedge clk_i) begin
    answers_q <= answers_q + 2'(came) - 2'(drop);
    if (came && pick_i[1] && !follow_answer_q) begin
      follow_answer_q <= 1'b1;
      before_answer_q <= answers_q - 2'(drop);
      answer_q        <= response;
    end else if (follow_answer_q && drop) begin
      before_answer_q <= before_answer_q - 1'b1;
      if (before_answer_q == '0) follow_answer_q <= 1'b0;
    end
  end

  // The addresses of the map: those that are written, and all.
  logic write_in_map, read_in_map, read_was_in_map_q, asked_known_q = 1'b0;
  function automatic logic is_written(input logic [11:0] address);
    return address == 12'h020 || (address >= 12'h030 && address < 12'h050 && address != 12'h03c) ||
           (address >= 12'h080 && address < 12'h08c);
  endfunction
  assign write_in_map = is_written(write_address);
  assign read_in_map = is_written(read_address) || read_address < 12'h01c || read_address == 12'h024 ||
                       (read_address >= 12'h060 && read_address < 12'h078);
  always_ff @(posedge clk_i) begin
    if (read) begin
      asked_known_q     <= 1'b1;
      read_was_in_map_q <= read_in_map;
    end
  end

  // The result of a read is in the register a cycle later, and stays.
  logic known_q = 1'b0;
  logic [31:0] said_q;
  always_ff @(posedge clk_i) begin
    if (read) begin
      known_q <= 1'b1;
      unique case (read_address)
        12'h000: said_q <= 32'h5247_5341;
        12'h004: said_q <= 32'd1;
        12'h008, 12'h00c: said_q <= '0;
        12'h010: said_q <= 32'd1024;
        12'h014: said_q <= 32'd2;
        12'h018: said_q <= 32'd16;
        12'h024: said_q <= {30'd0, requests_q == 2'(Depth), answers_q != '0};
        12'h060: said_q <= {24'd1, 1'b0, answer_q};
        12'h064: said_q <= {28'd0, answer_q[3:0]};
        12'h068: said_q <= {24'd2, 1'b0, answer_q};
        12'h06c: said_q <= {24'd3, 1'b0, answer_q};
        12'h070: said_q <= {24'd4, 1'b0, answer_q};
        12'h074: said_q <= {24'd5, 1'b0, answer_q};
        default: said_q <= '0;
      endcase
      // Of a tracked answer, or of none.
      if (read_address >= 12'h060 && read_address < 12'h078 && !(follow_answer_q && before_answer_q == '0)) known_q <= 1'b0;
    end
  end

  // The pointer of the slot, and the last value requested, if from that slot.
  logic pointer_write, stored_q = 1'b0, asked_q = 1'b0;
  logic [9:0] pointer_q;
  logic [63:0] asked_pointer_q;
  assign pointer_write = write && write_address == 12'h088 && (!slot_written_q || slot_now_q == slot_q);
  always_ff @(posedge clk_i) begin
    if (pointer_write) begin
      stored_q  <= slot_written_q && low_written_q;
      pointer_q <= {write_data_i, low_q};
    end
    if (vptr_read_i) begin
      asked_q         <= stored_q && vptr_slot_i == slot_q;
      asked_pointer_q <= {spread(pointer_q[9:5]), spread(pointer_q[4:0])};
    end
  end

  always_comb begin
    if (rst_n) begin
      assert (request_kept && request_valid == (requests_q != '0) && response_ready == (answers_q != 2'(Depth)));
      if (follow_q && before_q == '0) assert (request == wanted);
      if (known_q) assert (read_data == said_q);
      assert (write_known == write_in_map);
      if (asked_known_q) assert (read_known == read_was_in_map_q);
      if (asked_q) assert (vptr == asked_pointer_q);
    end
  end

endmodule

`default_nettype wire
