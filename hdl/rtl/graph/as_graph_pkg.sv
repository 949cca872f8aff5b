// SPDX-License-Identifier: Apache-2.0
// Shared by the modules of the object-graph circuit: fault codes, the same numbers as in the
// software (docs/design/0004-object-graphs.md), and the reserved object id.
//
// Layer: graph.

`default_nettype none

package as_graph_pkg;

  typedef enum logic [3:0] {
    Good             = 4'd0,
    Truncated        = 4'd1,
    TrailingBytes    = 4'd2,
    NoObjects        = 4'd3,
    TooManyObjects   = 4'd4,
    UnknownType      = 4'd5,
    WrongType        = 4'd6,
    IdOutOfRange     = 4'd7,
    NullReference    = 4'd8,
    ValueOutOfRange  = 4'd9,
    RegionTooSmall   = 4'd10,
    BadHeader        = 4'd12,
    WrongLayout      = 4'd13,
    BadRegion        = 4'd14,
    // The memory refused an access; not an error of the message.
    BusError         = 4'd15
  } code_e;

  // A reference to no object.
  localparam logic [31:0] NullId = 32'hffff_ffff;

  // The header: `ASOG`, version 1, 20 bytes long.
  localparam logic [31:0] HeaderMagic = 32'h474f_5341;
  localparam logic [15:0] HeaderVersion = 16'd1;
  localparam logic [15:0] HeaderBytes = 16'd20;

endpackage

`default_nettype wire
