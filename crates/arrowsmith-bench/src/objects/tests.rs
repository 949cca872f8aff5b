// SPDX-License-Identifier: Apache-2.0
//! The suite on invented figures, and its parts that need only a C++ compiler.

use super::*;

fn report() -> Report {
    let line = |codec: &str, ns: f64| {
        format!(
            "{{\"operations\":127,\"codec\":\"{codec}\",\"yields\":\"objects\",\"bytes\":2679,\"valid\":true,\
             \"decode_ns\":[{ns},{},{}],\"use_ns\":[{ns},{ns},{ns}]}}\n",
            ns * 2.0,
            ns * 3.0
        )
    };
    let text =
        line(OURS, 100.0) + &line(PAPER, 4_000.0) + &line("other<&>", 900.0) + &line(COPY, 50.0);
    let trip = |server: &str, bytes, operations, in_flight| Trip {
        transport: if server == OURS { "udp" } else { "raw" }.into(),
        server: server.into(),
        bytes,
        operations,
        in_flight,
        percentiles_us: (0..=100).map(f64::from).collect(),
    };
    let extra = Extra {
        trips: vec![
            trip("reflect", Some(46), None, 1),
            trip("reflect", Some(1486), None, 1),
            trip(OURS, None, Some(127), 1),
        ],
        cycles: vec![Cycles {
            operations: 127,
            message_bytes: 2_679,
            object_bytes: 4_080,
            cycles: 335,
            cycles_back_to_back: 350.5,
        }],
        resources: vec![Resources {
            family: "xc5v".into(),
            flip_flops: 2_400,
            luts: 2_300,
            lutram: 130,
            block_ram: 4,
            dsp: 0,
        }],
    };
    let mut report: Report = result::Report::start("objects", None, extra);
    report.rows = rows(text.as_bytes()).unwrap();
    report.missing("bitsery", "", "no package");
    report
}

#[test]
fn ratios_are_of_the_same_round() {
    let report = report();
    let ratio = report.faster(127, PAPER, OURS).unwrap();
    assert_eq!((ratio.min, ratio.median, ratio.max), (40.0, 40.0, 40.0));
    assert_eq!(report.peers(), ["other<&>"]);
    assert_eq!(report.row(127, OURS).unwrap().number("decode_ns_median"), Some(200.0));
}

#[test]
fn the_page_has_what_was_measured_and_what_was_not() {
    let page = html(&report());
    for text in ["335", "8829", "other&lt;&amp;&gt;", "bitsery: no package", "as in Fig. 19", "40"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("other<&>"));
}

#[test]
fn a_page_of_nothing_is_a_page() {
    let empty = Report { rows: Vec::new(), extra: Extra::default(), ..report() };
    assert!(html(&empty).ends_with("</html>\n"));
}

#[test]
fn what_is_no_row_is_said() {
    assert!(rows(b"{}\n").unwrap_err().starts_with("{}: a field is missing"));
}

#[test]
fn the_message_is_as_long_as_the_paper_says() {
    // The paper's 2,683 bytes include 4 for the heap's address, which is part of the request here.
    assert_eq!(circuit::message(127).len(), 2_679);
}

#[test]
fn our_reader_compiles_and_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        operations: vec![1, 20],
        rounds: 1,
        span_ms: 1,
        network: false,
        circuit: false,
        peers_dir: folder.path().to_owned(),
        ..Options::default()
    };
    let report = run(&options, &mut |_| {}).unwrap();
    for codec in [OURS, PAPER, COPY] {
        assert!(report.row(20, codec).unwrap().valid(), "{codec}");
    }
    assert!(report.rows.iter().all(Row::valid));
}
