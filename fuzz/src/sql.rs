// SPDX-License-Identifier: Apache-2.0
//! Statements of Flight SQL: a statement within the limits is planned, any other is rejected with a
//! short message.

use std::sync::{Arc, LazyLock};

use arrowsmith_flight::dataset::Format;
use arrowsmith_flight::{Catalog, Origin, Spec};
use arrowsmith_flight_sql::fuzzing::Planner;

use crate::budget;

/// Stack size of the planning thread, as in the service.
const STACK_BYTES: usize = 64 << 20;

/// Maximum bytes of a text with its repetitions.
const TEXT_BYTES_MAX: usize = 128 << 10;

/// Maximum bytes of an error message.
const REASON_BYTES_MAX: usize = 4 << 10;

const ROWS: &str = r#"{"a":1,"s":"one","f":1.5,"t":"2026-01-01T00:00:00Z","tags":["x","y"],"user":{"id":7,"name":"ada"}}"#;

/// A planner over a table with a column of most kinds. Its file is created once, and read only when
/// it is opened.
static PLANNER: LazyLock<Planner> = LazyLock::new(|| {
    // One for all processes: a static is never dropped, so none would remove it.
    let path = std::env::temp_dir().join("arrowsmith-fuzz-sql.jsonl");
    let own = path.with_extension(std::process::id().to_string());
    std::fs::write(&own, ROWS).expect("a file can be made");
    std::fs::rename(&own, &path).expect("it has a name");
    let origin = Origin::Files { paths: vec![path], format: Format::Json };
    let spec = Spec::new("rows", origin).expect("a name");
    let catalog = Catalog::open([spec]).expect("the file can be read");
    Planner::new(Arc::new(catalog)).expect("threads")
});

/// Any text as a statement; `{N:TEXT}` in it is the text, N times.
pub fn statements(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let text = repeated(text);
    LazyLock::force(&PLANNER);
    let plan = move || budget::run(plan, text.as_bytes());
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(plan);
    if let Err(panic) = thread.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

fn plan(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Err(status) = PLANNER.plan(text) {
        let reason = status.message();
        assert!(!reason.is_empty() && reason.len() <= REASON_BYTES_MAX, "{} bytes", reason.len());
        assert!(!reason.contains("too long to plan"), "{text}");
    }
}

/// The text with its repetitions expanded; they do not nest.
fn repeated(text: &str) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        all.push_str(before);
        let found = after.split_once('}').and_then(|(inside, rest)| {
            let (count, part) = inside.split_once(':')?;
            Some((count.parse::<usize>().ok()?, part, rest))
        });
        let Some((count, part, behind)) = found else {
            all.push('{');
            rest = after;
            continue;
        };
        let room = TEXT_BYTES_MAX.saturating_sub(all.len());
        all.push_str(&part.repeat(count.min(room / part.len().max(1))));
        rest = behind;
    }
    all.push_str(rest);
    all
}
