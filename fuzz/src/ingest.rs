// SPDX-License-Identifier: Apache-2.0
//! The bodies of the targets of the ingest service: HTTP, configurations, places of followed files.

use arrowsmith_ingest::fuzzing;

/// Any bytes on an HTTP connection: the service answers with a valid status, reports "stored" for
/// all records or for none, and continues.
pub fn http(data: &[u8]) {
    let answer = fuzzing::http(data).expect("the service goes on");
    let answer = String::from_utf8_lossy(&answer);
    for one in answer.split("HTTP/1.1 ").skip(1) {
        let (status, rest) = one.split_at(one.len().min(3));
        assert!(status.starts_with(['2', '4', '5']), "{answer}");
        assert_ne!(status, "500", "{answer}");
        let count = |name: &str| {
            let at = rest.find(name)? + name.len();
            let text = &rest[at..];
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse::<u64>().ok()
        };
        let counts = (count("{\"records\":"), count("\"accepted\":"), count("\"rejected\":"));
        if let (Some(records), Some(accepted), Some(rejected)) = counts {
            match status {
                "200" => assert_eq!((accepted, rejected), (records, 0), "{answer}"),
                _ => assert!(accepted == 0 && rejected > 0 && rejected <= records, "{answer}"),
            }
        }
    }
}

/// Any text as a configuration.
pub fn configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A schema may be a path: no file of this machine is opened.
    if !text.contains(['/', '~']) {
        let _ = fuzzing::configuration(text);
    }
}

/// A state of places, a zero byte, and the text of a file.
pub fn places(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (state, text) = data.split_at(cut);
    fuzzing::places(state, text.get(1..).unwrap_or_default()).expect("it is in memory");
}
