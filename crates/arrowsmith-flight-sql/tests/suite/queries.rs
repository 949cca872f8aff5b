// SPDX-License-Identifier: Apache-2.0
//! Results of statements, and errors of invalid ones.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};

use crate::common::Sql;

#[tokio::test(flavor = "multi_thread")]
async fn nested_fields_can_be_queried() {
    let sql = Sql::new().await;
    for (statement, expected) in [
        ("select tags[1] from rows order by a", "x\n\nz"),
        ("select array_length(tags) from rows where a = 1", "2"),
        ("select cardinality(tags) from rows where a = 1", "2"),
        ("select l.user['id'] from rows l where a = 1", "7"),
        ("select l.user.name from rows l where a = 2", "bob"),
        ("select a from rows where array_has(tags, 'z')", "3"),
        ("select unnest(tags) t from rows order by t", "x\ny\nz"),
        ("select a from rows where regexp_like(s, '^t.o$')", "2"),
        ("select a from rows where s ~ 'ne$'", "1"),
        ("select regexp_replace(s, 'o', '0') from rows where a = 2", "tw0"),
        ("select round(abs(-1.5)), sqrt(4.0)", "2.0 | 2.0"),
    ] {
        let found = sql.text(statement).await;
        let found: Vec<_> = found
            .lines()
            .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>().join(" | "))
            .collect();
        assert_eq!(found.join("\n"), expected, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_said_in_words() {
    let sql = Sql::new().await;
    for (statement, expected) in [
        ("choose 1", "Expected"),
        ("select 'open", "Unterminated string literal"),
        ("select nowhere from rows", "nowhere"),
        ("select * from nowhere", "nowhere"),
        ("insert into rows values (1)", "INSERT is not served"),
        ("insert into rows values (1, 2, 3, 4)", "INSERT is not served"),
        ("update rows set a = 1", "UPDATE is not served"),
        ("delete from rows", "DELETE is not served"),
        ("create table x as select 1", "CREATE is not served"),
        ("create external table x stored as csv location '/etc/passwd'", "is not served"),
        ("copy rows to '/tmp/x'", "is not served"),
        ("drop table rows", "DROP is not served"),
        ("set datafusion.execution.batch_size = 1", "is not served"),
        ("select * from '/etc/passwd'", "passwd"),
        ("select * from information_schema.df_settings", "df_settings"),
        ("select a from rows tablesample system (10)", "TABLESAMPLE is not supported"),
        ("select a from (select * from rows) tablesample (1 rows)", "TABLESAMPLE"),
        ("select (select max(a) from rows tablesample (1)) m", "TABLESAMPLE"),
        ("select a from rows prewhere a = 1", "PREWHERE is not supported"),
        ("select a from rows partition (p)", "PARTITION is not supported"),
        ("select a from rows connect by prior a = a", "CONNECT BY is not supported"),
        ("explain select a from rows prewhere a = 1", "PREWHERE is not supported"),
        ("select s ~ '(((((a{30}){30}){30}){30}){30})' from rows", "did not compile"),
        ("select regexp_replace(s, '((((((a{30}){30}){30}){30}){30}', '') from rows", "regex"),
        ("select levenshtein(repeat(s, 99999), repeat(s, 99999)) from rows", "steps"),
    ] {
        let error = sql.query(statement).await.unwrap_err();
        assert!(error.contains(expected), "{statement}: {error}");
        assert!(!error.contains("ParserError(") && !error.contains("TokenizerError("), "{error}");
        assert!(!error.contains("{ ") && !error.contains("bug"), "{statement}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_served_describes_itself() {
    let sql = Sql::new().await;
    assert_eq!(
        sql.text(
            "select table_name from information_schema.tables where table_schema = 'public' order by 1"
        )
        .await,
        "coded\nmany\nrows"
    );
    let columns = "select column_name from information_schema.columns where table_name = 'rows'";
    assert_eq!(sql.text(columns).await, "a\ns\ntags\nuser");
    assert!(sql.text("show tables").await.contains("rows"));
    assert!(!sql.text("show tables").await.contains("df_settings"));
    assert!(sql.text("show columns from rows").await.contains("tags"));
    assert!(sql.text("describe rows").await.contains("tags"));
    assert!(sql.text("explain select a from rows").await.contains("plan"));
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_are_compared_whatever_their_functions_are_called() {
    let sql = Sql::new().await;
    for statement in [
        "select ifnull(length(s), 0), count(*) from rows group by length(s) order by length(s)",
        "select pow(pow(a, 2), 2), count(*) from rows group by pow(pow(a, 2), 2)",
        "select length(s), sum(length(s)) over (partition by length(s)) from rows",
        "select \"length(rows.s)\" from (select length(s) from rows)",
    ] {
        if let Err(error) = sql.query(statement).await {
            panic!("{statement}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_have_types_that_drivers_know() {
    let sql = Sql::new().await;
    let statement = "select coded, views, [coded] as list, struct(coded, views) as both from coded";
    let batches = sql.query(statement).await.unwrap();
    let schema = format!("{:?}", batches[0].schema());
    assert!(!schema.contains("Dictionary") && !schema.contains("View"), "{schema}");
    let word = "a text that is no longer inline";
    assert_eq!(
        sql.text("select coded, views, [coded] as list from coded where coded = 'a'").await,
        format!("a     | {word} | [a]\na     | c                               | [a]")
    );
    assert_eq!(
        sql.text("select coded, count(*) from coded group by coded order by 1").await,
        "a     | 2\nb     | 1"
    );
    let columns = "select data_type from information_schema.columns where table_name = 'coded'";
    assert_eq!(sql.text(columns).await, "Utf8\nUtf8");
    let parameter: ArrayRef = Arc::new(StringArray::from(vec!["b"]));
    let row = RecordBatch::try_from_iter([("$1", parameter)]).unwrap();
    let bound = sql.bound("select views from coded where coded = $1", row).await.unwrap();
    assert_eq!(bound[0].column(0).as_string::<i32>().value(0), "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_empty_has_its_columns() {
    let sql = Sql::new().await;
    for (statement, columns) in [
        ("select a, s as b from rows where a > 99", vec!["a", "b"]),
        ("select a, tags from rows limit 0", vec!["a", "tags"]),
        ("select count(*) c, s from rows where false group by s", vec!["c", "s"]),
        (
            "select * from information_schema.views",
            vec!["table_catalog", "table_schema", "table_name", "definition"],
        ),
    ] {
        let (rows, found) = sql.columns(statement).await;
        assert_eq!(
            (rows, found),
            (0, columns.iter().map(|name| (*name).to_owned()).collect()),
            "{statement}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_as_long_as_a_header_may_be() {
    let sql = Sql::new().await;
    let long = "x".repeat(100_000);
    for statement in [
        format!("select {long} from rows"),
        format!("select a from {long}"),
        format!("select '{long}'::int from rows"),
    ] {
        let error = sql.query(&statement).await.unwrap_err();
        assert!(error.contains("xxx") && error.len() < 8_000, "{} bytes", error.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instants_finer_than_their_column_are_compared_exactly() {
    let sql = Sql::new().await;
    let half = "'1970-01-01T00:00:00.0025'";
    for (condition, expected) in [
        ("t = timestamp HALF", ""),
        ("timestamp HALF = t", ""),
        ("t = HALF", ""),
        ("t <> timestamp HALF", "1\n2\n3"),
        ("not (t = timestamp HALF)", "1\n2\n3"),
        ("t < timestamp HALF", "1\n2"),
        ("t <= timestamp HALF", "1\n2"),
        ("timestamp HALF > t", "1\n2"),
        ("t > timestamp HALF", "3"),
        ("t >= timestamp HALF", "3"),
        ("t between timestamp '1970-01-01T00:00:00.0015' and timestamp HALF", "2"),
        ("t not between timestamp '1970-01-01T00:00:00.001' and timestamp HALF", "3"),
        ("t in (timestamp HALF, timestamp '1970-01-01T00:00:00.003')", "3"),
        ("t in (timestamp HALF)", ""),
        ("t not in (timestamp HALF)", "1\n2\n3"),
        ("t = timestamp '1970-01-01T00:00:00.002'", "2"),
        ("t = '1970-01-01T00:00:00.002000'", "2"),
        ("t < timestamp '1969-12-31T23:59:59.9995'", ""),
        ("t > timestamp '1969-12-31T23:59:59.9995'", "1\n2\n3"),
        ("t is distinct from timestamp HALF", "1\n2\n3"),
        ("nullif(t, t) = timestamp HALF", ""),
        ("nullif(t, t) <> timestamp HALF", ""),
        // A requested truncation is done.
        ("t = arrow_cast(HALF, 'Timestamp(Millisecond, None)')", "2"),
    ] {
        for zone in ["None", "Some(\"UTC\")"] {
            let condition = condition.replace("HALF", half);
            let statement = format!(
                "select a from (select a, arrow_cast(a, 'Timestamp(Millisecond, {zone})') t \
                 from rows) where {condition} order by a"
            );
            assert_eq!(sql.text(&statement).await, expected, "{statement}");
        }
    }
}
