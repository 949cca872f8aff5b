// SPDX-License-Identifier: Apache-2.0
//! What a few bytes become is bounded: batches end between two records, and a record that is too
//! large by itself is an error like any other.

use std::sync::Arc;

use arrowsmith_core::{
    Chunk, DecodeOptions, Decoder, Error, ErrorKind, Framing, Limits, OnError, Position, Report,
};
use arrowsmith_engine::Engine;
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_testkit::render;

fn plan(schema: &str) -> Arc<Plan> {
    Arc::new(Plan::new(Arc::new(parse_schema(schema).unwrap())).unwrap())
}

fn wide(columns: usize) -> String {
    (0..columns).map(|column| format!("c{column}: int64")).collect::<Vec<_>>().join(", ")
}

fn options(batch_bytes_max: usize) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.limits = Limits::default().with_batch_bytes_max(batch_bytes_max);
    options
}

fn decoder(plan: &Arc<Plan>, options: &DecodeOptions) -> Box<dyn Decoder> {
    CpuEngine::default().decoder(plan, options).unwrap()
}

/// All batches of a text, limited to about `bytes`, with the rows of the largest one; the
/// reports of the parts are merged.
fn in_batches(
    plan: &Arc<Plan>,
    options: &DecodeOptions,
    text: &str,
    framing: Framing,
    bytes: usize,
) -> (Vec<String>, Report, Option<Error>, usize) {
    let mut decoder = decoder(plan, options);
    assert!(decoder.set_batch_bytes(bytes));
    let (mut rows, mut all, mut largest) = (Vec::new(), Report::default(), 0);
    let mut at = 0;
    loop {
        let chunk = Chunk {
            bytes: &text.as_bytes()[at..],
            len: text.len() - at,
            framing,
            position: Position {
                source: None,
                record: all.records,
                line: 1 + all.lines,
                offset: at as u64,
            },
        };
        let said = decoder.decode(&chunk);
        let batch = decoder.flush().unwrap();
        largest = largest.max(batch.as_ref().map_or(0, |batch| batch.num_rows()));
        rows.extend(batch.map(|batch| render::rows(&batch)).unwrap_or_default());
        let said = match said {
            Ok(said) => said,
            Err(error) => return (rows, all, Some(error), largest),
        };
        all.records += said.records;
        all.lines += said.lines;
        all.rejects.extend(said.rejects);
        all.left_out += said.left_out;
        let before = at;
        at = text.len() - said.unread;
        if said.unread == 0 {
            return (rows, all, None, largest);
        }
        assert!(at > before, "no record was decoded");
    }
}

fn texts(records: &[String]) -> [(String, Framing); 4] {
    [
        (records.join("\n") + "\n", Framing::Lines),
        (records.join(""), Framing::Concatenated),
        (records.join(",\n "), Framing::Array),
        (format!("\n {}\r\n\n", records.join(" \r\n\n")), Framing::Lines),
    ]
}

#[test]
fn what_is_said_of_faults_does_not_depend_on_where_batches_end() {
    let plan = plan("a: int8, t: utf8");
    let records = ["{\"a\":1", "{\"t\":\"x\",", "{\"a\":400}", "{\"t\":", "{\"a\":2}", "[1", "{}{"];
    let records: Vec<String> =
        records.iter().cycle().take(40).map(|&text| text.to_owned()).collect();
    let mut options = DecodeOptions::default();
    for on_error in [OnError::Skip, OnError::Null] {
        options.on_error = on_error;
        for text in [records.join("\n") + "\n", records.join(" \r\n\n")] {
            let (whole, said, ..) = in_batches(&plan, &options, &text, Framing::Lines, usize::MAX);
            assert!(said.rejects.len() > 30, "{}", said.rejects.len());
            for bytes in [1, 200, 1000] {
                let (rows, parts, ..) = in_batches(&plan, &options, &text, Framing::Lines, bytes);
                assert_eq!((&rows, &parts.rejects), (&whole, &said.rejects), "{bytes} bytes");
            }
        }
    }
}

#[test]
fn batches_end_between_records_and_nothing_else_changes() {
    let schema = format!("{}, t: utf8, l: list<struct<x: int64, y: utf8>>", wide(40));
    let plan = plan(&schema);
    let record = |number: usize| match number % 7 {
        0 => format!("{{\"c3\":{number},\"t\":\"{}\"}}", "é\\n".repeat(number % 50)),
        1 => format!("{{\"l\":[{}]}}", vec!["{\"x\":1},{\"y\":\"z\"}"; number % 9 + 1].join(",")),
        2 => "{\"t\":\"}{,\\\"\",\"later\":[1,{\"c3\":2}]}".to_owned(),
        _ => "{}".to_owned(),
    };
    let records: Vec<String> = (0..6000).map(record).collect();
    for (text, framing) in texts(&records) {
        let options = DecodeOptions::default();
        let (whole, said, error, all) = in_batches(&plan, &options, &text, framing, usize::MAX);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((all, said.records, said.left_out), (6000, 6000, 857));
        let (rows, parts, error, largest) = in_batches(&plan, &options, &text, framing, 256 << 10);
        assert!(error.is_none(), "{error:?}");
        assert!((50..1500).contains(&largest), "{largest}");
        assert!(rows == whole, "{framing:?}");
        assert_eq!((parts.records, parts.lines), (said.records, said.lines));
        assert_eq!(parts.left_out, said.left_out, "{framing:?}");
    }
}

#[test]
fn a_record_that_is_too_large_by_itself_is_an_error_with_its_place() {
    let plan = plan("a: list<struct<x: struct<y: fixed_size_list<int64, 64>>>>, b: utf8");
    let large = format!("{{\"a\":[{}]}}", vec!["{}"; 20_000].join(","));
    let small = "{\"b\":\"é\"}".to_owned();
    let records = [small.clone(), small.clone(), large.clone(), small.clone()];
    for (text, framing) in texts(&records) {
        let place = text.find("{\"a\"").unwrap() as u64;
        for bytes in [usize::MAX, 64 << 10] {
            let (rows, _, error, _) = in_batches(&plan, &options(4 << 20), &text, framing, bytes);
            let error = error.expect("it becomes 10 MB");
            let data = error.as_data().unwrap();
            assert_eq!((data.kind, data.position.record), (ErrorKind::Limit, 2), "{error}");
            assert_eq!(data.position.offset, place, "{error}");
            assert!(error.to_string().contains("batch_bytes_max"), "{error}");
            assert_eq!(rows.len(), 2);
            // With room it is a record like any other.
            let (rows, ..) = in_batches(&plan, &options(64 << 20), &text, framing, bytes);
            assert_eq!(rows.len(), 4);
        }
        let mut skip = options(4 << 20);
        skip.on_error = OnError::Skip;
        let (rows, said, error, _) = in_batches(&plan, &skip, &text, framing, 64 << 10);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((rows.len(), said.records, said.rejects.len()), (3, 4, 1));
        assert_eq!(said.rejects[0].record, large.as_bytes());
        assert_eq!(said.rejects[0].error.kind, ErrorKind::Limit);
        assert_eq!(said.rejects[0].error.position.offset, place);
    }
}

#[test]
fn a_decoder_goes_on_after_memory_was_refused() {
    let plan = plan(&wide(100));
    let text = "{}\n".repeat(10_000);
    let mut decoder = decoder(&plan, &options(1 << 20));
    let error = decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap_err();
    assert_eq!(error.as_data().map(|data| data.kind), Some(ErrorKind::Limit));
    let kept = decoder.rows();
    assert!((100..2000).contains(&kept), "{kept}");
    assert_eq!(error.as_data().unwrap().position.record, kept as u64);
    assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), kept);
    let said = decoder.decode(&Chunk::new(b"{\"c7\":1}\n", Framing::Lines)).unwrap();
    assert_eq!((said.records, said.unread), (1, 0));
    assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), 1);
}

#[test]
fn widths_that_no_memory_holds_are_refused_before_anything_is_decoded() {
    for schema in [
        "a: fixed_size_binary(2147483647)",
        "a: fixed_size_list<int8, 2147483647>",
        "a: fixed_size_list<null, 2147483647>",
        "a: list<fixed_size_list<fixed_size_list<int8, 65536>, 65536>>",
        "root value, v: fixed_size_list<struct<x: bool not null, y: utf8>, 2147483647>",
    ] {
        let refused = CpuEngine::default().decoder(&plan(schema), &DecodeOptions::default());
        let said = refused.err().expect(schema).to_string();
        assert!(said.contains("row_bytes_max, 1048576"), "{said}");
    }
    // Up to the limit nulls are made many at a time, and all of them are there.
    let plan = plan("a: fixed_size_list<struct<x: fixed_size_list<int8, 512>, y: bool>, 512>");
    let mut decoder = decoder(&plan, &DecodeOptions::default());
    decoder.decode(&Chunk::new(b"{}\n{\"a\":null}\n", Framing::Lines)).unwrap();
    let batch = decoder.flush().unwrap().unwrap();
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (2, 2));
    batch.column(0).to_data().validate_full().unwrap();
}

#[test]
fn the_kernel_for_lists_keeps_to_the_depth() {
    let text = "{\"a\":null}\n".to_owned() + &"{\"a\":[1,22,333]}\n".repeat(2000);
    let mut options = DecodeOptions::default();
    options.limits = Limits::default().with_depth_max(1);
    let mut decoder = decoder(&plan("a: list<int64>"), &options);
    let error = decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap_err();
    let data = error.as_data().unwrap();
    assert_eq!((data.kind, data.position.record), (ErrorKind::DepthExceeded, 1));
    assert_eq!(decoder.rows(), 1);
}

#[test]
fn values_that_no_column_takes_are_counted() {
    let plan = plan("a: int64, o: struct<p: utf8>, l: list<struct<q: int64>>");
    let record =
        "{\"a\":1,\"late\":[2],\"o\":{\"p\":\"x\",\"r\":{}},\"l\":[{\"q\":1,\"s\":1},{\"s\":2}]}\n";
    for count in [1, 7, 9, 1000] {
        let mut text = record.repeat(count);
        let mut decoder = decoder(&plan, &DecodeOptions::default());
        let said = decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
        assert_eq!((said.left_out, said.left_out_key.as_deref()), (4 * count as u64, Some("late")));
        text = "{\"a\":2}\n".repeat(count);
        let said = decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
        assert_eq!((said.left_out, said.left_out_key), (0, None));
    }
}

#[test]
fn nulls_in_a_row_are_where_they_were() {
    let plan = plan("a: int8, b: fixed_size_list<int8, 70>");
    let there =
        |row: usize| matches!(row, 0 | 65 | 66 | 131 | 500) || (row > 600 && row.is_multiple_of(3));
    let record = |row| if there(row) { "{\"a\":1}\n" } else { "{}\n" };
    for rows in [1, 64, 65, 66, 130, 131, 200, 501, 1000] {
        let text: String = (0..rows).map(record).collect();
        let mut decoder = decoder(&plan, &DecodeOptions::default());
        decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
        let batch = decoder.flush().unwrap().unwrap();
        let found: Vec<usize> = (0..rows).filter(|row| batch.column(0).is_valid(*row)).collect();
        assert_eq!(found, (0..rows).filter(|row| there(*row)).collect::<Vec<_>>());
        assert_eq!(batch.column(1).null_count(), rows);
        batch.column(1).to_data().validate_full().unwrap();
    }
}
