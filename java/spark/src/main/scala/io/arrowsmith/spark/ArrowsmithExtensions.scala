// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import org.slf4j.LoggerFactory

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat

/**
 * Lets Spark read JSON and Parquet with Arrowsmith: `spark.sql.extensions` names this class.
 * Queries, tables and streams stay as they are, and so do their results.
 */
class ArrowsmithExtensions private[spark] (version: String)
    extends (SparkSessionExtensions => Unit) {

  def this() = this(SPARK_VERSION)

  override def apply(extensions: SparkSessionExtensions): Unit =
    if (Versions.isSupported(version)) {
      extensions.injectHintResolutionRule(session => InferJson(session))
      extensions.injectOptimizerRule(session => SwapJson(session))
      extensions.injectOptimizerRule(session => SwapParquet(session))
      extensions.injectColumnar(_ => WriteRows)
    } else {
      LoggerFactory
        .getLogger(classOf[ArrowsmithExtensions])
        .warn("Arrowsmith reads files in Spark 4; this is {}: its own readers stay", version)
    }
}

/** The versions of Spark whose interfaces the readers use. */
private object Versions {
  def isSupported(version: String): Boolean = version.startsWith("4.")

  /** Says so, where a format is named that Spark of this version cannot read with. */
  def check(format: String, version: String = SPARK_VERSION): Unit =
    if (!isSupported(version)) {
      throw new UnsupportedOperationException(s"$format is for Spark 4; this is $version")
    }
}

/** Replaces the format of JSON relations whose options allow it. */
private case class SwapJson(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (session.conf.get(SwapJson.Enabled, "true") != "true") {
      plan
    } else {
      plan.transform {
        case scan @ LogicalRelation(json: HadoopFsRelation, _, _, _, _) if isSwapped(json) =>
          val format = new ArrowsmithJsonFormat(support(json))
          // Spark drops a relation that equals the one before the rule, and up to 4.0 any format
          // equals one whose class is derived from it.
          val marked = json.options + (Support.Swapped -> "true")
          val swapped = json.copy(fileFormat = format, options = marked)(json.sparkSession)
          scan.copy(relation = swapped)
      }
    }

  private def isSwapped(json: HadoopFsRelation): Boolean =
    json.fileFormat.getClass == classOf[JsonFileFormat] &&
      Support.options(json.options) &&
      Support.columns(json.dataSchema) &&
      json.dataSchema.exists(field => support(json).dataType(field.dataType))

  private def support(json: HadoopFsRelation): Support =
    Support.of(json.options, session.sessionState.conf)
}

private object SwapJson {

  /** The setting that turns it off, for a session. */
  val Enabled = "spark.arrowsmith.json.enabled"
}
