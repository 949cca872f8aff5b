// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith rtl report` without the rest of the command, for work on circuits:
//!
//!     tools/hdl run cargo run --release -p arrowsmith-bench --example rtl_report -- \
//!         OUT.json OUT.html [LIMIT_S [WIDTHS [SCHEMAS]]]
//!
//! WIDTHS and SCHEMAS are comma-separated lists; `-` for SCHEMAS is none. It decodes no data
//! itself.

use std::fs;
use std::sync::Arc;

use arrowsmith_bench::rtl::{Options, html, run};
use arrowsmith_engine_rtl::cache_folder;
use arrowsmith_workload::Workload;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [json, page, rest @ ..] = arguments.as_slice() else {
        return Err("usage: rtl_report OUT.json OUT.html [LIMIT_S [WIDTHS [SCHEMAS]]]".into());
    };
    let mut options = Options::new(cache_folder().join("report"));
    if let Some(limit) = rest.first() {
        options.limit_s = limit.parse()?;
    }
    if let Some(widths) = rest.get(1) {
        options.widths = widths.split(',').map(str::parse).collect::<Result<_, _>>()?;
    }
    if let Some(schemas) = rest.get(2) {
        options.schemas.clear();
        for name in schemas.split(',').filter(|name| *name != "-") {
            let workload: Workload = name.parse()?;
            options.schemas.push((name.to_owned(), Arc::new(workload.schema())));
        }
    }
    let report = run(&options, &mut |line| eprintln!("{line}"));
    fs::write(json, serde_json::to_string_pretty(&report)? + "\n")?;
    fs::write(page, html(&report))?;
    Ok(())
}
