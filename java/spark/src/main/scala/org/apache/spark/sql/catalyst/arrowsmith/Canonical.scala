// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.catalyst.arrowsmith

import org.apache.spark.sql.catalyst.json.{JSONOptions, JsonInferSchema}
import org.apache.spark.sql.types.{DataType, StructType}

/** The last step of Spark's inference. In Spark's package, because it is only visible there. */
object Canonical {

  /** The schema for the type of all records, without empty structs and types that are null. */
  def schema(inferred: DataType, inference: JsonInferSchema, options: JSONOptions): StructType =
    inference.canonicalizeType(inferred, options) match {
      case Some(struct: StructType) => struct
      case _ => StructType(Nil)
    }
}
