// SPDX-License-Identifier: Apache-2.0
//! The metadata commands of drivers: catalogs, schemas, tables, types, keys, and the capabilities
//! of this SQL.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::{
    SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    Command, Nullable, Searchable, SqlInfo, SqlNullOrdering, SqlOuterJoinsSupportLevel,
    SqlSupportedCaseSensitivity, SqlSupportedGroupBy, SqlSupportedResultSetConcurrency,
    SqlSupportedResultSetType, SqlSupportedSubqueries, SqlSupportedTransaction, SqlSupportedUnions,
    SqlTransactionIsolationLevel, SupportedSqlGrammar, XdbcDataType,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrowsmith_flight::Catalog;
use tonic::Status;

use crate::tables::tables;
use crate::{CATALOG, SCHEMA, plain};

/// The only type of table.
const TABLE: &str = "TABLE";

fn internal(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}

/// Constant answers.
pub(crate) struct Metadata {
    info: SqlInfoData,
    types: XdbcTypeInfoData,
}

impl Metadata {
    pub(crate) fn new() -> Result<Self, ArrowError> {
        let map = |error: arrow_flight::error::FlightError| ArrowError::IpcError(error.to_string());
        Ok(Self { info: info().map_err(map)?, types: types().map_err(map)? })
    }

    /// The answer to a command; `None` for other commands.
    pub(crate) fn answer(
        &self,
        catalog: &Catalog,
        command: &Command,
    ) -> Result<Option<RecordBatch>, Status> {
        Ok(Some(match command.clone() {
            Command::CommandGetCatalogs(command) => {
                let mut builder = command.into_builder();
                builder.append(CATALOG);
                builder.build().map_err(internal)?
            }
            Command::CommandGetDbSchemas(command) => {
                let mut builder = command.into_builder();
                builder.append(CATALOG, SCHEMA);
                builder.append(CATALOG, "information_schema");
                builder.build().map_err(internal)?
            }
            Command::CommandGetTables(command) => {
                let mut builder = command.into_builder();
                for (name, snapshot) in tables(catalog) {
                    let schema = &snapshot.schema;
                    let columns = plain::fields(schema.fields());
                    let schema = Schema::new_with_metadata(columns, schema.metadata().clone());
                    builder.append(CATALOG, SCHEMA, name, TABLE, &schema).map_err(internal)?;
                }
                builder.build().map_err(internal)?
            }
            Command::CommandGetTableTypes(command) => {
                let mut builder = command.into_builder();
                builder.append(TABLE);
                builder.build().map_err(internal)?
            }
            Command::CommandGetSqlInfo(command) => {
                command.into_builder(&self.info).build().map_err(internal)?
            }
            Command::CommandGetXdbcTypeInfo(command) => {
                command.into_builder(&self.types).build().map_err(internal)?
            }
            // Files have no keys: the answer is a table without rows.
            Command::CommandGetPrimaryKeys(_) => RecordBatch::new_empty(primary_keys()),
            Command::CommandGetExportedKeys(_)
            | Command::CommandGetImportedKeys(_)
            | Command::CommandGetCrossReference(_) => RecordBatch::new_empty(foreign_keys()),
            _ => return Ok(None),
        }))
    }
}

fn text(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::Utf8, nullable)
}

/// By the protocol: `CommandGetPrimaryKeys`.
fn primary_keys() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        text("key_name", true),
    ]))
}

/// By the protocol: `CommandGetExportedKeys` and its like.
fn foreign_keys() -> SchemaRef {
    Arc::new(Schema::new(vec![
        text("pk_catalog_name", true),
        text("pk_db_schema_name", true),
        text("pk_table_name", false),
        text("pk_column_name", false),
        text("fk_catalog_name", true),
        text("fk_db_schema_name", true),
        text("fk_table_name", false),
        text("fk_column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        Field::new("update_rule", DataType::UInt8, false),
        Field::new("delete_rule", DataType::UInt8, false),
    ]))
}

/// What the server says of itself: every value that the protocol knows of SQL, as drivers read
/// those that are missing as errors (JDBC: a `NullPointerException`).
fn info() -> Result<SqlInfoData, arrow_flight::error::FlightError> {
    let mut builder = SqlInfoDataBuilder::new();
    builder.append(SqlInfo::FlightSqlServerName, "Arrowsmith");
    builder.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    builder.append(SqlInfo::FlightSqlServerArrowVersion, "1.3");
    builder.append(SqlInfo::FlightSqlServerReadOnly, true);
    builder.append(SqlInfo::FlightSqlServerSql, true);
    builder.append(SqlInfo::FlightSqlServerSubstrait, false);
    builder.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::None as i32);
    builder.append(SqlInfo::FlightSqlServerCancel, false);
    builder.append(SqlInfo::FlightSqlServerBulkIngestion, false);
    builder.append(
        SqlInfo::SqlIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i32,
    );
    builder.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    builder.append(
        SqlInfo::SqlQuotedIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i32,
    );
    builder.append(SqlInfo::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedAtEnd as i32);
    builder.append(SqlInfo::SqlCatalogTerm, "catalog");
    builder.append(SqlInfo::SqlSchemaTerm, "schema");
    builder.append(SqlInfo::SqlProcedureTerm, "procedure");
    builder.append(SqlInfo::SqlSearchStringEscape, "\\");
    builder.append(SqlInfo::SqlExtraNameCharacters, "$#@");
    builder.append(SqlInfo::SqlKeywords, &KEYWORDS[..]);
    builder.append(SqlInfo::SqlSupportsConvert, HashMap::<i32, Vec<i32>>::new());
    // 32 bits by the protocol; the JDBC driver casts the value to a `Long`.
    builder.append(
        SqlInfo::SqlDefaultTransactionIsolation,
        SqlTransactionIsolationLevel::SqlTransactionNone as i64,
    );
    for (info, supported) in sets() {
        builder.append(info, supported);
    }
    for info in TRUE {
        builder.append(info, true);
    }
    for info in FALSE {
        builder.append(info, false);
    }
    for info in UNLIMITED {
        builder.append(info, 0i64);
    }
    for (info, kind) in [
        (SqlInfo::SqlNumericFunctions, Kind::Numeric),
        (SqlInfo::SqlStringFunctions, Kind::Text),
        (SqlInfo::SqlDatetimeFunctions, Kind::Time),
        (SqlInfo::SqlSystemFunctions, Kind::Other),
    ] {
        builder.append(info, functions(kind));
    }
    builder.build()
}

/// What is supported, as bit masks of the protocol's numbers.
fn sets() -> [(SqlInfo, i32); 15] {
    let grammar = [SupportedSqlGrammar::SqlMinimumGrammar, SupportedSqlGrammar::SqlCoreGrammar];
    let subqueries = [
        SqlSupportedSubqueries::SqlSubqueriesInComparisons,
        SqlSupportedSubqueries::SqlSubqueriesInExists,
        SqlSupportedSubqueries::SqlSubqueriesInIns,
    ];
    let group_by =
        [SqlSupportedGroupBy::SqlGroupByUnrelated, SqlSupportedGroupBy::SqlGroupByBeyondSelect];
    let outer_joins = [
        SqlOuterJoinsSupportLevel::SqlLimitedOuterJoins,
        SqlOuterJoinsSupportLevel::SqlFullOuterJoins,
    ];
    let unions = [SqlSupportedUnions::SqlUnion, SqlSupportedUnions::SqlUnionAll];
    let forward_only = [SqlSupportedResultSetType::SqlResultSetTypeForwardOnly];
    let read_only = [SqlSupportedResultSetConcurrency::SqlResultSetConcurrencyReadOnly];
    [
        (SqlInfo::SqlSupportedGrammar, mask(grammar)),
        // The entry level, whose number the library does not export.
        (SqlInfo::SqlAnsi92SupportedLevel, mask([0])),
        (SqlInfo::SqlSupportedGroupBy, mask(group_by)),
        // A number by the protocol's words; Arrow's servers and its JDBC driver take a mask.
        (SqlInfo::SqlOuterJoinsSupportLevel, mask(outer_joins)),
        (SqlInfo::SqlSupportedSubqueries, mask(subqueries)),
        (SqlInfo::SqlSupportedUnions, mask(unions)),
        (
            SqlInfo::SqlSupportedTransactionsIsolationLevels,
            mask([SqlTransactionIsolationLevel::SqlTransactionNone]),
        ),
        (SqlInfo::SqlSupportedResultSetTypes, mask(forward_only)),
        (SqlInfo::SqlSupportedConcurrenciesForResultSetForwardOnly, mask(read_only)),
        (SqlInfo::SqlSupportedConcurrenciesForResultSetUnspecified, 0),
        (SqlInfo::SqlSupportedConcurrenciesForResultSetScrollSensitive, 0),
        (SqlInfo::SqlSupportedConcurrenciesForResultSetScrollInsensitive, 0),
        (SqlInfo::SqlSupportedPositionedCommands, 0),
        (SqlInfo::SqlSchemasSupportedActions, 0),
        (SqlInfo::SqlCatalogsSupportedActions, 0),
    ]
}

/// The bits of these numbers of an enumeration of the protocol.
fn mask(numbers: impl IntoIterator<Item: Into<i32>>) -> i32 {
    numbers.into_iter().fold(0, |mask, number| mask | 1 << number.into())
}

/// What holds of this SQL.
const TRUE: [SqlInfo; 10] = [
    SqlInfo::SqlAllTablesAreSelectable,
    SqlInfo::SqlSupportsColumnAliasing,
    SqlInfo::SqlNullPlusNullIsNull,
    SqlInfo::SqlSupportsTableCorrelationNames,
    SqlInfo::SqlSupportsExpressionsInOrderBy,
    SqlInfo::SqlSupportsOrderByUnrelated,
    SqlInfo::SqlSupportsLikeEscapeClause,
    SqlInfo::SqlSupportsNonNullableColumns,
    SqlInfo::SqlCatalogAtStart,
    SqlInfo::SqlCorrelatedSubqueriesSupported,
];

/// What does not.
const FALSE: [SqlInfo; 16] = [
    SqlInfo::SqlDdlCatalog,
    SqlInfo::SqlDdlSchema,
    SqlInfo::SqlDdlTable,
    SqlInfo::SqlSupportsDifferentTableCorrelationNames,
    SqlInfo::SqlSupportsIntegrityEnhancementFacility,
    SqlInfo::SqlSelectForUpdateSupported,
    SqlInfo::SqlStoredProceduresSupported,
    SqlInfo::SqlMaxRowSizeIncludesBlobs,
    SqlInfo::SqlTransactionsSupported,
    SqlInfo::SqlDataDefinitionCausesTransactionCommit,
    SqlInfo::SqlDataDefinitionsInTransactionsIgnored,
    SqlInfo::SqlBatchUpdatesSupported,
    SqlInfo::SqlSavepointsSupported,
    SqlInfo::SqlNamedParametersSupported,
    SqlInfo::SqlLocatorsUpdateCopy,
    SqlInfo::SqlStoredFunctionsUsingCallSyntaxSupported,
];

/// What has no limit that a driver could know: 0 by the protocol.
const UNLIMITED: [SqlInfo; 20] = [
    SqlInfo::SqlMaxBinaryLiteralLength,
    SqlInfo::SqlMaxCharLiteralLength,
    SqlInfo::SqlMaxColumnNameLength,
    SqlInfo::SqlMaxColumnsInGroupBy,
    SqlInfo::SqlMaxColumnsInIndex,
    SqlInfo::SqlMaxColumnsInOrderBy,
    SqlInfo::SqlMaxColumnsInSelect,
    SqlInfo::SqlMaxColumnsInTable,
    SqlInfo::SqlMaxConnections,
    SqlInfo::SqlMaxCursorNameLength,
    SqlInfo::SqlMaxIndexLength,
    SqlInfo::SqlDbSchemaNameLength,
    SqlInfo::SqlMaxProcedureNameLength,
    SqlInfo::SqlMaxCatalogNameLength,
    SqlInfo::SqlMaxRowSize,
    SqlInfo::SqlMaxStatementLength,
    SqlInfo::SqlMaxStatements,
    SqlInfo::SqlMaxTableNameLength,
    SqlInfo::SqlMaxTablesInSelect,
    SqlInfo::SqlMaxUsernameLength,
];

/// Keywords of this SQL that are not in SQL:2003, for JDBC.
const KEYWORDS: [&str; 12] = [
    "ANTI", "DESCRIBE", "EXCLUDE", "EXPLAIN", "ILIKE", "LIMIT", "OFFSET", "QUALIFY", "SEMI",
    "SHOW", "TRY_CAST", "UNNEST",
];

/// The types that a function works on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Numeric,
    Text,
    Time,
    Other,
}

/// The functions that statements can call, by type.
fn functions(wanted: Kind) -> Vec<String> {
    use datafusion::execution::SessionStateDefaults;
    use datafusion::functions::{datetime, math, regex, string, unicode};

    let of = |all: Vec<Arc<datafusion::logical_expr::ScalarUDF>>| {
        all.iter().map(|one| one.name().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let numeric = of(math::functions());
    let time = of(datetime::functions());
    let mut text = of(string::functions());
    text.extend(of(unicode::functions()));
    text.extend(of(regex::functions()));
    let found = match wanted {
        Kind::Numeric => numeric,
        Kind::Text => text,
        Kind::Time => time,
        Kind::Other => {
            let mut all = of(SessionStateDefaults::default_scalar_functions());
            all.retain(|name| {
                !numeric.contains(name) && !text.contains(name) && !time.contains(name)
            });
            all
        }
    };
    found.into_iter().collect()
}

fn types() -> Result<XdbcTypeInfoData, arrow_flight::error::FlightError> {
    let mut builder = XdbcTypeInfoDataBuilder::new();
    for (name, data_type, size, quote) in [
        ("BOOLEAN", XdbcDataType::XdbcBit, 1, ""),
        ("TINYINT", XdbcDataType::XdbcTinyint, 3, ""),
        ("SMALLINT", XdbcDataType::XdbcSmallint, 5, ""),
        ("INTEGER", XdbcDataType::XdbcInteger, 10, ""),
        ("BIGINT", XdbcDataType::XdbcBigint, 19, ""),
        ("REAL", XdbcDataType::XdbcReal, 7, ""),
        ("DOUBLE", XdbcDataType::XdbcDouble, 15, ""),
        ("DECIMAL", XdbcDataType::XdbcDecimal, 38, ""),
        ("VARCHAR", XdbcDataType::XdbcVarchar, i32::MAX, "'"),
        ("VARBINARY", XdbcDataType::XdbcVarbinary, i32::MAX, "'"),
        ("DATE", XdbcDataType::XdbcDate, 10, "'"),
        ("TIME", XdbcDataType::XdbcTime, 15, "'"),
        ("TIMESTAMP", XdbcDataType::XdbcTimestamp, 29, "'"),
    ] {
        builder.append(XdbcTypeInfo {
            type_name: name.to_owned(),
            data_type,
            column_size: Some(size),
            literal_prefix: (!quote.is_empty()).then(|| quote.to_owned()),
            literal_suffix: (!quote.is_empty()).then(|| quote.to_owned()),
            create_params: None,
            nullable: Nullable::NullabilityNullable,
            case_sensitive: true,
            searchable: Searchable::Full,
            unsigned_attribute: Some(false),
            fixed_prec_scale: false,
            auto_increment: Some(false),
            local_type_name: Some(name.to_owned()),
            minimum_scale: None,
            maximum_scale: None,
            sql_data_type: data_type,
            datetime_subcode: None,
            num_prec_radix: quote.is_empty().then_some(10),
            interval_precision: None,
        });
    }
    builder.build()
}
