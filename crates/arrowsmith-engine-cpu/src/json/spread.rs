// SPDX-License-Identifier: Apache-2.0
//! Spread: a record whose members have no order, its values one type after another.
//!
//! Reading such a record member by member, the type of the next value is a surprise each time, and
//! each conversion waits for the end of the one before it. Here the quotes of the whole record are
//! found first. Those before a colon belong to keys, which are looked up independently of each
//! other; then all integers are converted, then all floats, and so on. So a value costs neither a
//! mispredicted branch on its type nor the latency of its neighbours.
//!
//! As in lockstep, this affects only speed. Each value has to end where the next key's comma is, so
//! that nothing between is unread; at the first surprise (an escape, a nested object, a key that
//! comes twice, a value that fails) the columns are truncated, and the walker reads the record.

use arrowsmith_core::{Framing, UnknownKeys};
use arrowsmith_plan::{FloatWidth, IntWidth};
use arrowsmith_simd::isa::{Isa, Kernel};

use super::build::Values;
use super::keys::KEY_BYTES_MAX;
use super::program::{Code, Fast, ROOT, ROOT_OBJECT};
use super::route::ObjectState;
use super::walk::{Any, FAIL, Ints, Walker};

/// Maximum number of quotes of a record.
const QUOTES_MAX: usize = 512;

/// Maximum number of members of a record.
const MEMBERS_MAX: usize = 128;

/// Maximum length of a record, in bytes.
const RECORD_BYTES_MAX: usize = 16 << 10;

/// Maximum number of records that are read by the walker before the next try.
const PENALTY_MAX: usize = 256;

/// The groups of values that are converted together.
const GROUPS: usize = 8;

/// A value: its field, the distance of its first byte from the record's, and that of the byte after
/// it.
#[derive(Debug, Default, Clone, Copy)]
struct Item {
    field: u32,
    from: u32,
    to: u32,
}

/// Memory for the parts of one record.
#[derive(Debug)]
pub(crate) struct Spread {
    /// The distances of quotes from the record's start.
    quotes: Box<[u32; QUOTES_MAX + 64]>,
    /// The quotes of keys.
    keys: Box<[(u32, u32); MEMBERS_MAX]>,
    items: Box<[[Item; MEMBERS_MAX]; GROUPS]>,
    counts: [usize; GROUPS],
    /// Records to read by the walker before the next try.
    wait: usize,
    penalty: usize,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            quotes: Box::new([0; QUOTES_MAX + 64]),
            keys: Box::new([(0, 0); MEMBERS_MAX]),
            items: Box::new([[Item::default(); MEMBERS_MAX]; GROUPS]),
            counts: [0; GROUPS],
            wait: 0,
            penalty: 0,
        }
    }
}

/// The group of a value.
pub(crate) fn group(fast: Fast) -> u8 {
    match fast {
        Fast::I64 => 0,
        Fast::F64 => 1,
        Fast::Utf8 => 2,
        Fast::Bool => 3,
        Fast::Ints => 4,
        Fast::U64 => 7,
        _ => 5,
    }
}

/// The group of values that no field has.
const UNKNOWN: usize = 6;

/// Runs [`Walker::spread`].
pub(crate) struct SpreadRecord<'w, 'a, I> {
    pub walker: &'w mut Walker<'a, I>,
    pub pos: usize,
}

impl<I: Isa> Kernel for SpreadRecord<'_, '_, I> {
    type Output = usize;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> usize {
        self.walker.spread(self.pos)
    }
}

impl<I: Isa> Walker<'_, I> {
    /// Whether records can be read so at all.
    pub fn may_spread(&self, framing: Framing) -> bool {
        let object = matches!(self.program.steps[ROOT].code, Code::Struct(ROOT_OBJECT));
        let shallow = self.program.steps[ROOT].depth <= self.options.limits.depth_max;
        framing == Framing::Lines && object && shallow && !self.careful
    }

    /// Whether to read the next record so: its members have no order, and the last tries succeeded.
    #[inline(always)]
    pub fn spread_due(&mut self) -> bool {
        if self.predictors[ROOT_OBJECT].learns() {
            return false;
        }
        if self.spread.wait > 0 {
            self.spread.wait -= 1;
            return false;
        }
        true
    }

    /// Reads the record at `start`; [`FAIL`], with nothing changed, if the walker has to.
    #[inline(always)]
    fn spread(&mut self, start: usize) -> usize {
        let row = *self.rows;
        let left_out = self.left_out.values;
        if let Some(end) = self.spread_members(start)
            && self.spread_values(start, row)
        {
            self.spread.penalty = 0;
            return end;
        }
        self.columns.truncate(self.program, ROOT, row);
        self.left_out.values = left_out;
        self.spread.penalty = (self.spread.penalty * 2).clamp(1, PENALTY_MAX);
        self.spread.wait = self.spread.penalty;
        FAIL
    }

    /// Finds the quotes of the record at `start`. Returns their number, and the position of the
    /// line feed after it.
    #[inline(always)]
    fn spread_quotes(&mut self, start: usize) -> Option<(usize, usize)> {
        let (isa, input) = (self.isa, self.input);
        let (mut count, mut inside, mut braces) = (0, 0_u64, 0);
        let mut base = 0;
        loop {
            let window = input.window(start + base);
            // Quotes, backslashes and control characters.
            let stops = isa.string_stop(window);
            let feed = isa.equal_to(window, b'\n');
            // The bits before the line feed.
            let before = (feed & feed.wrapping_neg()).wrapping_sub(1);
            let mut quotes = isa.equal_to(window, b'"') & before;
            let others = stops & before & !quotes;
            let strings = isa.prefix_xor(quotes) ^ inside;
            braces += (isa.equal_to(window, b'{') & before & !strings).count_ones();
            let found = quotes.count_ones() as usize;
            let to: &mut [u32; 64] =
                self.spread.quotes.get_mut(count..count + 64)?.try_into().ok()?;
            let offset = u32::try_from(base).ok()?;
            for (at, quote) in to.iter_mut().enumerate() {
                // Most windows have fewer, so that the branch is predicted.
                if at >= 8 && at >= found {
                    break;
                }
                *quote = offset + quotes.trailing_zeros();
                quotes &= quotes.wrapping_sub(1);
            }
            count += found;
            if others != 0 || count > QUOTES_MAX || base > RECORD_BYTES_MAX {
                return None;
            }
            if feed != 0 {
                let end = start + base + feed.trailing_zeros() as usize;
                // An even number of quotes: no string is open.
                let fits = braces == 1 && count % 2 == 0 && end < input.end();
                return fits.then_some((count, end));
            }
            inside = 0_u64.wrapping_sub(strings >> 63);
            base += 64;
        }
    }

    /// Finds the members of the record at `start` and the fields that they are; returns the
    /// position after the record. Its loops have no branch on what the keys are.
    #[inline(always)]
    fn spread_members(&mut self, start: usize) -> Option<usize> {
        let (isa, input) = (self.isa, self.input);
        if input.at(start) != b'{' {
            return None;
        }
        let (quotes, feed) = self.spread_quotes(start)?;
        let spread = &mut *self.spread;
        // Keeps the quotes of keys, which a colon follows.
        let mut count = 0;
        for pair in 0..quotes / 2 {
            let close = spread.quotes[2 * pair + 1];
            spread.keys[count & (MEMBERS_MAX - 1)] = (spread.quotes[2 * pair], close);
            count += usize::from(input.at(start + close as usize + 1) == b':');
        }
        if count == 0 || count >= MEMBERS_MAX {
            return None;
        }
        spread.counts = [0; GROUPS];
        let table = &self.program.objects[ROOT_OBJECT].table;
        let (mut unknown, mut wrong) = (false, spread.keys[0].0 != 1);
        // Where the value before is noted, so that its end can be.
        let mut last = (UNKNOWN, 0);
        for &(open, close) in spread.keys.get(..count)? {
            let (from, to) = (start + open as usize, start + close as usize);
            let before = open - 1 - u32::from(input.at(from - 1) == b' ');
            // The bracket is checked above.
            wrong |= before > 0 && input.at(start + before as usize) != b',';
            spread.items[last.0][last.1].to = before;
            let len = to - from - 1;
            let key = table.probe(isa, input, from + 1, len);
            wrong |= len > KEY_BYTES_MAX;
            unknown |= !key.known;
            let kind = [UNKNOWN, usize::from(key.group)][usize::from(key.known)] & 7;
            let at = spread.counts[kind] & (MEMBERS_MAX - 1);
            let value = close + 2 + u32::from(input.at(to + 2) == b' ');
            spread.items[kind][at] = Item { field: key.field, from: value, to: 0 };
            spread.counts[kind] += 1;
            last = (kind, at);
        }
        // The walker notes the first key that no field has, and refuses such keys.
        let noted = self.options.unknown_keys != UnknownKeys::Error && self.left_out.key.is_some();
        wrong |= unknown && !(noted && table.is_complete());
        if wrong || input.at(feed - 1) != b'}' {
            return None;
        }
        spread.items[last.0][last.1].to = u32::try_from(feed - 1 - start).ok()?;
        Some(feed)
    }

    /// Converts the values of the record at `start`.
    #[inline(always)]
    fn spread_values(&mut self, start: usize, row: usize) -> bool {
        let isa = self.isa;
        let mut reading = ObjectState::of(self.program, ROOT, ROOT_OBJECT, row, start);
        let first = reading.first_child;
        self.predictors[ROOT_OBJECT].start();
        let mut wrong = false;
        for kind in 0..GROUPS {
            for at in 0..self.spread.counts[kind] {
                let Item { field, from, to } = self.spread.items[kind][at & (MEMBERS_MAX - 1)];
                let (field, pos) = (field as usize, start + from as usize);
                let id = first + field;
                if kind == UNKNOWN {
                    wrong |= self.skip(pos, reading.depth, false) != start + to as usize;
                    self.left_out.values += 1;
                    continue;
                }
                wrong |= self.mark_seen(&mut reading, field);
                let end = match kind {
                    0 => self.int(id, IntWidth::I64, pos),
                    7 => self.int(id, IntWidth::U64, pos),
                    1 => self.float(id, FloatWidth::F64, pos),
                    2 => self.utf8(id, pos),
                    3 => self.bool(id, pos),
                    4 => match isa.vectorize(Ints { walker: self, id, pos }) {
                        FAIL => isa.vectorize(Any { walker: self, id, pos }),
                        end => end,
                    },
                    _ => isa.vectorize(Any { walker: self, id, pos }),
                };
                wrong |= end != start + to as usize;
            }
            if wrong {
                return false;
            }
        }
        if let Values::Count(count) = &mut self.columns.columns[ROOT].values {
            *count += 1;
        }
        self.fill(&reading, start)
    }
}
