// SPDX-License-Identifier: Apache-2.0
//! Statements that are deep, large, or make much of little: each is answered or refused, and the server goes on.

use std::time::Duration;

use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use arrowsmith_flight_sql::SqlOptions;
use tonic_prost::prost::Message as _;

use crate::common::Sql;

/// A statement in which something stands in itself so often.
fn deep(form: &str, n: usize) -> String {
    let chain = |first: &str, link: &str| format!("select {first}{}", link.repeat(n));
    let nest = |open: &str, inner: &str, close: &str| {
        format!("select {}{inner}{}", open.repeat(n), close.repeat(n))
    };
    match form {
        "plus" => chain("1", "+1"),
        "times column" => chain("a", "*a") + " from rows",
        "or" => chain("a from rows where a=0", " or a=1"),
        "and" => chain("a from rows where a=0", " and a<>1"),
        "or of texts" => chain("a from rows where s='x'", " or s like '%y%'"),
        "join texts" => chain("'a'", "||'a'"),
        "join columns" => chain("s", "||s") + " from rows",
        "compare" => chain("1", "=1"),
        "is null" => chain("a", " is null") + " from rows",
        "casts" => chain("1", "::bigint"),
        "index" => chain("tags", "[1]") + " from rows",
        "union all" => chain("1", " union all select 1"),
        "union" => chain("1", " union select 1"),
        "except" => chain("1", " except select 1"),
        "joins" => (0..n).fold("select 1 from rows r".to_owned(), |sql, n| {
            format!("{sql} join rows r{n} on r.a = r{n}.a")
        }),
        "comma joins" => {
            (0..n).fold("select 1 from rows r".to_owned(), |sql, n| format!("{sql}, rows r{n}"))
        }
        "not" => nest("not ", "true", ""),
        "minus" => nest("- ", "1", ""),
        "parentheses" => nest("(", "1", ")"),
        "case" => nest("case when true then ", "1", " else 0 end"),
        "functions" => nest("abs(", "1", ")"),
        "text functions" => nest("upper(", "s", ")") + " from rows",
        "lists" => nest("[", "1", "]"),
        "subqueries" => format!("{}select 1{}", "select * from (".repeat(n), ")".repeat(n)),
        "scalar subqueries" => nest("(select ", "1", ")"),
        "exists" => nest("exists (select ", "1", ")"),
        "in subqueries" => nest("1 in (select ", "1", ")"),
        "in list" => format!("select a from rows where a in (0{})", ",1".repeat(n)),
        "values" => format!("select * from (values (0){})", ",(1)".repeat(n)),
        "columns" => (0..n).fold("select 0".to_owned(), |sql, n| format!("{sql}, {n} as c{n}")),
        "with" => {
            let tables = (1..n.max(2)).map(|n| format!(", t{n} as (select a from t{})", n - 1));
            let tables: String = tables.collect();
            format!("with t0 as (select a from rows){tables} select * from t{}", n.max(2) - 1)
        }
        "with twice" => {
            let tables =
                (1..n.max(2)).map(|n| format!(", t{n} as (select x.a from t{0} x, t{0} y)", n - 1));
            let tables: String = tables.collect();
            format!("with t0 as (select a from rows){tables} select * from t{}", n.max(2) - 1)
        }
        "with sums" => {
            let tables = (1..n.max(2)).map(|n| format!(", t{n} as (select a+a a from t{})", n - 1));
            let tables: String = tables.collect();
            format!(
                "with t0 as (select a from rows){tables} select * from t{} where a > 1",
                n.max(2) - 1
            )
        }
        "between" => chain("a from rows where a", " between 0 and 1"),
        "at time zone" => chain("now()", " at time zone 'utc'"),
        "case arms" => format!("select case {} end from rows", "when a = 1 then 2 ".repeat(n)),
        "parameters" => chain("$1::bigint", "+$1"),
        other => panic!("{other}"),
    }
}

const FORMS: [&str; 37] = [
    "plus",
    "times column",
    "or",
    "and",
    "or of texts",
    "join texts",
    "join columns",
    "compare",
    "is null",
    "casts",
    "index",
    "union all",
    "union",
    "except",
    "joins",
    "comma joins",
    "not",
    "minus",
    "parentheses",
    "case",
    "functions",
    "text functions",
    "lists",
    "subqueries",
    "scalar subqueries",
    "exists",
    "in subqueries",
    "in list",
    "values",
    "columns",
    "with",
    "with twice",
    "with sums",
    "between",
    "at time zone",
    "case arms",
    "parameters",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deep_is_answered_or_refused() {
    let sql = Sql::new().await;
    // Planning takes minutes without optimisation: all forms in all sizes are for the full run.
    let large = ["plus", "or", "not", "parentheses", "case", "union all"];
    for form in FORMS {
        let sizes: &[usize] = match arrowsmith_testkit::full() {
            true => &[10, 45, 60_000],
            false if large.contains(&form) => &[10, 60_000],
            false => &[10],
        };
        for &n in sizes {
            let statement = deep(form, n);
            if statement.len() > 2 << 20 {
                continue;
            }
            for asked in sql.ask(&statement).await {
                if let Err(error) = asked {
                    assert!(!error.contains("could not be planned"), "{form} {n}: {error}");
                }
            }
            // As a question about its columns, which is planned as well.
            let command = CommandStatementQuery { query: statement.clone(), transaction_id: None };
            let _ = sql.schema(command.as_any().encode_to_vec()).await;
            // Run where that does not take its time: joins without a condition multiply.
            if n < 50 && !["comma joins", "with twice", "joins"].contains(&form) {
                let _ = sql.query(&statement).await;
            }
        }
        sql.lives().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_write_is_answered() {
    let sql = Sql::new().await;
    for (form, n) in [
        ("or", 1_000),
        ("and", 1_000),
        ("or of texts", 400),
        ("plus", 1_000),
        ("join texts", 100),
        ("join columns", 100),
        ("union all", 60),
        ("in list", 20_000),
        ("values", 5_000),
        ("with", 40),
        ("case arms", 300),
        ("columns", 1_000),
        ("joins", 10),
        ("subqueries", 10),
    ] {
        if let Err(error) = sql.query(&deep(form, n)).await {
            panic!("{form} {n}: {error}");
        }
    }
}

/// Functions that make much of little.
const LARGE: [&str; 52] = [
    "select length(repeat(arrow_cast('x','LargeUtf8'), 100000000000000))",
    "select length(repeat('xxxxxxxx', 260000000))",
    "select length(lpad('x', 2000000000))",
    "select length(rpad('x', 2000000000, 'yz'))",
    "select length(repeat(t, 100000000)) from many",
    "select length(repeat(t, n * 1000000)) from many",
    "select max(repeat(t, 1000000)) from many",
    "select length(replace(repeat('a', 1000000), 'a', repeat('b', 1000000)))",
    "select length(replace(t, '', repeat('b', 1000000))) from many",
    "select length(translate(repeat('a', 100000000), 'a', 'b'))",
    "select length(overlay(repeat('a', 100000000) placing 'x' from 1))",
    "select length(concat(repeat('a', 1000000), repeat('a', 1000000)))",
    "select concat(t, repeat('a', 1000000)) from many",
    "select t || repeat('a', 1000000) from many, many m2",
    "select regexp_replace(repeat('a', 1000000), '', repeat('b', 1000000), 'g')",
    "select regexp_replace(t, '', repeat('b', 1000000), 'g') from many",
    "select to_char(now(), repeat('%c', 100000000))",
    "select array_length(array_repeat('x', 10000000000))",
    "select array_repeat(repeat('x', 1000000), 1000000)",
    "select array_repeat(array_repeat('x', 100000), 100000)",
    "select array_resize([1], 10000000000, 0)",
    "select array_length(range(0, 100000000000))",
    "select array_length(range(0, 9223372036854775807))",
    "select array_length(generate_series(0, 100000000000))",
    "select range(0, n * 100000000) from many",
    "select generate_series(date '0001-01-01', date '9999-01-01', interval '1 day') from many m, many k",
    "select array_to_string(range(0, 1000000), repeat('x', 1000000))",
    "select string_to_array(repeat('x', 1000000000), '')",
    "select string_agg(repeat(t, 100000), '') from many",
    "select string_agg(repeat(a.t, 10000), '') from many a, many b, many c",
    "select array_agg(repeat(a.t, 10000)) from many a, many b, many c",
    "select octet_length(arrow_cast(null, 'FixedSizeBinary(2147483647)')) from many",
    "select arrow_cast(null, 'FixedSizeList(2147483647, Int8)') from many",
    "select arrow_cast([1], 'FixedSizeList(2000000000, Int8)')",
    "select case when n > 1 then repeat('x', 1000000) else t end from many",
    "select coalesce(null, repeat('x', 1000000)), n from many",
    "select levenshtein(repeat('x', 1000000), repeat('y', 1000000))",
    "select levenshtein(repeat(t, 10000), repeat(t, 10001)) from many",
    "select initcap(repeat('ab ', 100000000))",
    "select upper(repeat('x', 100000000)), reverse(repeat('x', 100000000))",
    "select substr(repeat('x', 100000000), 1, 2)",
    "select arrays_zip(range(0, 10000000000), [1])",
    "select flatten(array_repeat(range(0, 100000), 100000))",
    "select make_array(repeat('x', 1000000000))",
    "select named_struct('a', repeat('x', 1000000000))",
    "select array_concat(range(0, 1000000000), range(0, 1000000000))",
    "select count(*) from (select a.r, b.n from (select repeat(t, 100000) r from many limit 1) a cross join many b)",
    "select max(length(a.r || b.t)) from (select repeat(t, 90000) r from many) a cross join many b",
    "select count(*) from (select unnest(range(0, 8000000)), repeat(t, 1000) from many)",
    "select unnest(range(0, 1000000)), repeat(t, 10000) from many",
    "select sum(v) over () from generate_series(1, 100000000000) s(v)",
    "select repeat('x', 1000000), count(*) over () from many",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_functions_make_is_bounded() {
    let options = SqlOptions {
        threads: 2,
        query_bytes_max: 128 << 20,
        memory_bytes_max: 256 << 20,
        query_time: Some(Duration::from_secs(5)),
    };
    let sql = Sql::with(options).await;
    for statement in LARGE {
        for asked in sql.ask(statement).await {
            if let Err(error) = asked {
                assert!(!error.contains("Internal"), "{statement}: {error}");
            }
        }
        // Most are refused; what is answered has stayed below the limits.
        if let Err(error) = sql.query(statement).await {
            assert!(!error.contains("the query failed"), "{statement}: {error}");
        }
        sql.lives().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_functions_make_in_reason_is_made() {
    let sql = Sql::new().await;
    for (statement, expected) in [
        ("select length(repeat('ab', 1000))", "2000"),
        ("select length(lpad('x', 100000))", "100000"),
        ("select array_length(range(0, 100000))", "100000"),
        ("select count(*) from (select repeat(t, 100) r from many)", "5000"),
        ("select sum(length(t || '-' || t)) from many", &(5000 + 2 * 43_890).to_string()),
        ("select 'a' || 1 || null", ""),
        ("select s || '!' from rows where a = 1", "one!"),
        ("select length(string_agg(t, ',')) from many", &(43_890 + 4_999).to_string()),
        ("select levenshtein('kitten', 'sitting')", "3"),
        ("select array_length(array_agg(n)) from many", "5000"),
        ("select count(*) from generate_series(1, 100000)", "100000"),
        ("select length(repeat('x', 1000000)) from rows limit 1", "1000000"),
    ] {
        assert_eq!(sql.text(statement).await, expected, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_ends_when_its_time_is_over() {
    let options = SqlOptions {
        threads: 2,
        query_time: Some(Duration::from_millis(300)),
        ..SqlOptions::default()
    };
    let sql = Sql::with(options).await;
    for statement in [
        "select count(*) from many a, many b, many c, many d",
        "select count(*) from generate_series(1, 1000000000000)",
        "with recursive t as (select 1 a union all select a + 1 from t) select count(*) from t",
    ] {
        let error = sql.query(statement).await.unwrap_err();
        assert!(error.contains("the query took more than"), "{statement}: {error}");
    }
    sql.lives().await;
}
