// SPDX-License-Identifier: Apache-2.0
//! What a thread or task unwound with, in words: work that was refused memory names the limit.

use std::any::Any;

use arrowsmith_core::memory::Refused;

/// Why it unwound.
pub(crate) fn why(payload: Box<dyn Any + Send>) -> String {
    let other = match Refused::caught(payload) {
        Ok(refused) => return refused.to_string(),
        Err(other) => other,
    };
    let text = other.downcast_ref::<&str>().copied();
    let text = text.or_else(|| other.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(|| "a panic".to_owned(), |text| format!("a panic: {text}"))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_refusal_names_its_limit() {
        let refused =
            Refused { limit: "batch_bytes_max", limit_bytes: 5, held_bytes: 1, asked_bytes: 9 };
        let told = why(catch_unwind(|| refused.unwind()).unwrap_err());
        assert_eq!(told, "9 bytes beyond 1 are more than batch_bytes_max, 5");
        assert_eq!(why(Box::new("a bug")), "a panic: a bug");
        assert_eq!(why(Box::new("another".to_owned())), "a panic: another");
        assert_eq!(why(Box::new(5)), "a panic");
    }
}
