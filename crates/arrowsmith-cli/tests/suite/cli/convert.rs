// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith convert` on good input, read back with the Arrow crates.

use std::fs;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::cli::data::{everyday, read_file, read_parquet, read_stream, whole, write_schema};
use crate::cli::run::{Folder, snapshot};

fn generate(folder: &Folder, args: &[&str], name: &str) -> Vec<u8> {
    let ran = folder.run(&[&["generate", "-q", "-o", name], args].concat());
    ran.assert_status(0);
    folder.read(name)
}

/// What `serde_json` reads from `battery`.
fn voltages(text: &[u8]) -> Vec<Vec<u64>> {
    let records = serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Value>();
    let voltage = |record: serde_json::Value| -> Vec<u64> {
        record["voltage"].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
    };
    records.map(|record| voltage(record.unwrap())).collect()
}

fn assert_voltages(batches: &[RecordBatch], wanted: &[Vec<u64>]) {
    let batch = whole(batches);
    assert_eq!(batch.num_rows(), wanted.len());
    let lists = batch.column(0).as_list::<i32>();
    for (found, wanted) in lists.iter().zip(wanted) {
        assert_eq!(found.unwrap().as_primitive::<UInt64Type>().values(), wanted.as_slice());
    }
}

#[test]
fn battery_to_every_format() {
    let folder = Folder::new();
    let text = generate(&folder, &["battery-u64", "--bytes", "3MiB"], "b.jsonl");
    let wanted = voltages(&text);
    for name in ["b.arrow", "b.feather", "b.ipc", "b.arrows", "b.parquet"] {
        let ran = folder.run(&["convert", "b.jsonl", "-o", name, "--schema", "battery-u64"]);
        ran.assert_status(0);
        let rows = wanted.len().to_string();
        let summary = ran.stderr.replace(',', "");
        assert!(summary.starts_with(&format!("{rows} rows; 3.0 MiB in ")), "{}", ran.stderr);
        assert!(summary.ends_with("0 rejected 0 nulled\n"), "{}", ran.stderr);
        let batches = match name {
            "b.arrows" => read_stream(&folder.read(name)),
            "b.parquet" => read_parquet(&folder, name),
            _ => read_file(&folder, name),
        };
        assert_voltages(&batches, &wanted);
    }
    assert_eq!(folder.names().len(), 6, "nothing is left behind: {:?}", folder.names());
}

#[test]
fn both_engines_agree() {
    let folder = Folder::new();
    generate(&folder, &["trip-full", "--bytes", "1MiB"], "t.jsonl");
    let convert = |name: &str, engine: &str| {
        let args = ["convert", "t.jsonl", "-o", name, "--schema", "trip-full", "--engine", engine];
        folder.run(&args).assert_status(0);
        whole(&read_file(&folder, name))
    };
    assert_eq!(convert("cpu.arrow", "cpu"), convert("reference.arrow", "reference"));
}

#[test]
fn threads_batches_and_compression_change_nothing() {
    let folder = Folder::new();
    generate(&folder, &["logs", "--bytes", "3MiB"], "l.jsonl");
    let convert = |name: &str, args: &[&str]| {
        let call = ["convert", "l.jsonl", "-q", "-o", name, "--schema", "logs"];
        folder.run(&[&call[..], args].concat()).assert_status(0);
        read_file(&folder, name)
    };
    let wanted = whole(&convert("one.arrow", &["--threads", "1"]));
    assert_eq!(whole(&convert("four.arrow", &["--threads", "4"])), wanted);
    let small = convert("small.arrow", &["--batch-rows", "100"]);
    assert!(small[..small.len() - 1].iter().all(|batch| batch.num_rows() == 100));
    assert_eq!(whole(&small), wanted);
    let large = convert("large.arrow", &["--batch-bytes", "1GiB"]);
    assert_eq!(large, std::slice::from_ref(&wanted));
    assert_eq!(whole(&convert("trust.arrow", &["--trust"])), wanted);
    assert_eq!(whole(&convert("little.arrow", &["--memory", "1MiB"])), wanted);
    let plain = folder.read("one.arrow").len();
    for compression in ["zstd", "lz4"] {
        let found = convert("packed.arrow", &["--buffer-compression", compression]);
        assert_eq!(whole(&found), wanted);
        assert!(folder.read("packed.arrow").len() < plain);
    }
}

#[test]
fn a_schema_from_wherever_it_stands() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\":1,\"user\":{\"tags\":[\"x\"]}}\n");
    write_schema(&folder, "message", everyday());
    let convert = |name: &str, schema: &str| {
        let args = ["convert", "in.jsonl", "-o", name, "--schema", schema];
        let ran = folder.run(&args);
        assert_eq!(ran.status, 0, "{schema}: {}", ran.text());
    };
    convert("a.arrow", "message");
    let wanted = whole(&read_file(&folder, "a.arrow"));
    convert("a.arrows", "message");
    convert("a.parquet", "message");
    let text = "id: int64 not null, name: utf8, score: float64, small: uint8, \
        user: struct<name: utf8, tags: list<utf8>>";
    folder.write("text", text);
    for schema in ["a.arrow", "a.arrows", "a.parquet", "text", text] {
        convert("b.arrow", schema);
        assert_eq!(whole(&read_file(&folder, "b.arrow")), wanted, "{schema}");
    }
    let ran = folder.run(&["convert", "in.jsonl", "-o", "c.arrow", "--schema", "missing"]);
    ran.assert_status(2);
}

#[test]
fn through_pipes() {
    let folder = Folder::new();
    let text = generate(&folder, &["battery", "--bytes", "1MiB"], "b.jsonl");
    let ran = folder.run_with(&["convert", "-", "-o", "-", "--schema", "battery"], &text);
    ran.assert_status(0);
    assert_voltages(&read_stream(&ran.stdout), &voltages(&text));
    let ran = folder
        .run_with(&["convert", "-", "-o", "-", "--to", "parquet", "--schema", "battery"], &text);
    folder.write("piped.parquet", &ran.assert_status(0).stdout);
    assert_voltages(&read_parquet(&folder, "piped.parquet"), &voltages(&text));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = Folder::new();
    generate(&folder, &["battery", "--bytes", "8MiB"], "b.jsonl");
    let args = ["convert", "b.jsonl", "-o", "-", "--schema", "battery"];
    let mut child = folder.command(&args).spawn().unwrap();
    drop(child.stdout.take());
    let ran = crate::cli::run::finish(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn compressed_input_by_name_and_by_content() {
    let folder = Folder::new();
    let text = generate(&folder, &["battery", "--bytes", "300KiB"], "b.jsonl");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&text).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&text).unwrap();
    let packed = [
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::encode_all(text.as_slice(), 1).unwrap()),
        ("lz4", lz4.finish().unwrap()),
    ];
    for (name, bytes) in packed {
        folder.write("packed", &bytes);
        for args in [&["packed"][..], &["packed", "--compression-in", name]] {
            let call = ["convert", "-q", "-o", "out.arrow", "--schema", "battery"];
            folder.run(&[&call[..], args].concat()).assert_status(0);
            assert_voltages(&read_file(&folder, "out.arrow"), &voltages(&text));
        }
        let ran = folder.run_with(&["convert", "-", "-o", "-", "--schema", "battery"], &bytes);
        assert_voltages(&read_stream(&ran.stdout), &voltages(&text));
        folder.write("packed", &bytes[..bytes.len() / 2]);
        let ran = folder.run(&["convert", "packed", "-o", "half.arrow", "--schema", "battery"]);
        ran.assert_status(1);
        assert!(ran.stderr.starts_with("error: packed: "), "{name}: {}", ran.stderr);
        assert!(!folder.path("half.arrow").exists(), "{name}");
    }
}

#[test]
fn every_framing() {
    let folder = Folder::new();
    write_schema(&folder, "schema", everyday());
    for (name, text, formats) in [
        ("lines", "{\"id\":1}\n{\"id\":2}\n", &["auto", "ndjson", "concatenated"][..]),
        ("pretty", "{\n  \"id\": 1\n}\n{\n  \"id\": 2\n}\n", &["auto", "concatenated", "json"]),
        ("tight", "{\"id\":1}{\"id\":2}", &["concatenated"]),
        ("array", "[\n {\"id\":1},\n {\"id\":2}\n]\n", &["auto", "array"]),
    ] {
        folder.write("in", text);
        for format in formats {
            let args =
                ["convert", "in", "-o", "out.arrow", "--schema", "schema", "--format", format];
            let ran = folder.run(&args);
            assert_eq!(ran.status, 0, "{name} as {format}: {}", ran.text());
            let batch = whole(&read_file(&folder, "out.arrow"));
            assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2], "{name}");
        }
    }
}

#[test]
fn many_inputs_in_their_order() {
    let folder = Folder::new();
    for n in 0..5 {
        folder.write(&format!("part-{n}.jsonl"), format!("{{\"id\":{n}}}\n"));
    }
    write_schema(&folder, "schema", everyday());
    let args =
        ["convert", "part-[1-4].jsonl", "part-0.jsonl", "-o", "out.arrow", "--schema", "schema"];
    folder.run(&args).assert_status(0);
    let batch = whole(&read_file(&folder, "out.arrow"));
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[1, 2, 3, 4, 0]);
}

#[test]
fn columns_are_projected() {
    let folder = Folder::new();
    folder.write(
        "in.jsonl",
        "{\"id\":1,\"user\":{\"name\":\"a\",\"tags\":[\"x\"]},\"name\":\"b\"}\n",
    );
    write_schema(&folder, "schema", everyday());
    let call = ["convert", "in.jsonl", "-o", "out.arrow", "--schema", "schema"];
    folder.run(&[&call[..], &["--columns", "user.name,id"]].concat()).assert_status(0);
    let batch = whole(&read_file(&folder, "out.arrow"));
    let names: Vec<String> =
        batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "user"]);
    let user = batch.column(1).as_struct();
    assert_eq!((user.num_columns(), user.column(0).as_string::<i32>().value(0)), (1, "a"));
}

#[test]
fn the_plan_is_explained_and_nothing_done() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"id\":1}\n");
    write_schema(&folder, "schema", everyday());
    let ran = folder.run(&["convert", "in.jsonl", "--schema", "schema", "--explain"]);
    snapshot("explain/everyday.txt", &ran.text());
    let args = ["convert", "in.jsonl", "-o", "x.arrow", "--schema", "trip", "--explain"];
    let ran = folder.run(&[&args[..], &["--columns", "timestamp,accel"]].concat());
    snapshot("explain/trip_columns.txt", &ran.text());
    assert_eq!(folder.names(), ["in.jsonl", "schema"]);
}

#[test]
fn parquet_options_reach_the_file() {
    let folder = Folder::new();
    generate(&folder, &["trip", "--rows", "1000"], "t.jsonl");
    let call = ["convert", "t.jsonl", "-o", "t.parquet", "--schema", "trip"];
    let options = ["--codec", "snappy", "--row-group-rows", "300", "--no-dictionary", "--fsync"];
    folder.run(&[&call[..], &options].concat()).assert_status(0);
    let report = folder.run(&["inspect", "--json", "t.parquet"]).stdout;
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["row_groups"].as_array().unwrap().len(), 4);
    assert_eq!(report["columns"][0]["codec"], "snappy");
    assert_eq!(report["columns"][0]["encodings"], serde_json::json!(["plain"]));
}

#[test]
fn bloom_filters_and_codecs_are_chosen() {
    let folder = Folder::new();
    generate(&folder, &["logs", "--rows", "3000"], "l.jsonl");
    let call = ["convert", "l.jsonl", "-q", "-o", "l.parquet", "--codec", "auto", "--bloom-filter"];
    folder.run(&[&call[..], &["trace_id,service"]].concat()).assert_status(0);
    let file = fs::File::open(folder.path("l.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let group = reader.metadata().row_group(0);
    for chunk in group.columns() {
        let path = chunk.column_path().string();
        let requested = path == "trace_id" || path.starts_with("service.");
        assert_eq!(chunk.bloom_filter_offset().is_some(), requested, "{path}");
    }
    let mut codecs: Vec<_> =
        group.columns().iter().map(|chunk| format!("{:?}", chunk.compression())).collect();
    codecs.sort();
    codecs.dedup();
    assert!(codecs.len() > 1, "{codecs:?}");
    let ran = folder.run(&[&call[..], &["nothing"]].concat());
    assert!(ran.assert_status(2).stderr.contains("no column nothing"), "{}", ran.stderr);
    let call = [&call[..], &["msg", "--writer", "reference"]].concat();
    folder.run(&call).assert_status(2);
}

#[test]
fn json_columns_are_variant_where_requested() {
    let folder = Folder::new();
    let text = concat!(
        "{\"id\":1,\"v\":{\"b\":[1,2.50,\"é\"],\"a\":null},\"l\":[true,{\"x\":{}}]}\n",
        "{\"id\":2,\"v\":null,\"l\":[]}\n",
        "{\"id\":3,\"v\":12345678901234567890,\"l\":[\"y\"]}\n",
    );
    folder.write("v.jsonl", text);
    let types = ["--types", "v: json, l: list<json>"];
    let call = ["convert", "v.jsonl", "-q", "-o", "v.parquet", "--variant", "--threads", "2"];
    folder.run(&[&call[..], &types].concat()).assert_status(0);
    let file = fs::File::open(folder.path("v.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mut schema = Vec::new();
    let root = reader.metadata().file_metadata().schema_descr().root_schema().clone();
    parquet::schema::printer::print_schema(&mut schema, &root);
    let schema = String::from_utf8(schema).unwrap();
    assert_eq!(schema.matches("VARIANT").count(), 2, "{schema}");
    // The same values come back, from a copy of the file, too, and in the order of their keys.
    for (input, output) in [("v.parquet", "c.parquet"), ("c.parquet", "v.arrow")] {
        folder.run(&["convert", input, "-q", "-o", output]).assert_status(0);
    }
    for input in ["v.parquet", "c.parquet", "v.arrow"] {
        folder.run(&["convert", input, "-q", "-o", "back.jsonl"]).assert_status(0);
        assert_eq!(String::from_utf8(folder.read("back.jsonl")).unwrap(), text, "{input}");
    }
    folder
        .run(&["convert", "v.parquet", "-q", "--columns", "id,v", "-o", "v.csv"])
        .assert_status(0);
    let csv = String::from_utf8(folder.read("v.csv")).unwrap();
    assert!(csv.contains("2,\n3,12345678901234567890\n"), "{csv}");

    folder.write("twice.jsonl", "{\"v\":{\"a\":1,\"a\":2}}\n");
    let call =
        ["convert", "twice.jsonl", "-q", "-o", "t.parquet", "--variant", "--types", "v: json"];
    let ran = folder.run(&call);
    assert!(
        ran.assert_status(1).stderr.contains("field v: a key is there twice"),
        "{}",
        ran.stderr
    );
    assert!(!folder.path("t.parquet").exists());
    for (status, args) in [
        (2, ["-o", "x.arrow", "--variant", "-q"]),
        (2, ["-o", "x.parquet", "--variant", "--writer=reference"]),
        (2, ["-o", "x", "--variant", "--to=delta"]),
    ] {
        let ran = folder.run(&[&["convert", "v.jsonl"][..], &args].concat());
        assert!(ran.assert_status(status).stderr.to_lowercase().contains("variant"), "{args:?}");
    }
}

#[test]
fn parquet_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    generate(&folder, &["logs", "--bytes", "2MiB"], "l.jsonl");
    let convert = |input: &str, name: &str, args: &[&str]| {
        folder.run(&[&["convert", input, "-q", "-o", name], args].concat()).assert_status(0);
        folder.read(name)
    };
    let schema = ["--schema", "logs", "--row-group-rows", "5000"];
    let one = convert("l.jsonl", "one.parquet", &[&schema[..], &["--threads", "1"]].concat());
    for threads in ["2", "5"] {
        let args = [&schema[..], &["--threads", threads]].concat();
        assert!(convert("l.jsonl", "many.parquet", &args) == one, "{threads}");
    }
    let again = convert("one.parquet", "again.parquet", &["--threads", "1"]);
    assert!(convert("one.parquet", "many.parquet", &["--threads", "3"]) == again);

    let rows = whole(&read_parquet(&folder, "one.parquet"));
    assert_eq!(whole(&read_parquet(&folder, "again.parquet")), rows);
    for args in [["--writer", "reference"], ["--encodings", "compatible"]] {
        let other = convert("l.jsonl", "other.parquet", &[&schema[..], &args[..]].concat());
        assert_eq!(whole(&read_parquet(&folder, "other.parquet")), rows);
        assert!(one.len() < other.len(), "{} {}", one.len(), other.len());
    }
}

#[test]
fn an_existing_output_is_replaced_only_by_a_whole_one() {
    let folder = Folder::new();
    write_schema(&folder, "schema", everyday());
    folder.write("out.arrow", "before");
    folder.write("in.jsonl", "{\"id\":1}\n{");
    let args = ["convert", "in.jsonl", "-o", "out.arrow", "--schema", "schema"];
    folder.run(&args).assert_status(1);
    assert_eq!(folder.read("out.arrow"), b"before");
    folder.write("in.jsonl", "{\"id\":1}\n");
    folder.run(&args).assert_status(0);
    assert_eq!(read_file(&folder, "out.arrow").len(), 1);
}

#[test]
fn progress_as_lines_when_requested() {
    let folder = Folder::new();
    generate(&folder, &["battery", "--bytes", "1MiB"], "b.jsonl");
    let args =
        ["convert", "b.jsonl", "-o", "b.arrow", "--schema", "battery", "--progress", "always"];
    let ran = folder.run(&args);
    assert!(ran.stderr.contains("progress: 100%, 1.0 MiB of 1.0 MiB, "), "{}", ran.stderr);
    let args = ["convert", "b.jsonl", "-o", "b.arrow", "--schema", "battery", "--quiet"];
    assert_eq!(folder.run(&args).stderr, "");
}

/// What the command writes, it reads.
#[test]
fn arrow_files_and_streams_are_inputs() {
    let folder = Folder::new();
    generate(&folder, &["logs", "--bytes", "2MiB"], "l.jsonl");
    let run = |args: &[&str]| {
        let ran = folder.run(&[&["convert", "-q"], args].concat());
        ran.assert_status(0);
        ran.stdout
    };
    run(&["l.jsonl", "-o", "expected.parquet"]);
    let expected = folder.read("expected.parquet");
    for name in ["l.arrow", "l.feather", "l.arrows"] {
        run(&["l.jsonl", "-o", name]);
        run(&[name, "-o", "found.parquet"]);
        assert!(folder.read("found.parquet") == expected, "{name}");
    }
    let window = ["l.arrow", "-o", "few.arrow", "--columns", "seq,level", "--skip", "2"];
    run(&[&window[..], &["--limit", "5", "--where", "level = 'ERROR'"]].concat());
    let few = whole(&read_file(&folder, "few.arrow"));
    assert_eq!((few.num_rows(), few.num_columns()), (5, 2));
    let twice = run(&["l.arrow", "l.arrow", "-o", "-", "--to", "ndjson", "--columns", "seq"]);
    assert_eq!(twice.len() % 2, 0);
    let (one, other) = twice.split_at(twice.len() / 2);
    assert_eq!(one, other);

    // Cut off, or not what the name says.
    for name in ["l.arrow", "l.arrows"] {
        let bytes = folder.read(name);
        for length in [0, 4, 7, 8, 100, bytes.len() / 2, bytes.len() - 9] {
            folder.write(&format!("cut-{name}"), &bytes[..length]);
            let ran = folder.run(&["convert", &format!("cut-{name}"), "-o", "cut.parquet"]);
            // A stream may end after a message.
            let ends = name == "l.arrows" && length + 8 >= bytes.len();
            assert_eq!(ran.status, i32::from(!ends), "{name} {length}: {}", ran.text());
        }
    }
    for (args, expected) in [
        (&["l.arrow", "--on-error", "skip"][..], "--on-error is not for Arrow input"),
        (&["l.arrow", "-", "--format", "arrow"], "an Arrow stream (-) is read alone"),
        (&["http://a:SECRET@h/l.arrow"], "from local files and standard input"),
    ] {
        let ran = folder.run(&[&["convert", "-o", "x.parquet"], args].concat());
        ran.assert_status(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert!(!ran.stderr.contains("SECRET"), "{}", ran.stderr);
    }
    let ran = folder.run(&["convert", "l.arrow", "l.jsonl", "-o", "x.parquet"]);
    ran.assert_status(2);
}

/// As an ingest stream whose schema grows writes them.
#[test]
fn arrow_files_that_differ_have_the_columns_of_all() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        folder.write("in.jsonl", text);
        folder.run(&["convert", "in.jsonl", "-q", "-o", name]).assert_status(0);
    };
    write("1.arrow", "{\"a\":1,\"o\":{\"x\":true}}\n");
    write("2.arrow", "{\"late\":\"t\",\"a\":1.5}\n{\"late\":null,\"o\":{\"y\":[1]}}\n");
    let ran = folder.run(&["convert", "1.arrow", "2.arrow", "-q", "-o", "-", "--to", "jsonl"]);
    ran.assert_status(0);
    let expected = concat!(
        "{\"a\":1.0,\"o\":{\"x\":true,\"y\":null},\"late\":null}\n",
        "{\"a\":1.5,\"o\":null,\"late\":\"t\"}\n",
        "{\"a\":null,\"o\":{\"x\":null,\"y\":[1]},\"late\":null}\n",
    );
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    let late = ["--columns", "late", "--where", "a > 1"];
    let args = ["convert", "1.arrow", "2.arrow", "-q", "-o", "-", "--to", "csv"];
    let ran = folder.run(&[&args[..], &late].concat());
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "late\nt\n");
    write("3.arrow", "{\"a\":{\"b\":1}}\n");
    let ran = folder.run(&["convert", "1.arrow", "3.arrow", "-o", "x.parquet"]);
    ran.assert_status(1);
    assert!(ran.stderr.contains("3.arrow: column a is Struct("), "{}", ran.stderr);
    assert!(ran.stderr.contains("in other files it is Int64"), "{}", ran.stderr);
}

/// By the first bytes, where there is no name, and in folders by the names of the files.
#[test]
fn formats_are_detected() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n");
    let run = |args: &[&str], stdin: &[u8]| {
        let ran = folder.run_with(&[&["convert", "-q"], args].concat(), stdin);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.text());
        String::from_utf8_lossy(ran.stdout.as_ref()).into_owned()
    };
    let text = run(&["in.jsonl", "-o", "-", "--to", "ndjson"], b"");
    for folder_name in ["arrow", "csv", "parquet"] {
        fs::create_dir(folder.path(folder_name)).unwrap();
    }
    for output in ["arrow/a.arrow", "arrow/b.arrows", "csv/a.csv.gz", "parquet/a.parquet"] {
        run(&["in.jsonl", "-o", output], b"");
        let input = folder.read(output);
        if !output.ends_with(".gz") {
            folder.write("unnamed", &input);
            assert_eq!(run(&["unnamed", "-o", "-", "--to", "ndjson"], b""), text, "{output}");
        }
        if output.ends_with(".arrows") {
            assert_eq!(run(&["-", "-o", "-", "--to", "ndjson"], &input), text);
            let selected = ["-", "-o", "-", "--to", "ndjson", "--columns", "b", "--where", "a < 2"];
            assert_eq!(run(&selected, &input), "{\"b\":\"x\"}\n");
            fs::remove_file(folder.path(output)).unwrap();
        }
    }
    for input in ["arrow", "csv", "parquet", "arrow/*", "csv/a*.gz", "p*quet/*.parquet"] {
        assert_eq!(run(&[input, "-o", "-", "--to", "ndjson"], b""), text, "{input}");
    }
    folder.write("csv/b.jsonl", "{}\n");
    let ran = folder.run(&["convert", "csv", "-o", "-"]);
    ran.assert_status(2);
    let expected = "error: csv: there are files of CSV and of JSON: give --format\n";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
}

#[test]
fn comma_separated_values_are_inputs() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name,day\n1,\"x, y\",2024-02-29\n2,,\n");
    folder.write("b.tsv", "id\tname\n3\tz\n");
    let ran = folder.run(&["convert", "-q", "a.csv", "-o", "-", "--to", "ndjson"]);
    ran.assert_status(0);
    let expected = "{\"id\":1,\"name\":\"x, y\",\"day\":\"2024-02-29\"}\n\
                    {\"id\":2,\"name\":null,\"day\":null}\n";
    assert_eq!(String::from_utf8_lossy(ran.stdout.as_ref()), expected);
    let schema = ["--schema", "id: int8, name: utf8"];
    let args = [&["convert", "-q", "b.tsv", "-o", "-", "--to", "ndjson"], &schema[..]].concat();
    assert_eq!(folder.run(&args).stdout.as_slice(), b"{\"id\":3,\"name\":\"z\"}\n".as_slice());
    for (text, message) in [
        ("id,name\n1,x\n2\n", "record 2: the header has 2 names, this record has 1\n"),
        ("id,name\n1,x,y\n", "record 1: the header has 2 names, this record has 3\n"),
        ("id,name\n1,\"\n\"\nx,y\n", "record 2: \"id\" of type int8 is 'x'\n"),
        ("id,other\n1,x\n", "the header has a column \"other\", which the schema lacks"),
        ("id\n1\n", "the header has no column \"name\""),
        ("id,name,id\n1,x,2\n", "two columns are named \"id\""),
        ("name,id\nx,y\n", "record 1: \"id\" of type int8 is 'y'\n"),
        ("id,name\n1,\"x\n2,y\n", "a quoted value does not end"),
    ] {
        folder.write("bad.csv", text);
        let ran = folder.run(&[&["convert", "bad.csv", "-o", "x.arrow"], &schema[..]].concat());
        assert_eq!(ran.status, 1, "{}", ran.text());
        assert!(ran.stderr.contains(message) && ran.stderr.contains("bad.csv"), "{}", ran.stderr);
    }
    folder.write("mark.csv", "\u{feff}id\n1\n");
    let ran = folder.run(&["convert", "-q", "mark.csv", "-o", "-", "--to", "ndjson"]);
    assert_eq!(ran.stdout.as_slice(), b"{\"id\":1}\n".as_slice());
    folder.write("bad.csv", "id,id\n1,2\n");
    let ran = folder.run(&["convert", "bad.csv", "-o", "x.arrow"]);
    assert_eq!(ran.stderr, "error: bad.csv: two columns are named \"id\"\n");
    let ran = folder.run(&["convert", "a.csv", "-o", "x.arrow", "--record-bytes-max", "10"]);
    assert_eq!(ran.stderr, "error: a.csv: a record is longer than 10 bytes\n");
    let ran = folder.run(&["convert", "a.csv", "b.tsv", "-o", "x.arrow"]);
    ran.assert_status(2);
}

/// Whatever the input is named, unless its name or bytes say that it is not CSV.
#[test]
fn values_have_any_delimiter() {
    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    let expected = b"{\"id\":1,\"name\":\"x, y\"}\n{\"id\":2,\"name\":\"a;\\t|b\"}\n";
    for (delimiter, text) in [(";", ";"), ("|", "|"), ("\\t", "\t"), ("\t", "\t"), ("-", "-")] {
        let rows = [["id", "name"], ["1", "x, y"], ["2", "\"a;\t|b\""]];
        let text = rows.map(|row| row.join(text) + "\n").concat();
        for name in ["a.csv", "a.tsv", "a.txt", "d/a.csv"] {
            folder.write(name, &text);
            let name = name.strip_suffix("/a.csv").unwrap_or(name);
            let args = ["convert", "-q", name, "--delimiter", delimiter, "-o", "-"];
            let ran = folder.run(&[&args[..], &["--to", "ndjson"]].concat());
            assert_eq!((ran.stderr.as_str(), &*ran.stdout), ("", &expected[..]), "{name}");
        }
        let args = ["convert", "-q", "-", "--delimiter", delimiter, "-o", "-", "--to", "ndjson"];
        assert_eq!(&*folder.run_with(&args, text.as_bytes()).stdout, &expected[..]);
        let ran = folder.run(&["infer", "a.txt", "--delimiter", delimiter]);
        assert_eq!(&*ran.stdout, b"id: int64\nname: utf8\n");
    }
    folder.write("a.jsonl", "{}\n");
    folder.write("a.csv", "id;name\n1;x\n");
    for (args, message) in [
        (&["a.jsonl", "--delimiter", ";"][..], "--delimiter is not for JSON input"),
        (&["a.txt", "--format", "ndjson", "--delimiter", ";"], "--delimiter is not for JSON input"),
        (&["a.txt", "--delimiter", "x"], "neither a letter nor a digit"),
        (&["a.txt", "--delimiter", "::"], "it is one character of ASCII"),
        (&["a.txt", "--delimiter", "é"], "it is one character of ASCII"),
        (&["a.txt", "--delimiter", "\""], "quotes and line ends"),
    ] {
        let ran = folder.run(&[&["infer"], args].concat());
        ran.assert_status(2);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    // Not silently one column.
    let note = "note: one column, \"id;name\": if ';' is between values, give --delimiter ';'\n";
    for args in [&["infer", "a.csv"][..], &["convert", "a.csv", "-o", "x.parquet"]] {
        let ran = folder.run(args);
        ran.assert_status(0);
        assert!(ran.stderr.starts_with(note), "{}", ran.stderr);
    }
}

/// Types for some columns, and a condition on one that is not kept.
#[test]
fn columns_of_csv_have_types_and_rows_conditions() {
    let folder = Folder::new();
    folder.write("a.csv", "id,zip,at\n1,01234,2024-02-29\n2,98765,2024-03-01\n3,,\n");
    let convert = |args: &[&str]| {
        let ran =
            folder.run(&[&["convert", "-q", "a.csv", "-o", "-", "--to", "ndjson"], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.text());
        String::from_utf8_lossy(ran.stdout.as_ref()).into_owned()
    };
    let types = ["--types", "zip: utf8, id: float32"];
    assert_eq!(
        convert(&[&types[..], &["--where", "zip is not null"]].concat()),
        "{\"id\":1.0,\"zip\":\"01234\",\"at\":\"2024-02-29\"}\n\
         {\"id\":2.0,\"zip\":\"98765\",\"at\":\"2024-03-01\"}\n"
    );
    let rows = ["--where", "id > 1", "--columns", "at,zip", "--skip", "1", "--limit", "1"];
    assert_eq!(convert(&rows), "{\"at\":null,\"zip\":null}\n");
    let infer = |args: &[&str]| folder.run(&[&["infer", "a.csv"], args].concat());
    assert_eq!(infer(&[]).stdout, b"id: int64\nzip: int64\nat: date32\n");
    assert_eq!(infer(&types).stdout, b"id: float32\nzip: utf8\nat: date32\n");
    let ran = infer(&["--infer-records", "1"]);
    assert!(ran.stderr.contains("inferred from the first 1 records"), "{}", ran.stderr);
    for (args, expected) in [
        (["--types", "other: utf8"], "--types: there is no column \"other\""),
        (["--types", "id.x: utf8"], "the field around it is"),
        (["--where", "other = 1"], "other"),
        (["--columns", "id,id"], "column \"id\" is named twice"),
    ] {
        let ran = folder.run(&[&["convert", "a.csv", "-o", "x.arrow"], &args[..]].concat());
        ran.assert_status(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let list = folder.run(&["convert", "a.csv", "-o", "x.arrow", "--types", "id: list<int8>"]);
    assert!(list.status != 0 && list.stderr.contains("List"), "{}", list.stderr);
}

/// A value that the sample of a column does not tell of is not lost, and does not end a conversion
/// that can begin again.
#[test]
fn types_after_the_sample_are_those_of_all_records() {
    let folder = Folder::new();
    let late = |rows, value| format!("n,s\n{}{value},x\n", "1,2\n".repeat(rows));
    // In one block, and after a batch of it.
    for rows in [20, 20_000] {
        folder.write("late.csv", late(rows, "2.5"));
        folder.write("early.csv", late(3, "4"));
        for target in ["x.arrow", "x.parquet", "x.csv"] {
            let args = ["early.csv", "late.csv", "-o", target, "--infer-records", "10"];
            folder.run(&[&["convert"], &args[..]].concat()).assert_status(0);
            let all = ["early.csv", "late.csv", "-o", "all", "--infer-records", "all", "--to"];
            let (_, extension) = target.split_once('.').unwrap();
            folder.run(&[&["convert"], &all[..], &[extension]].concat()).assert_status(0);
            assert!(folder.read(target) == folder.read("all"), "{target}");
            fs::remove_file(folder.path(target)).unwrap();
        }
        let hint =
            "; --infer-records all looks at every record, --types 'n: utf8' reads it as text";
        let ends = |args: &[&str], input: &str, hint: &str| {
            let args = [&["convert", "--infer-records", "10"], args].concat();
            let ran = folder.run_with(&args, input.as_bytes());
            ran.assert_status(1);
            let expected = format!("record {}: \"n\" of type int64 is '2.5'{hint}\n", rows + 1);
            assert!(ran.stderr.ends_with(&expected), "{}", ran.stderr);
            assert!(!folder.path("x.arrow").exists());
        };
        // What has been written, or read, is gone.
        ends(&["late.csv", "-o", "-"], "", hint);
        ends(&["--format", "csv", "-", "-o", "x.arrow"], &late(rows, "2.5"), hint);
        // A type that was given is not a guess.
        ends(&["late.csv", "-o", "x.arrow", "--types", "n: int64"], "", "");
    }
}

/// Times of one zone are not mixed with those of another, or of none.
#[test]
fn zones_of_csv_are_kept_or_the_times_are_text() {
    let folder = Folder::new();
    let (zoned, naive) = ("2024-02-29T01:02:03+02:00", "2024-02-29T01:02:03");
    for (values, expected) in [
        (&[zoned, "2024-02-29T01:02:03Z"][..], "at: timestamp(s, \"UTC\")\n"),
        (&[naive, naive], "at: timestamp(s)\n"),
        // The sample is of the first.
        (&[zoned, naive], "at: utf8\n"),
        (&[naive, zoned], "at: utf8\n"),
        (&[zoned, "2024-02-29"], "at: utf8\n"),
    ] {
        folder.write("a.csv", format!("at\n{}\n", values.join("\n")));
        let ran = folder.run(&["infer", "a.csv"]);
        assert_eq!(String::from_utf8_lossy(ran.stdout.as_ref()), expected, "{values:?}");
        let args = ["convert", "-q", "a.csv", "-o", "x.arrow", "--infer-records", "1"];
        folder.run(&args).assert_status(0);
        let ran = folder.run(&["convert", "-q", "x.arrow", "-o", "-", "--to", "csv"]);
        let text = String::from_utf8_lossy(ran.stdout.as_ref()).into_owned();
        let whole = match expected.contains("UTC") {
            true => "at\n2024-02-28T23:02:03Z\n2024-02-29T01:02:03Z\n".to_owned(),
            false => format!("at\n{}\n", values.join("\n")),
        };
        assert_eq!(text, whole);
        fs::remove_file(folder.path("x.arrow")).unwrap();
    }
    // What is given is not a guess: as in JSON.
    folder.write("a.csv", format!("at\n{zoned}\n{naive}\n"));
    let args = ["convert", "-q", "a.csv", "-o", "-", "--to", "csv", "--schema", "at: timestamp(s)"];
    let ran = folder.run(&args);
    assert_eq!(&*ran.stdout, b"at\n2024-02-28T23:02:03\n2024-02-29T01:02:03\n");
}

/// The types of what is in any of the files, in whatever order they are read.
#[test]
fn values_of_all_files_give_the_types_of_columns() {
    let folder = Folder::new();
    folder.write("a.csv", "n,at,s\n1,2024-02-29,\n");
    folder.write("b.csv", "n,at,s\n2.5,2024-02-29T01:02:03,7\n");
    folder.write("c.csv", "n,at,s\n3,,x\n");
    let convert = |inputs: &[&str]| {
        let ran = folder.run(&[&["convert", "-q", "-o", "-", "--to", "ndjson"], inputs].concat());
        ran.assert_status(0);
        String::from_utf8_lossy(ran.stdout.as_ref()).into_owned()
    };
    let [a, b, c] = [
        "{\"n\":1.0,\"at\":\"2024-02-29T00:00:00\",\"s\":null}\n",
        "{\"n\":2.5,\"at\":\"2024-02-29T01:02:03\",\"s\":\"7\"}\n",
        "{\"n\":3.0,\"at\":null,\"s\":\"x\"}\n",
    ];
    assert_eq!(convert(&["a.csv", "b.csv", "c.csv"]), [a, b, c].concat());
    assert_eq!(convert(&["c.csv", "b.csv", "a.csv"]), [c, b, a].concat());
    assert_eq!(convert(&["a.csv", "b.csv", "c.csv", "--infer-records", "all"]), [a, b, c].concat());
    folder.write("none.csv", "");
    assert_eq!(
        convert(&["none.csv", "a.csv", "none.csv", "b.csv"]),
        [a, &b.replace("\"7\"", "7")].concat()
    );
    // A pipe cannot be read twice.
    let ran = folder.run_with(
        &["convert", "-q", "--format", "csv", "-", "b.csv", "-o", "-", "--to", "ndjson"],
        b"n,at,s\n1,2024-02-29,\n",
    );
    let text = "{\"n\":1.0,\"at\":\"2024-02-29T00:00:00\",\"s\":null}\n\
                {\"n\":2.5,\"at\":\"2024-02-29T01:02:03\",\"s\":7}\n";
    assert_eq!(String::from_utf8_lossy(ran.stdout.as_ref()), text);
    // Only the first records are looked at, if what is written cannot be taken back.
    let args = ["convert", "a.csv", "b.csv", "-o", "-", "--infer-records", "1"];
    let ran = folder.run(&args);
    ran.assert_status(1);
    assert!(ran.stderr.contains("b.csv") && ran.stderr.contains("2.5"), "{}", ran.stderr);
    folder.write("o.csv", "s,n,at\ny,4.5,\n");
    let o = "{\"n\":4.5,\"at\":null,\"s\":\"y\"}\n";
    let day = a.replace("T00:00:00", "");
    assert_eq!(convert(&["a.csv", "o.csv", "c.csv"]), [&day, o, c].concat());
    assert_eq!(
        convert(&["a.csv", "o.csv", "--columns", "s,n", "--where", "n > 2"]),
        "{\"s\":\"y\",\"n\":4.5}\n"
    );
}

#[test]
fn columns_of_csv_are_those_of_all_files() {
    let folder = Folder::new();
    folder.write("a.csv", "n,s\n1,x\n");
    folder.write("b.csv", "late,n\n2,7\n");
    folder.write("c.csv", "later\ny\n");
    let convert = |inputs: &[&str], stdin: &[u8]| {
        let args = [&["convert", "-q", "-o", "-", "--to", "ndjson"], inputs].concat();
        let ran = folder.run_with(&args, stdin);
        ran.assert_status(0);
        String::from_utf8_lossy(ran.stdout.as_ref()).into_owned()
    };
    let rows = |late: [&str; 2]| {
        [
            r#"{"n":1,"s":"x","late":null,"later":null}"#.to_owned(),
            format!(r#"{{"n":7,"s":null,"late":{},"later":null}}"#, late[0]),
            format!(r#"{{"n":null,"s":null,"late":null,"later":{}}}"#, late[1]),
        ]
        .map(|line| line + "\n")
        .concat()
    };
    let all = ["a.csv", "b.csv", "c.csv"];
    assert_eq!(convert(&all, b""), rows(["2", "\"y\""]));
    // Of records that are not looked at the header is.
    let first = [&all[..], &["--infer-records", "1"]].concat();
    assert_eq!(convert(&first, b""), rows(["\"2\"", "\"y\""]));
    let piped = ["--format", "csv", "-", "b.csv", "c.csv", "--infer-records", "1"];
    assert_eq!(convert(&piped, b"n,s\n1,x\n"), rows(["\"2\"", "\"y\""]));
    let last = ["--format", "csv", "a.csv", "b.csv", "-", "--infer-records", "1"];
    assert_eq!(convert(&last, b"later\ny\n"), rows(["\"2\"", "\"y\""]));
    // Files without any of the columns that are read have rows, too.
    assert_eq!(
        convert(&["a.csv", "c.csv", "b.csv", "--columns", "late,n"], b""),
        "{\"late\":null,\"n\":1}\n{\"late\":null,\"n\":null}\n{\"late\":2,\"n\":7}\n"
    );
    assert_eq!(
        convert(&["a.csv", "b.csv", "--where", "late = 2", "--columns", "n"], b""),
        "{\"n\":7}\n"
    );
    let typed = ["a.csv", "b.csv", "--types", "late: float64", "--columns", "late"];
    assert_eq!(convert(&typed, b""), "{\"late\":null}\n{\"late\":2.0}\n");
    for (args, expected) in [
        (&["--types", "late: int64 not null"][..], "a.csv: the header has no column \"late\"\n"),
        (&["--schema", "n: int64, s: utf8"], "b.csv: the header has a column \"late\", which"),
        (&["--fields-max", "3"], "c.csv: more than 3 columns (--fields-max)\n"),
    ] {
        let ran = folder.run(&[&["convert", "-o", "x.arrow"], &all[..], args].concat());
        ran.assert_status(1);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

/// What an option would destroy, or would have no effect on, is refused by name.
#[test]
fn options_without_meaning_are_refused() {
    let folder = Folder::new();
    folder.write("in.jsonl", "{\"a\":1}\n");
    let url = "http://user:SECRET@127.0.0.1:1/x";
    for (args, expected) in [
        (
            &["-o", "x.arrow", "--rejects", "./in.jsonl", "--on-error", "skip"][..],
            "the input in.jsonl",
        ),
        (&["-o", "x.arrow", "--rejects", "./x.arrow", "--on-error", "skip"], "different files"),
        (&["-o", "x.arrow", "--rejects", "bad.jsonl"], "--rejects needs --on-error"),
        (&["-o", "-", "--fsync"], "--fsync is for files"),
        (&["-o", "x/", "--partitions-max", "3"], "--partition-by"),
        (&["-o", "x.parquet", "--writer", "reference", "--encodings", "smallest"], "--encodings"),
        (&["-o", "http://user:SECRET@127.0.0.1:1/x"], "the name \"http://***@127.0.0.1:1/x\""),
        (&["-o", "x.arrow", url], ""),
    ] {
        let ran = folder.run(&[&["convert", "in.jsonl"], args].concat());
        assert_ne!(ran.status, 0, "{}", ran.text());
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert!(!ran.stderr.contains("SECRET"), "{}", ran.stderr);
        assert_eq!(folder.names(), ["in.jsonl"]);
    }
    assert_eq!(folder.read("in.jsonl"), b"{\"a\":1}\n");
    for args in [
        ["generate", "trip", "--connect", "http://user:SECRET@127.0.0.1:1/?token=SECRET"],
        ["fetch", "grpc://user:SECRET@127.0.0.1:1/rides", "-o", "x.arrow"],
        ["serve", url, "--listen", "127.0.0.1:0"],
    ] {
        let ran = folder.run(&args);
        assert_ne!(ran.status, 0, "{}", ran.text());
        assert!(!ran.stderr.contains("SECRET"), "{}", ran.stderr);
    }
}
