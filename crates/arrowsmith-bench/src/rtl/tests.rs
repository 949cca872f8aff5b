// SPDX-License-Identifier: Apache-2.0
//! The arithmetic, the tools' output, and the page, on invented figures; the tools themselves are
//! tested in `hdl/syn`.

use std::fs;

use arrowsmith_engine_rtl::Interface;
use serde_json::json;

use super::model::{self, VU37P};
use super::synthesis::{Sources, Tools};
use super::*;

const RUN: Run = Run {
    input_bytes: 8_000,
    output_bytes: 12_000,
    cycles: 1_000,
    starved: 10,
    blocked: 20,
    write_bursts: 50,
};

fn resources(luts: u64) -> Resources {
    let printed = json!({
        "top": "t", "family": "xcup", "luts": luts - 10, "luts_as_memory": 10, "luts_all": luts,
        "flip_flops": 5, "lutram": 2, "block_ram": 3, "block_ram_36": 2, "dsp": 0, "carry": 1,
        "latches": 0, "cells": {"LUT6": luts - 10}, "per_cent": {},
        "path": {"levels": 9, "ns": 3.9, "from": "a[0]", "to": "b<c>[1]", "through": ["LUT6"], "in_loops": 0},
    });
    serde_json::from_value(printed).unwrap()
}

#[test]
fn figures_follow_from_cycles_and_cells() {
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
    close(RUN.input_per_cycle(), 8.0);
    close(RUN.output_per_cycle(), 12.0);
    close(RUN.output_per_burst(), 240.0);
    close(RUN.gb_per_s(4.0, 200), 6.4);
    // 1.5 bytes go back for each byte read: the way back is the limit.
    close(RUN.limit_gb_per_s(&Interface::PCIE5_X16), 38.4);
    let small = Run { output_bytes: 4_000, ..RUN };
    close(small.limit_gb_per_s(&Interface::PCIE5_X16), 57.6);
    close(model::luts_per_gb_per_s(9_600, 1.6), 6_000.0);
    close(model::megahertz(4.0), 250.0);
    // 10,000 LUTs at 200 MHz: 0.2 W; 1.6 GB/s.
    close(model::joules_per_gb(10_000, 0, 8.0), 0.125);
    // 200 MiB per joule.
    close(model::joules_of(200.0), 4.76837158203125);
    close(model::per_cent(1, 0), 100.0);
    assert_eq!(model::fit_half(&VU37P, 10_000, 0), 65);
    assert_eq!(model::fit_half(&VU37P, 10_000, 100), 10);
    assert_eq!(Run { cycles: 0, ..RUN }.input_per_cycle(), 8_000.0);
}

fn tools(limit_s: u64) -> (tempfile::TempDir, Tools, Sources) {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools { limit_s, cache: folder.path().join("kept") };
    let files = vec![("rtl/t.sv".to_owned(), "module t; endmodule\n".to_owned())];
    (folder, tools, Sources { top: "t".to_owned(), files })
}

#[test]
fn what_was_found_once_is_kept_by_its_sources() {
    let (_folder, tools, sources) = tools(1);
    // A timeout of zero, or a missing Yosys: a reason in both cases, and no cached result.
    let reason = tools.resources::<Resources>(&sources, "xcup").unwrap_err();
    assert!(reason.contains("within 1 s") || reason.contains("tools/hdl run"), "{reason}");
    assert!(!tools.cache.exists());
    fs::create_dir_all(&tools.cache).unwrap();
    let kept = tools.cache.join(tools.key("report.py", &sources, &["--family", "xcup"]));
    fs::write(&kept, serde_json::to_vec(&resources(100)).unwrap()).unwrap();
    assert_eq!(tools.resources::<Resources>(&sources, "xcup"), Ok(resources(100)));
    let mut other = sources.clone();
    other.files[0].1.push(' ');
    assert_ne!(kept.file_name().unwrap(), &*tools.key("report.py", &other, &["--family", "xcup"]));
    assert_ne!(kept.file_name().unwrap(), &*tools.key("report.py", &sources, &["--family", "xc7"]));
}

fn placed() -> Placed {
    let printed = json!({
        "top": "t", "device": "ECP5-85F", "luts": 20_910, "flip_flops": 9_000, "block_ram": 0, "multipliers": 47,
        "harness": {"luts": 955, "flip_flops": 2_035}, "luts_of_device": 83_640, "megahertz": 65.3,
        "path": {"ns": 15.31, "routing_ns": 12.25, "cells": 21, "from": "i_kernel.beat", "to": "i_scan.stop_o"},
    });
    serde_json::from_value(printed).unwrap()
}

fn report() -> Report {
    let part = |part, luts| Part { part, family: "xcup", resources: resources(luts) };
    let circuit = |name: &str, format, width| Circuit {
        name: name.into(),
        format,
        width,
        run: Some(RUN),
        parts: vec![part("parser", 8_000), part("device", 9_600)],
        modules: vec![Module {
            name: "as_json_route".into(),
            copies: 2,
            luts_all: 1_500,
            flip_flops: 7,
            levels: 6,
            ns: 2.75,
        }],
        placed: Some(placed()),
    };
    let mut unrun = circuit("my<schema>", "json", 16);
    unrun.run = None;
    unrun.parts.clear();
    let extra = Extra {
        circuits: vec![
            circuit("battery", "json", 8),
            unrun,
            circuit("int64, delta", "parquet", 64),
        ],
        end_to_end: vec![EndToEnd {
            name: "battery".into(),
            width: 32,
            parsers: 2,
            ports: 1,
            read_ahead: 64,
            interface: Interface::PCIE3_X8.name,
            megahertz: 200,
            run: RUN,
            gb_per_s: 4.7,
            limit_gb_per_s: 4.8,
        }],
    };
    let mut report: Report = result::Report::start("rtl", None, extra);
    report.missing("cycles", "my<schema>", "no records");
    report
}

#[test]
fn the_page_says_what_is_measured_and_what_is_derived() {
    let page = html(&report());
    // 9,600 LUTs at 1.6 GB/s; the same of a VU9P; Table I of both papers.
    for text in [
        "6000",
        "0.81 %",
        "the paper&#39;s, int64, delta",
        "19.42",
        "97.9 %",
        "3000",
        "2.75",
        "65.3",
        "25 %",
        "80 %",
    ] {
        assert!(page.contains(&text.replace("&#39;", "'")), "{text}");
    }
    for text in
        ["measured", "derived", "estimate", "no records", "b&lt;c&gt;[1]", "my&lt;schema&gt;"]
    {
        assert!(page.contains(text), "{text}");
    }
    for text in ["NaN", "inf", "my<schema>", "http://", "https://"] {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn a_report_without_a_circuit_is_a_page_all_the_same() {
    let empty = Report { extra: Extra::default(), ..report() };
    assert!(html(&empty).ends_with("</html>\n"));
}

#[test]
fn a_schema_that_no_circuit_takes_is_named() {
    let field = arrow_schema::Field::new("when", arrow_schema::DataType::Float16, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let options = Options {
        schemas: vec![("odd".to_owned(), schema)],
        widths: vec![8],
        parquet: false,
        end_to_end: false,
        ..Options::new("nowhere".into())
    };
    let mut steps = Vec::new();
    let report = run(&options, &mut |step| steps.push(step.to_owned()));
    assert!(report.extra.circuits.is_empty());
    assert!(report.not_measured[0].reason.contains("when"), "{:?}", report.not_measured);
    assert_eq!(steps, ["odd, 8 bytes: circuit"]);
}
