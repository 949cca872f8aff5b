// SPDX-License-Identifier: Apache-2.0
//! Detection, splitting, and errors of a whole source.

use arrowsmith_core::{ErrorKind, Framing, Limits, Result};

use super::scan::{State, balanced_end, last_end, string_end};
use super::{DETECT_BYTES, Detection, Framer, Step, detect};

use Framing::{Array, Concatenated, Lines};

#[test]
fn the_first_value_says_how_records_follow() {
    let cases = [
        ("{\"a\":1}\n{\"a\":2}\n", Lines),
        ("{\"a\":1}", Lines),
        ("{\"a\":1} \t\r\n", Lines),
        ("\u{feff}\n\n {\"a\":1}\r\n{", Lines),
        ("{\"a\":1}{\"a\":2}\n", Concatenated),
        ("{\"a\":1} {\"a\":2}\n", Concatenated),
        ("{\n\"a\":1}\n", Concatenated),
        ("{\"a\":{\n\"b\":1}}", Concatenated),
        ("{\"a\":1\n}", Concatenated),
        ("{\"a\":1\n,\"b\":2}", Concatenated),
        ("{\"a\":\n\n1}", Concatenated),
        // Malformed lines, not malformed documents.
        ("{\"a\":1\n{\"a\":2}\n", Lines),
        ("{\"a\":\"x\n{\"a\":2}\n", Lines),
        ("{\"a\":1} x\n{\"a\":2}\n", Lines),
        ("{\"a\":1} [2]\n", Lines),
        ("{\"a\":1},\n{\"a\":2},\n", Lines),
        ("hello\n{\"a\":2}\n", Lines),
        ("}\n{\"a\":2}\n", Lines),
        ("\"x\ny\"\n", Lines),
        ("[1,2\n[3]\n", Lines),
        ("{\"a\":1", Lines),
        // Values that are not objects.
        ("1\n2\n", Lines),
        ("1", Lines),
        ("1 2 3", Lines),
        ("\"a\"\"b\"", Lines),
        ("null\n", Lines),
        // Arrays.
        ("[1,2]", Array),
        ("[1,2]\n", Array),
        ("[1,2] \n \n", Array),
        ("[\n1\n]\n", Array),
        ("[]", Array),
        ("[", Array),
        ("[{\"a\":1},\n{\"a\":2}", Array),
        ("[1,2]x", Array),
        ("[1,2]\n]", Array),
        ("[1,2]\n[3]\n", Lines),
        ("[1,2]\r\n{\"a\":1}", Lines),
        ("[1][2]", Array),
        ("[1] [2]", Array),
        ("[\n1]\n[2]", Concatenated),
    ];
    for (text, expected) in cases {
        assert_eq!(detect(text.as_bytes(), true), Detection::Found(expected), "{text:?}");
        // A decision from a prefix does not change with more text.
        for len in 0..text.len() {
            let found = detect(&text.as_bytes()[..len], false);
            let fits = [Detection::NeedMore, Detection::Found(expected)].contains(&found);
            assert!(fits, "{:?}: {found:?}", &text.as_bytes()[..len].escape_ascii().to_string());
        }
    }
    for text in ["", " \n", "\u{feff}", "\u{feff}\n"] {
        assert_eq!(detect(text.as_bytes(), true), Detection::Empty, "{text:?}");
        assert_eq!(detect(text.as_bytes(), false), Detection::NeedMore, "{text:?}");
    }
}

#[test]
fn long_first_values_are_decided_without_their_end() {
    let long = |open: &str, repeat: &str, close: &str| {
        format!("{open}{}{close}", repeat.repeat(DETECT_BYTES / repeat.len() + 1)).into_bytes()
    };
    for (text, expected) in [
        (long("[1", ",1", "]\n[2]\n"), Array),
        (long("[1\n", ",1", "]"), Array),
        (long("{\"a\":[1", ",1", "]}\n"), Lines),
        (long("{\"a\":[\n1", ",1", "]}\n"), Concatenated),
        (long("{\"a\":\"", "x", "\"}\n"), Lines),
        (long("", " ", "[1]"), Lines),
    ] {
        for eof in [false, true] {
            assert_eq!(detect(&text, eof), Detection::Found(expected));
        }
        assert_eq!(detect(&text[..DETECT_BYTES], false), Detection::Found(expected));
    }
}

#[test]
fn values_end_where_brackets_and_quotes_say() {
    for (text, end) in [
        (r#"{"a":1}x"#, 7),
        (r#"[[],{"]":"}"},"\"]\\"] ]"#, 22),
        (r#"{"a":"\\\""}}"#, 12),
        ("[]", 2),
        ("{]", 2),
    ] {
        assert_eq!(balanced_end(text.as_bytes(), 0, &mut State::default()), Ok(end), "{text}");
        // In two pieces, split at any position.
        for len in 0..end {
            let mut state = State::default();
            let at = balanced_end(&text.as_bytes()[..len], 0, &mut state).unwrap_err();
            assert!(at <= len);
            assert_eq!(balanced_end(text.as_bytes(), at, &mut state), Ok(end), "{text} at {len}");
        }
    }
    assert_eq!(string_end(br#"\"a"b"#, 0), Ok(4));
    assert_eq!(string_end(br"\", 0), Err(0));
    assert_eq!(string_end(b"ab", 0), Err(2));
}

/// The first and the last end of a container, byte by byte. A backslash escapes a quote anywhere.
fn ends_slowly(text: &[u8]) -> (Option<usize>, Option<usize>) {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut ends = (None, None);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => in_string ^= !escaped,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string && depth == 0 => return ends,
            b'}' | b']' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    ends = (ends.0.or(Some(at + 1)), Some(at + 1));
                }
            }
            _ => {}
        }
        escaped = *byte == b'\\' && !escaped;
    }
    ends
}

#[test]
fn values_end_at_the_same_place_in_any_pieces() {
    let mut seed = 1_u64;
    let mut random = move |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % end
    };
    let mut ends = 0;
    for _ in 0..20_000 {
        let letters: &[u8] = [&b"{}[]\"\\a"[..], b"{[\"\\\\aaaaaaaaaaaaaaaa", b"[[}x"][random(3)];
        let text: Vec<u8> = std::iter::once(b'[')
            .chain((0..random(300)).map(|_| letters[random(letters.len())]))
            .collect();
        let expected = balanced_end(&text, 0, &mut State::default());
        ends += usize::from(expected.is_ok());
        let ends = (expected.ok(), last_end(&text, 0));
        assert_eq!(ends, ends_slowly(&text), "{}", text.escape_ascii());
        let (mut state, mut at, mut len) = (State::default(), 0, 0);
        let found = loop {
            match balanced_end(&text[..len], at, &mut state) {
                Ok(end) => break Ok(end),
                Err(next) if len == text.len() => break Err(next),
                Err(next) => at = next,
            }
            len = text.len().min(len + 1 + random(70));
        };
        assert_eq!(found, expected, "{}", text.escape_ascii());
    }
    assert!(ends > 1000, "{ends}");
}

/// The records of each cut, with `|` between cuts, and the final result.
fn frame(text: &str, framing: Option<Framing>, target: usize, limits: &Limits) -> String {
    let mut framer = Framer::new(framing, limits, None);
    let mut found = String::new();
    let mut at = 0;
    loop {
        match framer.next(&text.as_bytes()[at..], true, target) {
            Ok(Step::Cut(cut)) => {
                let start = at + cut.start;
                found.push_str(&text[start..start + cut.len]);
                found.push('|');
                at += cut.consumed;
            }
            Ok(Step::Done) => return found,
            Ok(other) => return format!("{found} {other:?}"),
            Err(error) => {
                let data = error.as_data().unwrap();
                return format!("{found} {} {}", data.kind, data.position.offset);
            }
        }
    }
}

#[test]
fn cuts_are_between_records() {
    let limits = Limits::default();
    let cases = [
        ("1\n22\n\n333\n", Some(Lines), 1, "1\n|22\n|\n|333\n|"),
        ("1\n22\n\n333", Some(Lines), 6, "1\n22\n\n|333|"),
        ("1\n22\n\n333", Some(Lines), 4, "1\n|22\n\n|333|"),
        ("\u{feff}1\n2", None, 1, "1\n|2|"),
        (
            "{} {}\n{\"a\":\"} {\"}{}1 2\"x\"\"y\"",
            None,
            1,
            "{}| {}|\n{\"a\":\"} {\"}|{}|1| 2|\"x\"|\"y\"|",
        ),
        ("{} {}\n{}{}", None, 6, "{} {}|\n{}{}|"),
        ("{} {\"a\":", None, 1, "{}| {\"a\":|"),
        // A number that is cut is an error at its start, however the text is split.
        ("{} 0E\n1 2", Some(Concatenated), 1, "{}| 0E\n1| 2|"),
        ("{} - 1. 1.5", Some(Concatenated), 1, "{}| - 1. 1.5|"),
        ("[1,[2,3],{\"a\":[4,\",\"]},\"]\"]\n", None, 1, "1|[2,3]|{\"a\":[4,\",\"]}|\"]\"|"),
        ("[1,[2,3],{\"a\":[4,\",\"]},\"]\"]\n", None, 9, "1,[2,3]|{\"a\":[4,\",\"]}|\"]\"|"),
        (" [ 1 , 2 ] ", Some(Array), 99, " 1 , 2 |"),
        (" [ 1 , 2 ] ", Some(Array), 1, " 1 | 2 |"),
        ("[]", Some(Array), 1, "|"),
        ("", Some(Array), 1, ""),
        (" \n", None, 1, ""),
        // Errors in elements are left to the engine, and nothing is lost.
        ("[,1]", Some(Array), 1, ",1|"),
        ("[1,]", Some(Array), 1, "1,|"),
        ("[1, ]", Some(Array), 1, "1, |"),
        ("[1,,2]", Some(Array), 1, "1|,2|"),
        ("[1 2,3]", Some(Array), 1, "1 2|3|"),
        ("[},1]", Some(Array), 1, "}|1|"),
        ("[,]", Some(Array), 1, ",|"),
        // Errors of the array itself are the framer's.
        ("[1,2", Some(Array), 1, "1|2| truncated 4"),
        ("[1,2,", Some(Array), 1, "1|2| truncated 5"),
        ("[1,2, ", Some(Array), 99, "1,2| truncated 6"),
        ("[1,{\"a\":[", Some(Array), 1, "1|{\"a\":[| truncated 9"),
        ("[", Some(Array), 1, " truncated 1"),
        ("[ \n", None, 1, " truncated 3"),
        ("[1] 2", Some(Array), 1, "1| trailing-data 4"),
        ("[1]]", Some(Array), 99, "1| trailing-data 3"),
        ("{\"a\":1}", Some(Array), 1, " syntax 0"),
        ("\u{feff} 1", Some(Array), 1, " syntax 4"),
    ];
    for (text, framing, target, expected) in cases {
        assert_eq!(frame(text, framing, target, &limits), expected, "{text:?} by {target}");
    }
}

#[test]
fn lines_outside_of_records_are_counted() {
    let text = b"\n[\n1\n,\n2\n]\n";
    let mut framer = Framer::new(None, &Limits::default(), None);
    let Ok(Step::Cut(cut)) = framer.next(text, true, 1) else { panic!() };
    assert_eq!((cut.start, cut.len, cut.lines_before), (2, 3, 1));
    assert_eq!((cut.consumed, cut.lines_after), (6, 0));
    let Ok(Step::Cut(cut)) = framer.next(&text[6..], true, 1) else { panic!() };
    assert_eq!((cut.start, cut.len, cut.consumed), (0, 3, 4));
    assert_eq!(framer.next(&text[10..], true, 1).unwrap(), Step::Done);
}

/// Offset and length of a skipped line.
type Overlong = (u64, usize);

/// Feeds a text in pieces of `piece` bytes; returns the text of the cuts and the rejects, or the
/// error.
fn feed(mut framer: Framer, text: &[u8], piece: usize) -> Result<(Vec<u8>, Vec<Overlong>)> {
    let (mut cuts, mut rejects) = (Vec::new(), Vec::new());
    let (mut at, mut filled) = (0, 0);
    loop {
        let (step, eof) =
            (framer.next(&text[at..filled], filled == text.len(), 1)?, filled == text.len());
        match step {
            Step::Cut(cut) => {
                cuts.extend_from_slice(&text[at + cut.start..at + cut.start + cut.len]);
                at += cut.consumed;
            }
            Step::Skipped { consumed, reject, .. } => {
                at += consumed;
                rejects.extend(reject.map(|it| (it.error.position.offset, it.record.len())));
            }
            Step::NeedMore => {
                assert!(!eof);
                filled = text.len().min(filled + piece);
            }
            Step::Done => return Ok((cuts, rejects)),
        }
    }
}

#[test]
fn records_that_are_too_long() {
    let limits = Limits::default().with_record_bytes_max(1000);
    let long = "x".repeat(200_000);
    let lines = format!("{{\"a\":1}}\n\n  {{\"a\":\"{long}\"}}\n{{\"a\":2}}\n");
    let array = format!("[{{\"a\":1}},\n\n  {{\"a\":\"{long}\"}}\n,{{\"a\":2}}]\n");
    let values = format!("{{\"a\":1}}{{}}\n  {{\"a\":\"{long}\"}}\n{{\"a\":2}}\n");
    for (text, offset) in [(&lines, 11), (&array, 13), (&values, 12)] {
        for piece in [1 << 10, 1 << 16, 1 << 20] {
            let error = feed(Framer::new(None, &limits, None), text.as_bytes(), piece).unwrap_err();
            let data = error.as_data().unwrap();
            assert_eq!((data.kind, data.position.offset), (ErrorKind::RecordTooLong, offset));
        }
    }
    for piece in [1 << 10, 1 << 16, 1 << 20] {
        let framer = Framer::new(None, &limits, None).skip_overlong(true);
        let (cuts, rejects) = feed(framer, lines.as_bytes(), piece).unwrap();
        let records: Vec<&str> = std::str::from_utf8(&cuts).unwrap().split_whitespace().collect();
        assert_eq!(records, ["{\"a\":1}", "{\"a\":2}"]);
        assert_eq!(rejects, [(11, 64 << 10)]);
        // The last line, without an end.
        let framer = Framer::new(Some(Lines), &limits, None).skip_overlong(true);
        let (cuts, rejects) = feed(framer, long.as_bytes(), piece).unwrap();
        assert_eq!((cuts.len(), rejects), (0, vec![(0, 64 << 10)]));
    }
    // A slightly longer line is checked by the engine, as white space does not count.
    let padded = format!("{{\"a\":1{}}}\n", " ".repeat(2000));
    assert_eq!(frame(&padded, None, 1, &limits), format!("{padded}|"));
}

#[test]
fn white_space_does_not_pile_up() {
    let blank = " \n".repeat(1 << 20);
    for (framing, before) in [(Lines, "1\n"), (Concatenated, "1"), (Array, "[1"), (Array, "[1]")] {
        let mut framer =
            Framer::new(Some(framing), &Limits::default().with_record_bytes_max(1000), None);
        let text = format!("{before}{blank}");
        let (mut at, mut filled, mut most) = (0, 0, 0);
        while filled < text.len() {
            match framer.next(&text.as_bytes()[at..filled], false, 1000) {
                Ok(Step::Cut(cut)) => at += cut.consumed,
                Ok(Step::NeedMore) => filled = text.len().min(filled + 1000),
                Err(error) => {
                    // White space after an element of an array is limited, too.
                    assert_eq!(error.as_data().unwrap().kind, ErrorKind::RecordTooLong);
                    break;
                }
                other => panic!("{other:?}"),
            }
            most = most.max(filled - at);
        }
        assert!(most < 70_000, "{framing:?}: {most}");
    }
}
