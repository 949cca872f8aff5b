// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith.spark

import org.apache.hadoop.fs.FileStatus

import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.catalyst.analysis.ResolveDataSource
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.types.StructType

/** Spark's JSON format, whose inference is native where that gives the same schema. */
class InferringJsonFormat extends JsonFileFormat {
  override def inferSchema(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus]): Option[StructType] =
    Inference.schema(session, options, files).orElse(super.inferSchema(session, options, files))
}

/**
 * Resolves `spark.read.json` without a schema, before Spark does: with another format, which is
 * Spark's again once the schema is known. Among the rules of hints, since these are the only ones
 * of a session that come before Spark resolves sources.
 */
private case class InferJson(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (session.conf.get(SwapJson.Enabled, "true") != "true") {
      plan
    } else {
      plan.resolveOperatorsUp {
        case source @ UnresolvedDataSource(format, None, _, false, _)
            if format.equalsIgnoreCase("json") &&
              DataSource.lookupDataSourceV2(format, session.sessionState.conf).isEmpty =>
          resolved(source.copy(format = classOf[InferringJsonFormat].getName))
      }
    }

  private def resolved(source: UnresolvedDataSource): LogicalPlan =
    new ResolveDataSource(session.asInstanceOf[classic.SparkSession])(source) match {
      case scan @ LogicalRelation(json: HadoopFsRelation, _, _, _, _) =>
        scan.copy(relation = json.copy(fileFormat = new JsonFileFormat)(json.sparkSession))
      case other => other
    }
}
