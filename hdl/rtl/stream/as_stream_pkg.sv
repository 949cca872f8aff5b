// SPDX-License-Identifier: Apache-2.0
// The stream convention of this library, after the Tydi specification, and small functions for all
// modules.
//
// A stream is `valid`, `ready` and a payload; a transfer happens in a cycle in which both are high.
//   1. `valid` never waits for `ready`.
//   2. Once `valid` is high, it and the payload hold until the transfer.
//   3. `ready` may depend on `valid` and may fall at any time.
// In the terms of Tydi: a byte stream has N lanes of 8 bits, dimensionality 1 (one sequence is one
// message), `last` with the transfer that ends the message, lanes filled from 0 without gaps (stai
// is 0, endi is count - 1) in every transfer but the last, and no transfer postponed once offered:
// complexity level 4. An empty message is one transfer with strobes of zero. Lane 0 is the byte
// with the lowest address. Modules assert the second rule with the macros of as_assertions.svh.
//
// Layer: below everything. Holds no logic of its own.

`default_nettype none

package as_stream_pkg;

  // Bits that count to n - 1, at least one.
  function automatic int unsigned index_bits(input int unsigned n);
    return n <= 1 ? 1 : $clog2(n);
  endfunction

  // Bits that hold the value n.
  function automatic int unsigned count_bits(input int unsigned n);
    return $clog2(n + 1);
  endfunction

  // Round-robin arbitration, one bit per requester: the first of those whose turn is still to come
  // in this round, else the first. A requester waits for at most one turn of each of the others.
  function automatic logic [63:0] in_turn(input logic [63:0] wants, input logic [63:0] to_come);
    logic [63:0] late;
    late = wants & to_come;
    return late != '0 ? late & (~late + 1'b1) : wants & (~wants + 1'b1);
  endfunction

  // The requesters whose turn is still to come after that one.
  function automatic logic [63:0] after(input logic [63:0] one);
    return ~(one | (one - 1'b1));
  endfunction

endpackage

`default_nettype wire
