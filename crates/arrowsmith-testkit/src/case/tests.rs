// SPDX-License-Identifier: Apache-2.0
//! The oracle on the suite, and the suite itself. With `ARROWSMITH_BLESS` set, the oracle's results
//! are written into the files as expectations, to be reviewed by a person.

use std::collections::HashSet;

use arrowsmith_engine_reference::ReferenceEngine;

use super::{Expected, ExpectedReject, load, run_suite, to_toml};
use crate::corpus::testdata;
use crate::oracle::OracleEngine;
use crate::run::{Input, Mark, observe};

#[test]
fn the_oracle_passes() {
    if std::env::var_os("ARROWSMITH_BLESS").is_some() {
        return bless();
    }
    let summary = run_suite(&OracleEngine).unwrap();
    assert!(summary.failures.is_empty(), "{}", summary.failures.join("\n"));
    assert!(summary.unsupported.is_empty());
    assert!(summary.cases >= 150, "{}", summary.cases);
}

#[test]
fn the_suite_is_in_order() {
    let mut names = HashSet::new();
    for (name, file) in load().unwrap() {
        for case in &file.case {
            assert!(names.insert(case.name.clone()), "{} is there twice", case.name);
        }
        let text = std::fs::read_to_string(testdata().join(format!("json/{name}.toml"))).unwrap();
        assert_eq!(to_toml(&file), text, "{name} is not as the testkit writes it");
    }
}

/// The suite can tell engines apart: arrow-json does not follow the contract.
#[test]
fn the_reference_engine_fails() {
    let summary = run_suite(&ReferenceEngine::default()).unwrap();
    assert!(summary.failures.len() > 20);
    assert!(summary.unsupported.len() > 5);
}

fn bless() {
    let expected = |mark: &Mark| Expected {
        kind: mark.kind.clone(),
        offset: mark.offset,
        line: mark.line,
        record: mark.record,
        path: mark.path.clone(),
    };
    for (name, mut file) in load().unwrap() {
        for case in &mut file.case {
            let bytes = case.bytes().unwrap();
            let input = Input::whole(&bytes, case.framing().unwrap());
            let options = case.decode_options().unwrap();
            let plan = case.plan().unwrap();
            let found = observe(&OracleEngine, &plan, &options, &input).unwrap();
            assert_eq!(found.broken, None, "{}", case.name);
            case.rows = found.rows;
            case.error = found.error.as_ref().map(expected);
            case.rejects.clear();
            for reject in &found.rejects {
                let text = String::from_utf8(reject.text.clone()).ok();
                let hex: String = reject.text.iter().map(|byte| format!("{byte:02x}")).collect();
                case.rejects.push(ExpectedReject {
                    error: expected(&reject.mark),
                    text_hex: text.is_none().then_some(hex),
                    text,
                    kept: reject.kept,
                });
            }
            if case.error.is_some() {
                case.rejects.clear();
            }
        }
        std::fs::write(testdata().join(format!("json/{name}.toml")), to_toml(&file)).unwrap();
    }
}
