// SPDX-License-Identifier: Apache-2.0
//! The oracle on the corpora. With `ARROWSMITH_BLESS` set, its decisions are written to the file.

use super::{run_corpus, testdata, vectors};
use crate::oracle::OracleEngine;
use crate::tools;

const HEADER: &str = "\
# SPDX-License-Identifier: Apache-2.0
# Documents of the corpora that may go either way, or where Arrowsmith differs from the corpus on purpose
# (see deviations.md): path, verdict bare, verdict as the value of a key. Written by the testkit's tests
# with ARROWSMITH_BLESS=1, and read over by a person.
";

#[test]
fn every_document_is_decided() {
    let Some(folder) = tools::corpora() else { return };
    let summary = run_corpus(&OracleEngine, &folder).unwrap();
    if std::env::var_os("ARROWSMITH_BLESS").is_some() {
        let text = format!("{HEADER}{}", summary.decisions);
        std::fs::write(testdata().join("json/decisions.txt"), text).unwrap();
        return;
    }
    assert!(summary.documents > 1000, "{}", summary.documents);
    assert!(summary.failures.is_empty(), "{}", summary.failures.join("\n"));
}

#[test]
fn vectors_are_read_to_the_bit() {
    let Some(folder) = tools::corpora() else { return };
    assert!(vectors::run_numbers(&OracleEngine, &folder).unwrap() > 1000);
    assert!(vectors::run_utf8(&OracleEngine, &folder).unwrap() > 50);
}
