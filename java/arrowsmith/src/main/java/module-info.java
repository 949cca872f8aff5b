// SPDX-License-Identifier: Apache-2.0
/** Java objects, JSON and Parquet to Apache Arrow. */
module io.arrowsmith {
  requires transitive org.apache.arrow.c;
  requires transitive org.apache.arrow.memory.core;
  requires transitive org.apache.arrow.vector;
  requires org.objectweb.asm;
  requires jdk.unsupported;

  exports io.arrowsmith;
}
