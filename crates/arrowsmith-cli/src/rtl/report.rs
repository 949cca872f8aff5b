// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith rtl report`: the resources and speed of circuits, measured by `arrowsmith-bench`.

use arrowsmith_bench::rtl as report;
use arrowsmith_engine_rtl::cache_folder;

use super::args::ReportArgs;
use crate::bench::write_report;
use crate::failure::Outcome;
use crate::schema;

pub fn run(args: &ReportArgs) -> Outcome {
    let mut options = report::Options {
        parquet: !args.no_parquet,
        end_to_end: !args.no_end_to_end,
        place: args.place,
        limit_s: args.limit,
        ..report::Options::new(cache_folder().join("report"))
    };
    if !args.schema.is_empty() {
        let load = |name: &String| schema::load(name).map(|schema| (name.clone(), schema));
        options.schemas = args.schema.iter().map(load).collect::<Outcome<_>>()?;
    }
    if !args.width.is_empty() {
        options.widths.clone_from(&args.width);
    }
    let found = report::run(&options, &mut |line| eprintln!("{line}"));
    write_report(&args.outputs, &found, || report::html(&found))
}
