// SPDX-License-Identifier: Apache-2.0
//! The long suites of JSON circuits: random schemas with random and broken texts, the conformance
//! suite, JSONTestSuite through the skipper, the numbers of `numbers-fxx`. Each is compared with
//! the engine `cpu` or with the expected result.
//!
//!     cargo run --release -p arrowsmith-engine-rtl --example json_schemas -- schemas COUNT
//!     cargo run --release -p arrowsmith-engine-rtl --example json_schemas -- conformance [BEGIN]
//!     cargo run --release -p arrowsmith-engine-rtl --example json_schemas -- corpora FOLDER
//!
//! Every schema is a circuit to compile; 20 of them take some minutes, the conformance suite has
//! about fifty.

use std::path::Path;
use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, Error, Framing, OnError};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::{format_schema, parse_schema};
use arrowsmith_rtlgen::json::{Shape, generate};
use arrowsmith_testkit::case;
use arrowsmith_testkit::engines::Helped;
use arrowsmith_testkit::random::{self, Profile, Rng};
use arrowsmith_testkit::run::{Input, Padding, difference, observe};

type Failure = Box<dyn std::error::Error>;

fn engine() -> RtlEngine {
    RtlEngine::default()
}

/// Whether the engines agree on a text; `false` if the circuit does not support these options.
fn same(
    rtl: &RtlEngine,
    plan: &Arc<Plan>,
    options: &DecodeOptions,
    text: &[u8],
) -> Result<bool, Failure> {
    let input = Input::split(&[text], Framing::Lines, Padding::None);
    let found = match observe(&Helped(rtl.clone()), plan, options, &input) {
        Ok(found) => found,
        // The schema alone is deeper than this limit, which a circuit does not accept.
        Err(Error::Config(what)) if what.contains("depth_max") => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let expected = observe(&CpuEngine::default(), plan, options, &input)?;
    match difference(&expected, &found) {
        None => Ok(true),
        Some(text) => Err(format!("{}: {text}", format_schema(plan.schema())).into()),
    }
}

/// Random schemas that circuits support, each with the texts of its seed.
fn schemas(wanted: usize) -> Result<(), Failure> {
    let (mut done, mut seed, mut failed) = (0, 0_u64, 0);
    while done < wanted {
        seed += 1;
        let case = random::case(seed, Profile::Alike);
        if generate(&case.plan, "x", Shape::default()).is_err() {
            continue;
        }
        let rtl = engine();
        let mut texts = 0;
        for broken in [false, true] {
            let case =
                if broken { random::broken_case(seed, Profile::Alike) } else { case.clone() };
            for variant in 0..4 {
                let options = random::options(&mut Rng::new(seed + 1000 * variant));
                match same(&rtl, &case.plan, &options, &case.text) {
                    Ok(compared) => texts += usize::from(compared),
                    Err(error) => {
                        failed += 1;
                        println!("seed {seed}, broken: {broken}, variant {variant}: {error}");
                    }
                }
            }
        }
        done += 1;
        println!("seed {seed}: {texts} texts; {}", rtl.statistics().counts());
    }
    match failed {
        0 => println!("{done} schemas: the circuit and the engine cpu agree"),
        _ => return Err(format!("{failed} texts on which the engines differ").into()),
    }
    Ok(())
}

/// Every case of the conformance suite whose schema a circuit supports, or those whose names have
/// this prefix. Each is printed as it ends: all take an hour.
fn conformance(begin: &str) -> Result<(), Failure> {
    let rtl = engine();
    let (mut passed, mut refused, mut failed, mut runs) = (0, 0, 0, 0);
    for (file, cases) in case::load()? {
        for case in &cases.case {
            let name = format!("{file}/{}", case.name);
            if !name.starts_with(begin) {
                continue;
            }
            match case::run_case(&Helped(rtl.clone()), case, &mut runs) {
                Ok(()) => passed += 1,
                Err(case::Failed::Unsupported) => refused += 1,
                Err(case::Failed::Wrong(what)) => {
                    failed += 1;
                    println!("{name}: {what}");
                }
            }
            eprintln!("{name}: {passed} passed, {refused} refused, {failed} failed");
        }
    }
    let counts = rtl.statistics().counts();
    println!("conformance: {passed} cases passed, {runs} runs, {refused} cases refused; {counts}");
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} cases failed").into()),
    }
}

/// Documents of JSONTestSuite as the value of a key that is not in the schema: the skipper reads
/// them.
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

/// Numbers of `numbers-fxx`, as singles and doubles, compared bit by bit with the engine `cpu`,
/// which agrees with the test vectors.
fn numbers(corpora: &Path) -> Result<(), Failure> {
    let schema = parse_schema("f: float32, d: float64")?;
    let plan = Arc::new(Plan::new(Arc::new(schema))?);
    let rtl = engine();
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Null;
    let mut names: Vec<_> =
        std::fs::read_dir(corpora.join("numbers-fxx/data"))?.flatten().collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    let mut count = 0;
    for name in names {
        let text = std::fs::read_to_string(name.path())?;
        let numbers: Vec<&str> = text.lines().filter_map(|line| line.split(' ').nth(3)).collect();
        for some in numbers.chunks(2000) {
            let lines =
                some.iter().flat_map(|n| [format!("{{\"f\":{n}}}\n"), format!("{{\"d\":{n}}}\n")]);
            same(&rtl, &plan, &options, lines.collect::<String>().as_bytes())?;
        }
        count += numbers.len();
    }
    println!("{count} numbers of numbers-fxx: the same; {}", rtl.statistics().counts());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["schemas", count] => schemas(count.parse()?),
        ["conformance"] => conformance(""),
        ["conformance", begin] => conformance(begin),
        ["corpora", folder] => {
            documents(Path::new(folder)).and_then(|()| numbers(Path::new(folder)))
        }
        _ => Err("usage: json_schemas schemas COUNT | conformance [BEGIN] | corpora FOLDER".into()),
    }
}
