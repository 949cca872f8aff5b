// SPDX-License-Identifier: Apache-2.0
//! Eight records at once: every instruction set reads the same values as reading one by one.

use arrowsmith_number::{parse_date32, parse_f64, parse_i64, parse_u64};
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::lanes::{self, LANES, Literal, Positions};
use arrowsmith_simd::skip::{self, Rules};
use arrowsmith_simd::{BitBuffer, Buf, Input, Level, TextBuf};
use proptest::prelude::*;

/// Eight texts, each followed by a comma, in one input; and their starts.
fn side_by_side(texts: &[String]) -> (Vec<u8>, usize, Positions) {
    let mut bytes = Vec::new();
    let mut starts = [0; LANES];
    for (start, text) in starts.iter_mut().zip(texts) {
        *start = bytes.len();
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b',');
    }
    let end = bytes.len();
    bytes.resize(end + 128, b'7');
    (bytes, end, starts)
}

#[derive(Debug, Clone, Copy)]
enum What {
    Ints(bool),
    Floats,
    Dates,
    Bools,
}

/// Values as bits, and the positions after them.
struct Read<'a>(What, Input<'a>, Positions, u8);

impl Kernel for Read<'_> {
    type Output = Option<([u64; LANES], Positions)>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let Self(what, input, mut pos, set) = self;
        let before = pos;
        let values = match what {
            What::Ints(signed) => isa.int_lanes(input, &mut pos, set, signed),
            What::Floats => isa.float_lanes(input, &mut pos, set),
            What::Dates => isa.date_lanes(input, &mut pos, set).map(|days| days.map(u64::from)),
            What::Bools => lanes::bools(input, &mut pos, set)
                .map(|bits| std::array::from_fn(|lane| u64::from(lanes::has(bits, lane)))),
        };
        assert!(values.is_some() || pos == before, "nothing has happened");
        values.map(|values| (values, pos))
    }
}

/// One value read by itself: its bits, and its length.
fn alone(what: What, text: &str) -> Option<(u64, usize)> {
    let text = format!("{text},");
    let bytes = text.as_bytes();
    match what {
        What::Ints(true) => parse_i64(bytes).ok().map(|(v, len)| (v.cast_unsigned(), len)),
        What::Ints(false) => parse_u64(bytes).ok(),
        What::Floats => parse_f64(bytes).ok().map(|(v, len)| (v.to_bits(), len)),
        What::Dates => {
            let inner = text.strip_prefix('"')?.get(..10)?;
            (bytes.get(11) == Some(&b'"')).then_some(())?;
            let days = parse_date32(inner.as_bytes()).ok()?;
            Some((u64::from(days.cast_unsigned()), 12))
        }
        What::Bools => match &*text {
            "true," => Some((1, 4)),
            "false," => Some((0, 5)),
            _ => None,
        },
    }
}

fn check(what: What, texts: &[String], set: u8) {
    let (bytes, end, starts) = side_by_side(texts);
    let input = Input::new(&bytes, end).unwrap();
    let mut expected = Some(([0; LANES], starts));
    for (lane, text) in texts.iter().enumerate() {
        if lanes::has(set, lane) {
            expected = expected.zip(alone(what, text)).map(|(mut sum, (value, len))| {
                sum.0[lane] = value;
                sum.1[lane] += len;
                sum
            });
        }
    }
    for level in Level::available() {
        let read = level.dispatch(Read(what, input, starts, set));
        // A kernel may read the digits of a longer token: the caller detects it by the text after
        // them.
        let cut = |lane: usize, at: usize| lanes::has(set, lane) && bytes[at] != b',';
        if read.is_some_and(|(_, pos)| (0..LANES).any(|lane| cut(lane, pos[lane]))) {
            assert_ne!(read, expected);
            continue;
        }
        assert_eq!(read, expected, "{} {what:?} {texts:?} {set:b}", level.name());
    }
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (any::<i64>(), 0..64_u32).prop_map(|(bits, shift)| (bits >> shift).to_string()),
        2 => (0..10_000_000_i64).prop_map(|n| n.to_string()),
        1 => prop::sample::select(vec![
            "0", "-0", "00", "-", "01", "-01", "1.0", "1e3", "12345678", "123456789", "99999999",
            "999999999999999", "1234567890123456", "18446744073709551615", "18446744073709551616",
            "-9223372036854775808", "x", "null", "",
        ]).prop_map(str::to_owned),
    ]
}

fn float() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-9_999_999_i64..9_999_999, 0..6_usize).prop_map(|(n, places)| {
            format!("{:.places$}", n as f64 / 1000.0)
        }),
        4 => any::<f64>().prop_map(|f| format!("{f:?}")),
        4 => (-180.0..180.0_f64, 10..18_usize).prop_map(|(f, places)| format!("{f:.places$}")),
        2 => number(),
        1 => prop::sample::select(vec![
            "0.0", "-0.0", "0.", ".5", "1.5e3", "1.5E-3", "00.1", "123456.1234567", "1234567.5",
            "9007199254740993.0", "0.30000000000000004", "5e-324", "1.7976931348623157e308",
            "999999.999999999999999", "4.35", "0.000000000000001",
        ]).prop_map(str::to_owned),
    ]
}

fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (1..9999, 1..14, 1..32).prop_map(|(y, m, d)| format!("\"{y:04}-{m:02}-{d:02}\"")),
        1 => (0..40, 0..14, 0..40).prop_map(|(y, m, d)| format!("\"{:04}-{m:02}-{d:02}\"", y * 100)),
        1 => prop::sample::select(vec![
            "\"2024-02-29\"", "\"2023-02-29\"", "\"1900-02-29\"", "\"2000-02-29\"", "\"0000-01-01\"",
            "\"2024-1-01\"", "2024-01-01", "\"2024-01-01", "\"2024/01/01\"", "\"2024-01-0x\"", "null",
        ]).prop_map(str::to_owned),
    ]
}

fn eight<S: Strategy<Value = String>>(one: S) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(one, LANES)
}

proptest! {
    #[test]
    fn integers(texts in eight(number()), set in any::<u8>(), signed in any::<bool>()) {
        check(What::Ints(signed), &texts, set);
        check(What::Ints(signed), &texts, u8::MAX);
    }

    #[test]
    fn floats(texts in eight(float()), set in any::<u8>()) {
        check(What::Floats, &texts, set);
        check(What::Floats, &texts, u8::MAX);
    }

    #[test]
    fn coordinates(values in prop::collection::vec((-180.0..180.0_f64, 1..17_usize), LANES)) {
        let texts: Vec<String> = values.iter().map(|(f, p)| format!("{f:.p$}")).collect();
        check(What::Floats, &texts, u8::MAX);
    }

    #[test]
    fn dates(texts in eight(date()), set in any::<u8>()) {
        check(What::Dates, &texts, set);
        check(What::Dates, &texts, u8::MAX);
    }

    #[test]
    fn bools(
        texts in eight(prop::sample::select(vec!["true", "false", "tru", "null"]).prop_map(str::to_owned)),
        set in any::<u8>(),
    ) {
        check(What::Bools, &texts, set);
    }

    #[test]
    fn literals(
        which in prop::collection::vec(0..3_usize, LANES),
        set in any::<u8>(),
        len in 0..=64_usize,
    ) {
        let text = "\"key of some length that goes on and on until it is long enough\":"[..len].to_owned();
        let other = format!("{}~", &text[..len.saturating_sub(1)]);
        let texts: Vec<String> =
            which.iter().map(|i| [text.clone(), other.clone(), "null".to_owned()][*i].clone()).collect();
        let (bytes, end, starts) = side_by_side(&texts);
        let input = Input::new(&bytes, end).unwrap();
        let literal = Literal::new(text.as_bytes()).unwrap();
        prop_assert_eq!(literal.text(), text.as_bytes());
        for level in Level::available() {
            let (found, pos) = level.dispatch(Literals(input, starts, &literal, set));
            let (nulls, after) = level.dispatch(Nulls(input, starts, set));
            for lane in 0..LANES {
                let here = lanes::has(set, lane) && bytes[starts[lane]..].starts_with(text.as_bytes());
                prop_assert_eq!(lanes::has(found, lane), here);
                prop_assert_eq!(pos[lane], starts[lane] + if here { len } else { 0 });
                let null = lanes::has(set, lane) && which[lane] == 2;
                prop_assert_eq!(lanes::has(nulls, lane), null);
                prop_assert_eq!(after[lane], starts[lane] + if null { 4 } else { 0 });
            }
        }
    }

    #[test]
    fn strings(
        texts in eight(prop_oneof![
            4 => "[a-z é]{0,20}".prop_map(|s| format!("\"{s}\"")),
            1 => "[a-z]{50,200}".prop_map(|s| format!("\"{s}\"")),
            1 => prop::sample::select(vec!["\"a\\n\\u00e9b\"", "\"\\q\"", "null", "\"a\u{1}\"", "\"open"])
                .prop_map(str::to_owned),
        ]),
        set in any::<u8>(),
    ) {
        let (bytes, end, starts) = side_by_side(&texts);
        let input = Input::new(&bytes, end).unwrap();
        let levels = Level::available();
        for set in [set, u8::MAX] {
            let expected = levels[0].dispatch(OneByOne(input, starts, set));
            for level in &levels {
                prop_assert_eq!(level.dispatch(Strings(input, starts, set)), expected.clone());
            }
        }
    }

    #[test]
    fn positions(text in "[a\n]{0,600}", first in 0..20_u32, set in any::<u8>()) {
        let mut bytes = text.clone().into_bytes();
        bytes.resize(text.len() + 128, b'\n');
        let input = Input::new(&bytes, text.len()).unwrap();
        let feeds: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).take(LANES).collect();
        for level in Level::available() {
            let found = level.dispatch(Feeds(input)).map(Vec::from);
            prop_assert_eq!(found, (feeds.len() == LANES).then(|| feeds.clone()));
            let expected: Vec<u32> = (0..8).filter(|i| set >> i & 1 != 0).map(|i| first + i).collect();
            prop_assert_eq!(level.dispatch(Indices(first, set)), expected);
        }
    }

    #[test]
    fn elements(lens in prop::collection::vec(2..90_usize, 1..20), spaced in any::<bool>()) {
        let separator = if spaced { ", " } else { "," };
        let items: Vec<String> = lens.iter().map(|len| format!("{{{}}}", "x".repeat(len - 2))).collect();
        let text = format!("[{}]", items.join(separator));
        let mut bytes = text.clone().into_bytes();
        bytes.resize(text.len() + 128, b'7');
        let input = Input::new(&bytes, text.len()).unwrap();
        let starts: Vec<usize> = text.match_indices('{').map(|(at, _)| at).collect();
        for level in Level::available() {
            let found = level.dispatch(Elements(input)).unwrap();
            let count = starts.len().min(LANES);
            prop_assert_eq!(found.count, count);
            prop_assert_eq!(&found.starts[..count], &starts[..count]);
            prop_assert_eq!(found.next, starts.get(LANES).copied());
        }
    }

    #[test]
    fn bit_buffers_take_bytes(before in 0..70_usize, bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut buffer = BitBuffer::default();
        let mut expected = Vec::new();
        for i in 0..before {
            buffer.push(i % 3 == 0);
            expected.push(i % 3 == 0);
        }
        for byte in bytes {
            buffer.push_bits(u64::from(byte), 8);
            expected.extend((0..8).map(|bit| byte >> bit & 1 != 0));
        }
        buffer.push(true);
        expected.push(true);
        prop_assert_eq!(buffer.take().iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn values_move_to_their_rows(before in 0..9_usize, rows in prop::collection::vec(any::<bool>(), 1..65)) {
        let count = rows.len();
        let places = rows.iter().rev().fold(0, |set, there| set << 1 | u64::from(*there));
        // One value, and one end, for each row that has one; as in lockstep, there may be more.
        let (mut values, mut ends) = (Buf::<u64>::default(), Buf::<i32>::default());
        ends.push(0);
        (0..before).for_each(|_| (values.push(9), ends.push(0)).1);
        for value in 1..=places.count_ones() {
            values.push(u64::from(value));
            ends.push(value.cast_signed());
        }
        values.expand(before, places, count);
        ends.expand_ends(before, places, count);
        let mut expected = (vec![9; before], vec![0; before + 1]);
        let mut last = 0;
        for there in rows {
            last += u32::from(there);
            expected.0.push(if there { u64::from(last) } else { 0 });
            expected.1.push(last.cast_signed());
        }
        prop_assert_eq!(values.as_slice(), expected.0);
        prop_assert_eq!(ends.as_slice(), expected.1);
    }

    #[test]
    fn usual_values_are_values(
        text in prop_oneof![
            value(),
            "[-0-9.eE]{1,6}",
            "\\[([0-9]{1,2},){0,4}[0-9]{0,3}\\]",
            "\\[[0-9,]{0,70}\\]",
            "\"[a-z\\\\\"\x01]{0,70}\"",
            "(true|false|null)[,e]?",
        ],
    ) {
        let len = text.len();
        let mut bytes = text.into_bytes();
        bytes.push(b',');
        bytes.resize(len + 129, b'7');
        let input = Input::new(&bytes, len + 1).unwrap();
        let rules = Rules { depth: 8, lines: true, nan: false };
        let levels = Level::available();
        let expected = levels[0].dispatch(Usual(input, len));
        for level in &levels {
            prop_assert_eq!(level.dispatch(Usual(input, len)), expected, "{}", level.name());
            let whole = level.dispatch(Skip(input, rules)) == Some(len);
            prop_assert!(whole || !expected, "{}", level.name());
            let escapes = bytes[..len].contains(&b'\\');
            let plain = whole && len <= 64 && bytes[0] == b'"' && !escapes;
            prop_assert!(expected || !plain, "{}", level.name());
            let short = level.dispatch(Short(input));
            prop_assert!(short.is_none() || short == level.dispatch(Skip(input, rules)));
            let listed = expected && matches!(bytes[0], b'"' | b'[');
            prop_assert!(!listed || short == Some(len), "{}", level.name());
        }
    }

    #[test]
    fn containers(
        json in value(),
        broken in prop::option::of((any::<prop::sample::Index>(), prop::sample::select(b"{}[]:,\"\\ \n0x\x01u".to_vec()))),
        depth in 1..9_usize,
        lines in any::<bool>(),
    ) {
        let mut text = json.into_bytes();
        if let Some((at, byte)) = broken {
            let at = at.index(text.len());
            text[at] = byte;
        }
        let end = text.len();
        text.resize(end + 128, b']');
        let input = Input::new(&text, end).unwrap();
        let rules = Rules { depth, lines, nan: false };
        let levels = Level::available();
        let expected = levels[levels.len() - 1].dispatch(Skip(input, rules));
        for level in &levels {
            prop_assert_eq!(level.dispatch(Skip(input, rules)), expected, "{}", level.name());
        }
        if broken.is_none() && !lines && depth == 8 && matches!(text[0], b'{' | b'[') {
            prop_assert_eq!(expected, Some(end));
        }
    }
}

/// JSON of up to a few windows, in many spellings.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        number().prop_filter("valid", |n| n.parse::<i128>().is_ok()
            && parse_f64(format!("{n},").as_bytes()).is_ok()),
        prop::sample::select(vec![
            "true",
            "false",
            "null",
            "-0.5e+10",
            "0",
            "1E5",
            "\"\"",
            "\"a\\\"b\\\\\"",
            "\"\\u00eF\\n\"",
            "\"é{}[]:,\"",
            "\"a rather long text that runs over the end of the window, and then on\\\\\"",
        ])
        .prop_map(str::to_owned),
    ];
    let space = || prop::sample::select(vec!["", "", "", " ", "\t ", "  \r"]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..6), space(), space()).prop_map(
                |(items, a, b)| { format!("[{a}{}{b}]", items.join(&format!("{b},{a}"))) }
            ),
            (prop::collection::vec(("[a-z\\\\/]{0,9}", inner), 0..6), space(), space()).prop_map(
                |(items, a, b)| {
                    let items: Vec<String> = items
                        .into_iter()
                        .map(|(key, item)| {
                            format!("\"{}\"{a}:{b}{item}", key.replace('\\', "\\\\"))
                        })
                        .collect();
                    format!("{{{a}{}{b}}}", items.join(&format!("{b},{a}")))
                }
            ),
        ]
    })
}

struct Literals<'a>(Input<'a>, Positions, &'a Literal, u8);

impl Kernel for Literals<'_> {
    type Output = (u8, Positions);

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let mut pos = self.1;
        let found = isa.literal_lanes(self.0, &mut pos, self.2, self.3, true);
        let mut again = self.1;
        assert_eq!(isa.literal_lanes(self.0, &mut again, self.2, self.3, false), found);
        assert_eq!(again, pos);
        (found, pos)
    }
}

struct Nulls<'a>(Input<'a>, Positions, u8);

impl Kernel for Nulls<'_> {
    type Output = (u8, Positions);

    fn run<I: Isa>(self, _isa: I) -> Self::Output {
        let mut pos = self.1;
        (lanes::null(self.0, &mut pos, self.2), pos)
    }
}

type Texts = Option<(Vec<String>, Positions)>;

struct Strings<'a>(Input<'a>, Positions, u8);

impl Kernel for Strings<'_> {
    type Output = Texts;

    fn run<I: Isa>(self, isa: I) -> Texts {
        let mut text = TextBuf::default();
        text.push(b"before");
        let mut pos = self.1;
        let read = text.push_lanes(isa, self.0, &mut pos, self.2);
        assert_eq!(text.len(), if read { 1 + LANES } else { 1 });
        let all = text.take(None).unwrap();
        let texts = all.iter().skip(1).map(|text| text.unwrap_or_default().to_owned()).collect();
        read.then_some((texts, pos))
    }
}

/// The same by the kernel for one string.
struct OneByOne<'a>(Input<'a>, Positions, u8);

impl Kernel for OneByOne<'_> {
    type Output = Texts;

    fn run<I: Isa>(self, isa: I) -> Texts {
        let Self(input, mut pos, set) = self;
        let mut texts = Vec::new();
        for (lane, pos) in pos.iter_mut().enumerate() {
            let mut text = TextBuf::default();
            text.push(b"");
            if lanes::has(set, lane) {
                (input.at(*pos) == b'"').then_some(())?;
                *pos = text.push_json(isa, input, *pos + 1).ok()?;
            }
            texts.push(String::from_utf8(text.last().to_vec()).unwrap());
        }
        Some((texts, pos))
    }
}

struct Feeds<'a>(Input<'a>);

impl Kernel for Feeds<'_> {
    type Output = Option<Positions>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        lanes::line_feeds(isa, self.0, 0)
    }
}

struct Indices(u32, u8);

impl Kernel for Indices {
    type Output = Vec<u32>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        let mut out = Buf::default();
        isa.index_lanes(&mut out, self.0, self.1);
        out.as_slice().to_vec()
    }
}

struct Elements<'a>(Input<'a>);

impl Kernel for Elements<'_> {
    type Output = Option<lanes::Elements>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        lanes::elements(isa, self.0, 1, *b"{}")
    }
}

struct Usual<'a>(Input<'a>, usize);

impl Kernel for Usual<'_> {
    type Output = bool;

    fn run<I: Isa>(self, isa: I) -> bool {
        skip::is_usual(isa, self.0.window(0), self.1)
    }
}

struct Short<'a>(Input<'a>);

impl Kernel for Short<'_> {
    type Output = Option<usize>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        skip::short(isa, self.0.window(0))
    }
}

struct Skip<'a>(Input<'a>, Rules);

impl Kernel for Skip<'_> {
    type Output = Option<usize>;

    fn run<I: Isa>(self, isa: I) -> Self::Output {
        skip::value(isa, self.0, 0, self.1).ok()
    }
}
