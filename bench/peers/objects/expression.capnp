# SPDX-License-Identifier: Apache-2.0
# The paper's tree for Cap'n Proto.
@0xb5c1f6a3d2e4971c;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("with_capnp");

struct Node {
  union {
    literal @0 :Int32;
    operation :group {
      left @1 :Node;
      right @2 :Node;
      type @3 :UInt8;
    }
  }
}
