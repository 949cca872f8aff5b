// SPDX-License-Identifier: Apache-2.0
//! The last rejects, for the dashboard.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::rejects::RejectLine;

/// Rejects that are shown.
const REJECTS_MAX: usize = 20;

/// Characters of a reject's text that are shown.
const TEXT_CHARACTERS_MAX: usize = 200;

/// Fields with the position of a record and nothing of its content: all that is shown to clients
/// that may not read records.
const PLACE: [&str; 6] = ["time_unix_ms", "stream", "record", "line", "offset", "kind"];

/// The last rejects, the newest first.
#[derive(Default)]
pub(crate) struct LastRejects(Mutex<VecDeque<Value>>);

impl LastRejects {
    pub(crate) fn add(&self, stream: &str, line: &RejectLine<'_>) {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut shown = json!(line);
        let text: Option<String> =
            shown["text"].as_str().map(|text| text.chars().take(TEXT_CHARACTERS_MAX).collect());
        if let Some(object) = shown.as_object_mut() {
            let get = |object: &serde_json::Map<String, Value>, key: &str| {
                object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let reason = format!(
                "{}: expected {}, found {}",
                get(object, "kind"),
                get(object, "expected"),
                get(object, "found")
            );
            object.insert("reason".to_owned(), reason.into());
            object.insert("text".to_owned(), text.into());
            object.insert("stream".to_owned(), stream.into());
            object.remove("text_base64");
            let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            object.insert("time_unix_ms".to_owned(), ms.into());
        }
        let mut rejects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rejects.push_front(shown);
        rejects.truncate(REJECTS_MAX);
    }

    pub(super) fn all(&self, is_shown: impl Fn(&str) -> bool) -> Vec<Value> {
        let hidden = |reject: &Value| {
            let mut left: serde_json::Map<String, Value> = PLACE
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), reject.get(name)?.clone())))
                .collect();
            left.insert("reason".to_owned(), reject["kind"].clone());
            Value::Object(left)
        };
        let one = |reject: &Value| {
            let stream = reject["stream"].as_str().unwrap_or_default();
            if is_shown(stream) { reject.clone() } else { hidden(reject) }
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(one).collect()
    }
}
