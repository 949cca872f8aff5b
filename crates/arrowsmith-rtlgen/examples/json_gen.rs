// SPDX-License-Identifier: Apache-2.0
//! Writes the JSON parser for a workload's schema and the library it uses to a folder.
//!
//!     cargo run -p arrowsmith-rtlgen --example json_gen -- WORKLOAD FOLDER [WIDTH [PARSERS]]

use std::path::Path;
use std::sync::Arc;
use std::{env, fs};

use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::{Shape, generate};
use arrowsmith_rtlgen::library::{file_list, with_library};
use arrowsmith_workload::Workload;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [workload, folder, rest @ ..] = args.as_slice() else {
        return Err("usage: json_gen WORKLOAD FOLDER [WIDTH [PARSERS [PORTS [READ_AHEAD]]]]".into());
    };
    let workload: Workload = workload.parse()?;
    let plan = Plan::new(Arc::new(workload.schema()))?;
    let number = |at: usize| rest.get(at).map(|text| text.parse()).transpose();
    let shape = Shape {
        width: number(0)?.unwrap_or(8),
        parsers: number(1)?.unwrap_or(1),
        ports: number(2)?.unwrap_or(1),
        read_ahead: number(3)?.unwrap_or(64),
        ..Shape::default()
    };
    let design = generate(&plan, workload.name(), shape)?;
    let sources = with_library(&design.files);
    for (path, text) in &sources {
        let file = Path::new(folder).join(path);
        fs::create_dir_all(file.parent().unwrap_or(Path::new(folder)))?;
        fs::write(file, text)?;
    }
    let list = file_list(sources.iter().map(|(path, _)| path.as_str()));
    fs::write(Path::new(folder).join("files.f"), list)?;
    Ok(())
}
