// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator

/**
 * How records were read, on the page of a stage in Spark's UI.
 *
 * @param millis time in the engine, of all tasks
 * @param refused records that the engine refused, which Spark's parser read
 * @param splits splits of which the engine refused most records, so that Spark read their rest
 */
private final case class Counters(
    millis: LongAccumulator,
    refused: LongAccumulator,
    splits: LongAccumulator)

private object Counters {
  def apply(context: SparkContext): Counters = Counters(
    context.longAccumulator("Arrowsmith: ms in the engine"),
    context.longAccumulator("Arrowsmith: records left to Spark"),
    context.longAccumulator("Arrowsmith: splits left to Spark"))
}
