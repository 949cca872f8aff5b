// SPDX-License-Identifier: Apache-2.0
//! Statements that are deep, large, or whose results explode: each is answered or refused, and the
//! server continues.

use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt};
use arrowsmith_flight_sql::SqlOptions;
use tonic_prost::prost::Message as _;

use crate::common::Sql;

/// A statement with this many levels of nesting.
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
        "ceilings" => nest("ceil(", "1", ")"),
        "positions" => nest("position(", "'a'", " in 'b')"),
        "text functions" => nest("upper(", "s", ")") + " from rows",
        "other names" => nest("length(", "s", ")") + " from rows",
        "coalesce" => nest("coalesce(", "a", ", 1)") + " from rows",
        "matches" => nest("(", "s", " ~ '^(a|b|c|d)$')::varchar") + " from rows",
        "flags" => {
            nest("case when ", "a>0", " then a=1 when a=2 then a=3 else a=4 end") + " from rows"
        }
        "with cases" => {
            let tables = (1..n.max(2)).map(|n| {
                format!(
                    ", t{n} as (select case when a < 0 then 0 when a > 9 then 9 else a end a \
                     from t{})",
                    n - 1
                )
            });
            let tables: String = tables.collect();
            format!("with t0 as (select a from rows){tables} select * from t{}", n.max(2) - 1)
        }
        "floors" => chain("floor(a)", "+floor(a)") + " from rows",
        "within group" => {
            nest("percentile_cont(0.5) within group (order by ", "a", ")") + " from rows"
        }
        "casts of sums" => nest("((", "a", ")::double & 1)::double") + " from rows",
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
        "conditions" => chain("a from rows where a+1<>0", " and a+1<>7"),
        "casts twice" => chain("a", "::bigint::int") + " from rows",
        "having" => {
            let parts: Vec<_> = (0..n).map(|n| format!("sum(a+{n})>1")).collect();
            format!("select a from rows group by a having {}", parts.join(" and "))
        }
        "group by" => format!("select count(*) from rows group by a{}", ", 'x'".repeat(n)),
        "order by" => format!("select a from rows order by a{}", ", a+1".repeat(n)),
        "cube" => {
            let keys: Vec<_> = (0..=n).map(|n| format!("a+{n}")).collect();
            format!("select count(*) from rows group by cube({})", keys.join(", "))
        }
        "cubes" => {
            let cubes: Vec<_> = (0..n).map(|n| format!("cube(a+{n}, a-{n}-1)")).collect();
            format!("select count(*) from rows group by {}", cubes.join(", "))
        }
        "windows" => {
            (0..n).fold("select a".to_owned(), |sql, n| {
                format!("{sql}, sum(a) over (partition by s order by a+{n}) as w{n}")
            }) + " from rows"
        }
        "named windows" => {
            let windows: Vec<_> = (0..n).map(|n| format!("w{n} as (order by a+{n})")).collect();
            format!("select a from rows window {}", windows.join(", "))
        }
        "window keys" => {
            format!("select sum(a) over (partition by a{}) from rows", ", a+1".repeat(n))
        }
        "aggregates" => (0..n).fold("select 0".to_owned(), |sql, n| format!("{sql}, sum({n})")),
        "arguments" => format!("select greatest(a{}) from rows", ",a".repeat(n)),
        "aggregate keys" => format!("select array_agg(a order by a{}) from rows", ",a".repeat(n)),
        "many with" => {
            let tables: Vec<_> = (0..n).map(|n| format!("t{n} as (select {n})")).collect();
            format!("with r as (select 1), {} select * from r", tables.join(", "))
        }
        "wide values" => format!("select * from (values (0{}))", ",1".repeat(n)),
        "many selects" => format!(
            "select 1{}",
            format!(" union all select {}", "a as b,".repeat(200) + "1").repeat(n)
        ),
        "many subqueries" => {
            (0..n).fold("select 0".to_owned(), |sql, n| format!("{sql}, (select {n}) as q{n}"))
        }
        "many exists" => {
            let exists = (0..n)
                .map(|n| format!(" and exists (select 1 from rows r{n} where r{n}.a = rows.a)"));
            format!("select a from rows where a > 0{}", exists.collect::<String>())
        }
        "lateral" => (0..n).fold("select 1 from rows r".to_owned(), |sql, n| {
            format!("{sql}, lateral (select r.a+{n}) t{n}")
        }),
        other => panic!("{other}"),
    }
}

const FORMS: [&str; 64] = [
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
    "other names",
    "coalesce",
    "matches",
    "flags",
    "casts of sums",
    "with cases",
    "floors",
    "within group",
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
    "conditions",
    "casts twice",
    "having",
    "group by",
    "order by",
    "cube",
    "cubes",
    "windows",
    "named windows",
    "window keys",
    "aggregates",
    "arguments",
    "aggregate keys",
    "many with",
    "wide values",
    "many selects",
    "many subqueries",
    "many exists",
    "lateral",
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

/// Their parser would read each level twice: a few of them would occupy every thread for good.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_twice_is_refused_by_its_depth() {
    let sql = Sql::new().await;
    for form in ["ceilings", "positions", "case"] {
        for n in [15, 46, 48, 100, 1_000] {
            let error = sql.query(&deep(form, n)).await.unwrap_err();
            let is_told = ["nested more than 14 deep", "more than 200 brackets"]
                .iter()
                .any(|told| error.contains(told));
            assert!(is_told, "{form} {n}: {error}");
        }
    }
    for (form, n) in [("ceilings", 14), ("positions", 1), ("case", 14)] {
        sql.query(&deep(form, n)).await.unwrap();
    }
    sql.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_write_is_answered() {
    let sql = Sql::new().await;
    for (form, n) in [
        ("or", 1_000),
        ("and", 1_000),
        ("or of texts", 400),
        ("plus", 1_000),
        ("join columns", 100),
        ("union all", 140),
        ("many exists", 100),
        ("other names", 40),
        ("coalesce", 12),
        ("matches", 5),
        ("flags", 5),
        ("casts of sums", 5),
        ("with cases", 9),
        ("floors", 100),
        ("within group", 1),
        ("in list", 60_000),
        ("values", 5_000),
        ("with", 40),
        ("case arms", 300),
        ("columns", 1_000),
        ("joins", 10),
        ("subqueries", 10),
        ("conditions", 1_000),
        ("join texts", 300),
        ("having", 100),
        ("group by", 100),
        ("order by", 50),
        ("cube", 6),
        ("cubes", 3),
        ("windows", 10),
        ("window keys", 10),
        ("aggregates", 100),
        ("arguments", 1_000),
        ("many with", 200),
        ("many subqueries", 20),
    ] {
        if let Err(error) = sql.query(&deep(form, n)).await {
            panic!("{form} {n}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_long_to_plan_is_refused_by_its_counts() {
    let sql = Sql::new().await;
    for (form, n, expected) in [
        ("columns", 2_001, "columns are more than 2000"),
        ("aggregates", 3_000, "columns are more than 2000"),
        ("wide values", 501, "columns of VALUES are more than 500"),
        ("many selects", 60, "columns of all queries are more than 10000"),
        ("group by", 501, "expressions of GROUP BY are more than 500"),
        ("cube", 12, "sets of GROUP BY are more than 4096"),
        ("cube", 499, "sets of GROUP BY are more than 4096"),
        ("cubes", 7, "sets of GROUP BY are more than 4096"),
        ("order by", 100, "expressions of ORDER BY are more than 100"),
        ("aggregate keys", 100, "keys of a function are more than 100"),
        ("windows", 101, "windows are more than 100"),
        ("named windows", 101, "windows are more than 100"),
        ("window keys", 50, "keys of a window are more than 50"),
        ("arguments", 2_000, "arguments of a function are more than 2000"),
        ("joins", 64, "tables of FROM are more than 64"),
        ("comma joins", 64, "tables of FROM are more than 64"),
        ("many with", 500, "queries are more than 500"),
        ("many subqueries", 500, "queries are more than 500"),
        ("union all", 1_000, "UNION, EXCEPT or INTERSECT in a row are more than 150"),
        ("except", 151, "UNION, EXCEPT or INTERSECT in a row are more than 150"),
        ("plus", 1_300, "expressions in one another are more than 1200"),
        ("join texts", 1_300, "expressions in one another are more than 1200"),
        ("casts twice", 700, "expressions in one another are more than 1200"),
        ("within group", 40, "WITHIN GROUP in one another are more than 4"),
        ("coalesce", 40, "parts of an expression"),
        ("matches", 40, "parts of an expression"),
        ("flags", 13, "parts of an expression"),
        ("casts of sums", 20, "expressions are too long and too deep"),
        ("or", 60_000, "operators are more than"),
        ("in list", 300_000, "words and signs are more than"),
    ] {
        let statement = deep(form, n);
        let mut asked = sql.ask(&statement).await;
        let command = CommandStatementQuery { query: statement.clone(), transaction_id: None };
        let schema = sql.schema(command.as_any().encode_to_vec()).await;
        asked.push(schema.map_err(|status| status.message().to_owned()));
        asked.extend(sql.ask(&format!("explain {statement}")).await);
        for answer in asked {
            let error = answer.unwrap_err();
            assert!(error.contains(expected), "{form} {n}: {error}");
        }
    }
    // These are joins once the plan is optimized.
    let error = sql.query(&deep("many exists", 130)).await.unwrap_err();
    assert!(error.contains("joins in one another"), "{error}");
    sql.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_no_deeper_than_clients_read() {
    let sql = Sql::new().await;
    let text = |n: usize| format!("{}Int8{}", "List(".repeat(n), ")".repeat(n));
    let lists = |n: usize| {
        let tables = (1..n).map(|n| format!(", t{n} as (select [l] l from t{})", n - 1));
        let tables: String = tables.collect();
        format!("with t0 as (select [a] l from rows){tables} select l from t{}", n - 1)
    };
    for statement in [
        format!("select arrow_cast(null, '{}')", text(65)),
        format!("select arrow_cast(null, '{}')", text(5_000)),
        format!("select Arrow_Cast(null, '{}')", text(150_000)),
        format!("select \"arrow_cast\"(null, (('{}')))", text(5_000)),
        format!("select arrow_try_cast(null, E'{}')", text(5_000)),
        format!("select arrow_try_cast(null, $${}$$)", text(5_000)),
        format!("select cast(null as int{})", "[]".repeat(65)),
        format!("select cast(null as int{})", "[]".repeat(3_000)),
        lists(66),
    ] {
        for answer in sql.ask(&statement).await {
            let error = answer.unwrap_err();
            assert!(error.contains("levels of a type"), "{}…: {error}", &statement[..40]);
        }
    }
    for statement in [
        format!("select arrow_cast(null, '{}') from rows", text(60)),
        format!("select cast(null as int{}) from rows", "[]".repeat(60)),
        lists(60),
    ] {
        let rows = sql.query(&statement).await.unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 3, "{statement}");
    }
    let long = format!("select arrow_typeof(named_struct('{}', a)) from rows", "x".repeat(17_000));
    let error = sql.query(&long).await.unwrap_err();
    assert!(error.contains("bytes of text"), "{error}");
    // A text with as many parentheses is not a type.
    assert_eq!(sql.text(&format!("select '{}' < 'M'", text(65))).await, "true");
    sql.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sketches_of_quantiles_have_a_size() {
    let sql = Sql::new().await;
    for call in [
        "approx_percentile_cont(a, 0.5, 1000000000)",
        "approx_percentile_cont(0.5, 1000000000) within group (order by a)",
        "approx_percentile_cont(a, 0.5, 1000 * 1000 * 1000)",
        "approx_percentile_cont(a, 0.5, cast('1000000000' as bigint))",
        "approx_percentile_cont(a, 0.5, cast(random() + 1e9 as bigint))",
        "approx_percentile_cont(a, 0.5, 1000000000) over ()",
        "approx_percentile_cont_with_weight(a, 1, 0.5, 1000000000)",
    ] {
        let error = sql.query(&format!("select {call} from rows")).await.unwrap_err();
        assert!(error.contains("centroids") || error.contains("literal"), "{call}: {error}");
    }
    let number: ArrayRef = std::sync::Arc::new(arrow_array::Int64Array::from(vec![1 << 30]));
    let row = RecordBatch::try_from_iter([("n", number)]).unwrap();
    let bound = sql.bound("select approx_percentile_cont(a, 0.5, $1) from rows", row).await;
    assert!(bound.is_err());
    assert_eq!(sql.text("select approx_percentile_cont(a, 0.5, 1000) from rows").await, "2.0");
    sql.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_chains_mean_what_they_say() {
    let sql = Sql::new().await;
    let parts = |part: &str, by: &str| {
        (0..200).map(|n| part.replace('N', &n.to_string())).collect::<Vec<_>>().join(by)
    };
    for (condition, expected) in [
        (parts("a <> N + 3", " and "), "1\n2"),
        (parts("a + 1 <> N + 4", " and "), "1\n2"),
        (parts("a = N + 2", " or "), "2\n3"),
        // Of the third row `s` is null: neither true nor false.
        (parts("s <> 'xN'", " and "), "1\n2"),
        (parts("s = 'xN'", " or ") + " or a = 3", "3"),
        (format!("not ({})", parts("s || 'y' <> 'xN'", " and ")), ""),
        (format!("({}) and ({})", parts("a <> N + 3", " and "), parts("a = N + 2", " or ")), "2"),
    ] {
        let statement = format!("select a from rows where {condition} order by a");
        assert_eq!(sql.text(&statement).await, expected, "{condition}");
        let statement = format!("select a from rows group by a, s having {condition} order by a");
        assert_eq!(sql.text(&statement).await, expected, "having {condition}");
    }
    let statement = format!("select {} from rows order by a", parts("s", " || '-' || a || "));
    assert_eq!(
        sql.text(&statement).await.lines().map(|line| line.len()).collect::<Vec<_>>(),
        [200 * 3 + 199 * 2, 200 * 3 + 199 * 2]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_statements_than_planners_are_all_answered() {
    let sql = std::sync::Arc::new(Sql::new().await);
    let statement = deep("columns", 400);
    let ask = |statement: &str| {
        let (sql, statement) = (std::sync::Arc::clone(&sql), statement.to_owned());
        tokio::spawn(async move { sql.query(&statement).await.map(drop) })
    };
    let gone: Vec<_> = (0..20).map(|_| ask(&statement)).collect();
    let stay: Vec<_> = (0..20).map(|_| ask(&statement)).collect();
    // A caller that is gone leaves its place to the others.
    gone.iter().for_each(tokio::task::JoinHandle::abort);
    for one in stay {
        one.await.unwrap().unwrap();
    }
    sql.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_named_often_is_counted_as_often() {
    let sql = Sql::new().await;
    let row = |text: &str| {
        let texts: ArrayRef = std::sync::Arc::new(StringArray::from(vec![text]));
        RecordBatch::try_from_iter([("1", texts)]).unwrap()
    };
    let often = |times: usize| {
        format!("select a from rows where s in ('x'{}) order by a", ", $1".repeat(times))
    };
    let found = sql.bound(&often(5_000), row("two")).await.unwrap();
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
    for times in [20, 1_000, 100_000] {
        let error = sql.bound(&often(times), row(&"y".repeat(1 << 20))).await.unwrap_err();
        assert!(error.contains("values of"), "{times}: {error}");
    }
    // The same by names, which the optimizer replaces by their expressions.
    let long = "y".repeat(500_000);
    let names = ", x".repeat(1_000);
    for statement in [
        format!("select a from (select a, s, '{long}' as x from rows) t where s in ('x'{names})"),
        format!("select concat(s{names}) from (select s, '{long}' as x from rows) t"),
    ] {
        let error = sql.query(&statement).await.unwrap_err();
        assert!(error.contains("parts"), "{error}");
    }
    sql.lives().await;
}

/// Functions that make much of little.
const LARGE: [&str; 53] = [
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
    "select concat_ws(repeat('x', 100000), t, n, t, n, t, n, t, n, t, n, t, n) from many",
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
async fn what_windows_make_is_bounded() {
    let sql = Sql::new().await;
    let long = "case when n = 0 then repeat(t, 90000) else t end";
    // Each row has a value of its own, and that of the last row is as long as all texts together.
    for call in [
        "array_agg(repeat(t, 100)) over (order by n)",
        "array_agg(array[t, t, t, t, t, t, t, t]) over (order by n)",
        "array_agg(distinct repeat(t, 100)) over (order by n)",
        "string_agg(t, repeat('x', 100000)) over (order by n)",
        "string_agg(repeat(t, 100), ',') over (partition by n / 2500 order by n)",
        &format!("min({long}) over (order by n rows between 4000 preceding and current row)"),
        &format!("first_value({long}) over (order by n)"),
        &format!(
            "last_value({long}) over (order by n desc \
             rows between unbounded preceding and unbounded following)"
        ),
        &format!("nth_value({long}, 1) over (order by n)"),
    ] {
        let error = sql.query(&format!("select {call} from many")).await.unwrap_err();
        assert!(error.contains("; the query has "), "{call}: {error}");
        sql.lives().await;
    }
    for (call, expected) in [
        ("array_to_string(array_agg(n) over (order by n rows 2 preceding), ',')", "4997,4998,4999"),
        ("cast(array_length(array_agg(t) over (partition by n % 7)) as text)", "715"),
        ("string_agg(cast(n as text), '-') over (partition by n / 2 order by n)", "4998-4999"),
        ("max(t) over (order by n)", "text 999"),
        ("first_value(t) over (order by n)", "text 0"),
        ("last_value(t) over (order by n)", "text 4999"),
        ("nth_value(t, 2) over (order by n)", "text 1"),
        ("lag(t, 1, 'none') over (order by n)", "text 4998"),
        ("lead(t, 1, 'none') over (order by n)", "none"),
        ("lead(t, 1, 'none') over (order by n desc)", "text 4998"),
    ] {
        let statement =
            format!("select v from (select n, {call} v from many) order by n desc limit 1");
        assert_eq!(sql.text(&statement).await, expected, "{call}");
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
        // More than 64 MiB in one call: of the query's memory, not of what folding may use.
        ("select sum(length(repeat(t, 2000))) from many", &(43_890 * 2_000).to_string()),
    ] {
        assert_eq!(sql.text(statement).await, expected, "{statement}");
    }
}

/// Each row has a group in each of up to 4,096 sets.
#[tokio::test(flavor = "multi_thread")]
async fn what_sets_make_is_bounded() {
    let keys = |n: usize| (0..n).map(|k| format!("n + {k}")).collect::<Vec<_>>().join(", ");
    let options = SqlOptions {
        threads: 2,
        query_bytes_max: 64 << 20,
        query_time: Some(Duration::from_secs(1)),
        ..SqlOptions::default()
    };
    let sql = Sql::with(options).await;
    let error = sql.query(&format!("select count(*) from many group by cube({})", keys(12))).await;
    let error = error.unwrap_err();
    // By its time or, on a fast machine, by its memory.
    assert!(!error.contains("the query failed"), "{error}");
    sql.lives().await;
    // Cut up, a batch has the same groups: 5,000 rows in each set.
    let sql = Sql::new().await;
    let of = |sets: &str| {
        let sets = format!("select count(*) c from many group by {sets}");
        format!("select concat(cast(sum(c) as bigint), ' in ', count(*)) from ({sets})")
    };
    for (sets, expected) in [
        ("cube(n, n % 2, n % 3, n % 5)", "80000 in 40072"),
        ("rollup(n % 2, n % 3)", "15000 in 9"),
        ("grouping sets ((t), (n % 7), ())", "15000 in 5008"),
        ("cube(n % 2, n % 2 + 1, n % 2 + 2, n % 2 + 3, n % 2 + 4, n % 2 + 5)", "320000 in 127"),
    ] {
        assert_eq!(sql.text(&of(sets)).await, expected, "{sets}");
    }
}

/// DataFusion would execute that side again, which panics.
#[tokio::test(flavor = "multi_thread")]
async fn a_nested_loop_join_without_memory_for_one_side_is_refused() {
    let options = SqlOptions { threads: 2, query_bytes_max: 16 << 20, ..SqlOptions::default() };
    let sql = Sql::with(options).await;
    for statement in [
        "select count(*) from many a, many b, many c where a.n + b.n + c.n = -1",
        "select count(*) from (select a.n + b.n s from many a, many b) x \
         left join many c on x.s + c.n = -1",
    ] {
        let error = sql.query(statement).await.unwrap_err();
        assert!(
            error.contains("a join without equal columns keeps one side in memory; "),
            "{statement}: {error}"
        );
    }
    sql.lives().await;
}

/// Each of its steps is a new execution of the join.
#[tokio::test(flavor = "multi_thread")]
async fn a_nested_loop_join_may_be_repeated_by_a_recursion() {
    let sql = Sql::new().await;
    for (kind, expected) in [("join", "31"), ("left join", "47")] {
        let statement = format!(
            "with recursive t as (select 1 a union all \
             select t.a + 1 from t {kind} (select n from many where n < 2) m \
             on t.a * 2 < m.n + 9 where t.a < 6) select cast(count(*) as text) from t"
        );
        assert_eq!(sql.text(&statement).await, expected, "{statement}");
    }
}

/// However many queries work, others begin; and a query without a reader ends long before its time
/// is over.
#[tokio::test(flavor = "multi_thread")]
async fn long_queries_keep_no_other_from_working() {
    let sql = Sql::new().await;
    let endless = "select count(*) from generate_series(1, 1000000000000)";
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut streams = Vec::new();
    for _ in 0..threads + 1 {
        let mut client = sql.client();
        let info = client.execute(endless.to_owned(), None).await.unwrap();
        streams.push(client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap());
    }
    assert_eq!(sql.query("select count(*) from many").await.unwrap()[0].num_rows(), 1);
    drop(streams);
    sql.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_ends_when_its_time_is_over() {
    let options = SqlOptions {
        threads: 2,
        // On a fast machine memory would be used up before.
        memory_bytes_max: 8 << 30,
        query_bytes_max: 8 << 30,
        query_time: Some(Duration::from_secs(1)),
    };
    let sql = Sql::with(options).await;
    for statement in [
        "select count(*) from many a, many b, many c, many d",
        "select count(*) from generate_series(1, 1000000000000)",
        "with recursive t as (select 1 a union all select a + 1 from t) select count(*) from t",
        // All of these make, or look for, rows from one batch of each table.
        "select count(*) from many a left join many b on a.n < b.n left join many c on b.n < c.n",
        "select count(*) from many a full join many b on a.n < b.n full join many c on b.n < c.n",
        "select count(*) from many a, many b, many c where a.n + b.n + c.n = -1",
        "select count(*) from many a where not exists \
         (select 1 from many b, many c where a.n + b.n + c.n = -1)",
        "select count(*) from many a join many b on a.n / 9999 = b.n / 9999 \
         join many c on b.n / 9999 = c.n / 9999 and a.n + b.n + c.n = -1",
        "select max(length(repeat(a.t, 100))) from many a, many b, many c",
    ] {
        let error = sql.query(statement).await.unwrap_err();
        assert!(error.contains("the query took more than"), "{statement}: {error}");
    }
    sql.lives().await;
}
