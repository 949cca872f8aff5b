// SPDX-License-Identifier: Apache-2.0
//! The suite with a program in place of the command; the command itself runs it in its own tests.

use super::*;
use crate::parquet::data::{Data, Rows};
use crate::result::tests::row;

fn side(workload: &str, engine: &str, kind: &str, seconds: f64, file_bytes: u64) -> Row {
    let row = row(workload, engine, kind, [seconds, seconds]).with("file_bytes", file_bytes);
    row.with("codec", workload.split_once('-').unwrap().1).samples(
        "cpu_seconds",
        &[seconds, seconds],
        &["median"],
    )
}

fn report(mut rows: Vec<Row>) -> Report {
    result::compare(&mut rows);
    let goals = goals(&rows);
    let mut report = Report::start("convert", Some(42), Goals { goals });
    report.rows = rows;
    report
}

#[test]
fn goals_are_those_of_the_codec_and_of_valid_files() {
    let mut rows = vec![
        side("logs-zstd:1", OURS, "ours", 1.0, 100),
        side("logs-zstd:1", "duckdb", "library", 4.5, 99),
        side("logs-zstd:1", "polars", "library", 2.0, 50),
        side("taxi-snappy", OURS, "ours", 1.0, 100),
        side("taxi-snappy", "duckdb", "library", 5.0, 200),
    ];
    rows[2].set("valid", false);
    let report = report(rows);
    let found: Vec<(f64, bool)> =
        report.extra.goals.iter().map(|goal| (goal.found, goal.met)).collect();
    assert_eq!(found, [(4.5, true), (100.0 / 99.0, false), (5.0, false), (0.5, true)]);
}

#[test]
fn the_page_shows_times_and_sizes_but_of_no_wrong_file() {
    let mut rows = vec![
        side("logs-zstd:1", OURS, "ours", 0.5, 30_000_000),
        side("logs-zstd:1", "duckdb", "library", 2.0, 40_000_000),
        side("logs-zstd:1", "polars", "library", 1.0, 35_000_000),
    ];
    rows[2].set("valid", false);
    rows[2].set("difference", "9 rows instead of 10");
    let page = html(&report(rows));
    assert!(page.contains("<b>4.00</b> (4.00–4.00) duckdb"), "{page}");
    for shown in ["Goals", "Processor time, 1 thread", "Size of the files", "processor ms"] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(page.contains("<td class=\"bad\">wrong result</td>"));
    assert!(page.contains("<td class=\"bad\">9 rows instead of 10</td>"));
    assert!(!page.contains("fastest reader") && !page.contains("Thread scaling"));
    // Three charts with a mark for each valid file.
    assert_eq!(page.matches("<circle").count() + page.matches("<rect").count(), 6, "{page}");
}

#[test]
fn unknown_names_are_refused_before_anything_runs() {
    let options = Options::new(PathBuf::from("/nowhere"));
    let refused = |options: &Options| run(options, &mut |_| {}).unwrap_err().to_string();
    let wrong = || vec!["zstd:99".to_owned()];
    for (options, message) in [
        (Options { workloads: wrong(), ..options.clone() }, "unknown workload"),
        (Options { tasks: wrong(), ..options.clone() }, "unknown task"),
        (Options { engines: wrong(), ..options.clone() }, "unknown engine"),
        (Options { codecs: wrong(), ..options.clone() }, "unknown codec \"zstd:99\"; there are"),
        (options, "/nowhere"),
    ] {
        assert!(refused(&options).starts_with(message), "{message}");
    }
}

/// A command that copies what is at the place of its input with the extension of its output.
#[cfg(unix)]
#[test]
fn files_are_read_back() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("arrowsmith");
    // Its words are `convert -q --schema W --threads N [--codec C] -o OUT IN`.
    fs::write(
        &program,
        "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\ncp \"${3%.*}.made\" \"$2\"\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let made = folder.path().join("input.made");
    let batch = Rows::new(Data::Lineitem, 1, 50).batch(50).unwrap();
    let mut checker = Checker::default();
    checker.add(&batch).unwrap();
    let expected = checker.finish();

    let places = Places { program: &program, peers: &[], folder: folder.path() };
    for (to, wrong_rows) in [(PARQUET, 49), (ARROW, 40)] {
        let write = |rows: usize| {
            let (file, batch) = (File::create(&made).unwrap(), batch.slice(0, rows));
            if to == PARQUET {
                let mut writer =
                    parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
                writer.write(&batch).unwrap();
                writer.close().unwrap();
            } else {
                let mut writer =
                    arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
                writer.write(&batch).unwrap();
                writer.finish().unwrap();
            }
        };
        let input = folder.path().join("input.jsonl");
        let name = "lineitem-test".to_owned();
        let case = Case { name, workload: "lineitem", input, to, codec: Codec::None, threads: 1 };
        let with = With::Command { places: &places, case: &case, words: &[] };
        let output = folder.path().join(format!("out.{to}"));
        let mut conversion = Conversion { with, output: output.clone() };
        write(50);
        let turn = conversion.turn().unwrap();
        assert_eq!((turn.rows, turn.file_bytes), (50, Some(fs::metadata(&made).unwrap().len())));
        assert_eq!(conversion.check().unwrap().difference(&expected), None);
        write(wrong_rows);
        assert_eq!(conversion.turn().unwrap().rows, wrong_rows as u64);
        let difference = conversion.check().unwrap().difference(&expected).unwrap();
        assert_eq!(difference, format!("{wrong_rows} rows instead of 50"));
        // The last file is not taken for one of this turn.
        fs::remove_file(&made).unwrap();
        assert!(conversion.turn().unwrap_err().contains("input.made"));
        assert!(!output.exists());
    }
}
