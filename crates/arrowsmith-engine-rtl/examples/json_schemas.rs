// SPDX-License-Identifier: Apache-2.0
//! The long suites of JSON circuits: random schemas with random and broken texts, and JSONTestSuite through the skipper.
//!
//!     cargo run --release -p arrowsmith-engine-rtl --example json_schemas -- [SCHEMAS [CORPORA]]
//!
//! Every schema is a circuit that is compiled; 20 of them take some minutes.

use std::path::Path;
use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Framing};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_rtl::json::RtlEngine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::{format_schema, parse_schema};
use arrowsmith_rtlgen::json::{Shape, generate};
use arrowsmith_testkit::random::{self, Profile, Rng};
use arrowsmith_testkit::run::{Input, Padding, difference, observe};

type Failure = Box<dyn std::error::Error>;

fn engine() -> RtlEngine {
    RtlEngine::new(Arc::new(CpuEngine::default()))
}

fn same(
    rtl: &RtlEngine,
    plan: &Arc<Plan>,
    options: &DecodeOptions,
    text: &[u8],
) -> Result<(), Failure> {
    let input = Input::split(&[text], Framing::Lines, Padding::None);
    let found = match observe(rtl, plan, options, &input) {
        Ok(found) => found,
        // The schema alone is deeper than this limit, which a circuit does not take.
        Err(error) if error.to_string().contains("depth_max") => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let expected = observe(&CpuEngine::default(), plan, options, &input)?;
    match difference(&expected, &found) {
        None => Ok(()),
        Some(text) => Err(format!("{}: {text}", format_schema(plan.schema())).into()),
    }
}

/// Random schemas that circuits can have, each with the texts of its seed.
fn schemas(wanted: usize) -> Result<(), Failure> {
    let (mut done, mut seed) = (0, 0_u64);
    while done < wanted {
        seed += 1;
        let case = random::case(seed, Profile::Alike);
        if generate(&case.plan, "x", Shape::default()).is_err() {
            continue;
        }
        let rtl = engine();
        for broken in [false, true] {
            let case =
                if broken { random::broken_case(seed, Profile::Alike) } else { case.clone() };
            for variant in 0..4 {
                let options = random::options(&mut Rng::new(seed + 1000 * variant));
                same(&rtl, &case.plan, &options, &case.text)?;
            }
        }
        done += 1;
        println!("seed {seed}: {}", rtl.statistics().counts());
    }
    println!("{done} schemas: the circuit and the engine cpu agree");
    Ok(())
}

/// Documents of JSONTestSuite as the value of a key that the schema does not have: the skipper reads them.
fn documents(corpora: &Path) -> Result<(), Failure> {
    let schema = parse_schema("id: int64 not null")?;
    let plan = Arc::new(Plan::new(Arc::new(schema))?);
    let rtl = engine();
    let folder = corpora.join("json-test-suite/test_parsing");
    let mut names: Vec<_> =
        std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    names.sort();
    let mut count = 0;
    for path in names.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let mut text = b"{\"x\":".to_vec();
        text.extend(std::fs::read(path)?.into_iter().map(|b| if b == b'\n' { b' ' } else { b }));
        text.extend(b",\"id\":1}\n");
        let shown = path.display();
        same(&rtl, &plan, &DecodeOptions::default(), &text)
            .map_err(|error| format!("{shown}: {error}"))?;
        count += 1;
    }
    println!("{count} documents of JSONTestSuite: the same; {}", rtl.statistics().counts());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted = args.first().map_or(Ok(20), |text| text.parse())?;
    if let Some(corpora) = args.get(1) {
        documents(Path::new(corpora))?;
    }
    schemas(wanted)
}
