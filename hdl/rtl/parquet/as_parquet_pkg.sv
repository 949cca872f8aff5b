// SPDX-License-Identifier: Apache-2.0
// Codes of faults and of encodings in the Parquet circuits; arrowsmith-rtlgen and the drivers use
// the same numbers.
//
// Layer: parquet.

`default_nettype none

package as_parquet_pkg;

  typedef enum logic [7:0] {
    FaultNone       = 8'd0,
    FaultMemory     = 8'd1,   // the memory refused an access
    FaultCapacity   = 8'd2,   // a buffer is full
    FaultOffsets    = 8'd3,   // offsets exceed 31 bits
    FaultAborted    = 8'd4,   // the host gave up
    FaultHeader     = 8'd64,  // a page header is malformed
    FaultPage       = 8'd65,  // a page is longer than its chunk, or its parts than the page
    FaultEncoding   = 8'd66,  // an encoding or a kind of page that this circuit does not support
    FaultLevels     = 8'd67,  // levels are malformed or end early
    FaultLevelsMany = 8'd68,  // the levels of a page do not fit into this circuit
    FaultValues     = 8'd69,  // values end early
    FaultDelta      = 8'd70,  // a header of DELTA_BINARY_PACKED is malformed
    FaultIndex      = 8'd71,  // an index beyond the dictionary
    FaultDictionary = 8'd72,  // a dictionary that is missing, malformed or does not fit into this circuit
    FaultSnappy     = 8'd73,  // compressed bytes are malformed, or need more history than this circuit has
    FaultCount      = 8'd74,  // more or fewer values than the chunk promised
    FaultLength     = 8'd75   // a length that is negative or beyond the page
  } fault_e;

  typedef enum logic [1:0] {
    PageV1         = 2'd0,
    PageDictionary = 2'd1,
    PageV2         = 2'd2
  } page_e;

  // As in the format's specification.
  localparam logic [3:0] EncodingPlain = 4'd0;
  localparam logic [3:0] EncodingPlainDictionary = 4'd2;
  localparam logic [3:0] EncodingDelta = 4'd5;
  localparam logic [3:0] EncodingDeltaLength = 4'd6;
  localparam logic [3:0] EncodingDictionary = 4'd8;

  typedef struct packed {
    page_e       kind;
    logic [3:0]  encoding;
    logic [31:0] count;             // values, nulls included
    logic [31:0] bytes;             // of the page after decompression
    logic [31:0] definition_bytes;  // PageV2 only
    logic [31:0] position;          // of the page's header in the chunk
    logic [5:0]  offset;            // of its first byte in its first beat
  } page_t;

endpackage

`default_nettype wire
