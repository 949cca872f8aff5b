// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** Replaces the format of Parquet relations whose options allow it. */
private case class SwapParquet(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (session.conf.get(SwapParquet.Enabled, "true") != "true") {
      plan
    } else {
      plan.transform {
        case scan @ LogicalRelation(parquet: HadoopFsRelation, _, _, _, _) if isSwapped(parquet) =>
          // Spark drops a relation that equals the one before the rule, and its format equals any
          // whose class is derived from it.
          val marked = parquet.options + (Support.Swapped -> "true")
          val format = new ArrowsmithParquetFormat
          scan.copy(relation =
            parquet.copy(fileFormat = format, options = marked)(parquet.sparkSession))
      }
    }

  private def isSwapped(parquet: HadoopFsRelation): Boolean =
    parquet.fileFormat.getClass == classOf[ParquetFileFormat] &&
      ParquetSupport.settings(parquet.options, session.sessionState.conf) &&
      Support.columns(parquet.dataSchema) &&
      parquet.dataSchema.exists(field => ParquetColumns.isReadable(field.dataType))
}

private object SwapParquet {

  /** The setting that turns it off, for a session. */
  val Enabled = "spark.arrowsmith.parquet.enabled"
}
