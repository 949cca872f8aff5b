// SPDX-License-Identifier: Apache-2.0
//! Whether the parsers of a port share a set of writers: a model of the steps they make per cycle,
//! and of the look-up tables of a set.
//!
//! A parser makes at most one step per cycle, which a set of writers can take. With long keys and
//! strings, parsers make far fewer: then several can share one set, which needs more rows in its
//! RAMs, one per parser and column, but hardly more logic. The model is approximate; both choices
//! give the same buffers, and a user who knows the data better can override it.

use super::Shape;
use super::kind::Kind;
use super::layout::Layout;

/// The assignment of writers to parsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writers {
    /// By the model: shared if that is smaller and costs no time.
    #[default]
    Auto,
    /// Each parser has its own.
    Own,
    /// The parsers of a port share one.
    Shared,
}

/// The usable share of a shared set's cycles: beyond that, parsers would wait for their turns.
const FULL: f64 = 0.9;

/// Assumed text lengths, if the plan does not define them. Short, because shorter values mean more
/// steps per byte.
#[derive(Debug, Clone, Copy)]
struct Typical {
    digits: f64,
    items: f64,
    string: f64,
}

const TYPICAL: Typical = Typical { digits: 4.0, items: 8.0, string: 16.0 };

/// The choice, and the figures of the model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    shared: bool,
    /// Steps per cycle of the parsers of a port with sets of their own.
    steps: f64,
    /// Additional look-up tables for sets of their own, over all ports.
    luts: f64,
}

impl Choice {
    pub(super) fn new(layout: &Layout, shape: Shape) -> Self {
        let steps = Load::of_record(layout, shape, TYPICAL).steps_per_cycle(shape);
        let luts = (own_luts(layout, shape) - shared_luts(layout, shape)) * many(shape.ports);
        let shared = match shape.writers {
            Writers::Auto => steps <= FULL && luts > 0.0,
            Writers::Own => false,
            Writers::Shared => true,
        };
        Self { shared: shared && shape.parsers_at_port() > 1, steps, luts }
    }

    /// The number of sets of writers.
    pub(super) fn sets(self, shape: Shape) -> usize {
        if self.shared { shape.ports } else { shape.parsers }
    }

    /// A sentence for the README, if there was a choice.
    pub(super) fn describe(self, shape: Shape) -> Option<String> {
        let at_port = shape.parsers_at_port();
        let who = if self.shared {
            format!("shared by the {at_port} parsers of a port")
        } else {
            "a set for each parser".to_owned()
        };
        (at_port > 1).then(|| {
            format!(
                "Writers: {who}. By the model of the generator, {at_port} parsers make {:.2} steps per cycle without stalls, and a shared set takes \
                 one; sets of their own take about {:.0} look-up tables more in all. `--writers own` and `--writers shared` choose otherwise.",
                self.steps,
                (self.luts / 100.0).round() * 100.0
            )
        })
    }
}

/// The load of records as a compact writer writes them.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    /// Bytes of text.
    bytes: f64,
    /// Steps of a parser: each gives its writers a command.
    steps: f64,
    /// Bytes of Arrow buffers.
    written: f64,
}

impl Load {
    fn of_record(layout: &Layout, shape: Shape, typical: Typical) -> Self {
        let mut load = Self::default();
        load.value(layout, 0, shape, typical, 1.0);
        // The line feed.
        load.bytes += 1.0;
        load
    }

    /// `times` values of a node.
    fn value(&mut self, layout: &Layout, node: usize, shape: Shape, typical: Typical, times: f64) {
        let row = &layout.rows[node];
        let width = many(shape.width);
        let (bytes, steps, written) = match row.kind {
            Kind::Struct => {
                for &child in &row.children {
                    // Quotes, colon, comma.
                    let key = layout.rows[child].key.as_ref().map_or(0, String::len) + 4;
                    self.bytes += times * many(key);
                    self.value(layout, child, shape, typical, times);
                }
                (1.0, 0.0, 0.0)
            }
            Kind::List | Kind::Fixed(_) => {
                let items = if let Kind::Fixed(items) = row.kind {
                    f64::from(items)
                } else {
                    typical.items
                };
                let item = row.children[0];
                if row.bulk {
                    let text = digits(layout.rows[item].kind, typical) + 1.0;
                    // As many as end in a transfer, at most the number of lanes.
                    let of_item = (text / width).min(1.0).max(1.0 / many(shape.lanes()));
                    let element = layout.rows[item].kind.element_bytes().unwrap_or(0);
                    (1.0 + items * text, 0.5 + items * of_item, 4.0 + items * f64::from(element))
                } else {
                    self.value(layout, item, shape, typical, times * items);
                    // Token by token: commas and brackets are steps too.
                    (2.0 + items, 1.0 + items, 4.0)
                }
            }
            Kind::Text => {
                let string = typical.string;
                (string + 2.0, 1.0 + string / width, string + 4.0)
            }
            kind => {
                let quotes = if matches!(kind, Kind::Time(_)) { 2.0 } else { 0.0 };
                let element = f64::from(kind.element_bytes().unwrap_or(0));
                (digits(kind, typical) + quotes, 1.0, element)
            }
        };
        self.bytes += times * bytes;
        self.steps += times * steps;
        self.written += times * written;
    }

    /// Throughput of a port's parsers, each with writers of its own, on an ideal memory: bounded by
    /// one transfer and one step per cycle of each parser, and by one beat per cycle of the port,
    /// in and out.
    fn steps_per_cycle(&self, shape: Shape) -> f64 {
        let parser = self.bytes / (self.bytes / many(shape.width)).max(self.steps);
        let beat = many(shape.beat_bytes());
        let port = beat * (self.bytes / self.written.max(1.0)).min(1.0);
        let bytes = (parser * many(shape.parsers_at_port())).min(port);
        bytes * self.steps / self.bytes
    }
}

/// Bytes of a scalar's text, without quotes.
fn digits(kind: Kind, typical: Typical) -> f64 {
    match kind {
        // At most as many as the type holds.
        Kind::Int(_, bits) => typical.digits.min((f64::from(bits) * 2f64.log10()).ceil()),
        Kind::Float(_) | Kind::Decimal(..) => 2.0 * typical.digits,
        Kind::Time(form) if form.kind == "TimeStamp" => 20.0,
        Kind::Time(_) => 10.0,
        _ => 4.0,
    }
}

/// Look-up tables of a packer for a kind of buffer, as in [`Layout::counts`], with this many rows
/// of state. Fitted to mappings of `as_json_pack` for UltraScale+ by Yosys at beats of 16 and 64
/// bytes, within 25 %: the rotation of a piece, and the logic for more than one row.
fn pack_luts(kind: usize, shape: Shape, rows: usize) -> f64 {
    if rows == 0 {
        return 0.0;
    }
    let bits = many(shape.beat_bytes() * 8);
    let of_bit = match kind {
        0 => 1.65 * many(shape.beat_bytes()).log2(),
        1 => 2.4,
        _ => 3.0,
    };
    let of_rows = if rows > 1 { 1.5 + 0.12 * many(rows) } else { 0.0 };
    bits * (of_bit + of_rows)
}

/// Of a set with rows for this many parsers.
fn set_luts(layout: &Layout, shape: Shape, parsers: usize) -> f64 {
    let kinds = layout.counts.iter().enumerate();
    kinds.map(|(kind, count)| pack_luts(kind, shape, count * parsers)).sum()
}

/// Of the writers of a port, if each of several parsers has a set with a queue of 32 beats after
/// it.
fn own_luts(layout: &Layout, shape: Shape) -> f64 {
    // Distributed RAM has 14 bits of 32 rows in 8 tables.
    let queue = many(shape.beat_bytes() * 8 + 40) * 8.0 / 14.0;
    many(shape.parsers_at_port()) * (set_luts(layout, shape, 1) + queue)
}

/// The same, if they share one: a table selects one bit among three parsers.
fn shared_luts(layout: &Layout, shape: Shape) -> f64 {
    /// Bits of `as_json_pkg::op_t`.
    const OP_BITS: usize = 81;
    let parsers = shape.parsers_at_port();
    let picks = (shape.lanes() * 64 + OP_BITS) * parsers.div_ceil(3);
    set_luts(layout, shape, parsers) + many(picks)
}

fn many(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrowsmith_plan::Plan;
    use arrowsmith_plan::text::parse_schema;
    use arrowsmith_workload::Workload;

    use super::{Choice, Layout, Load, Shape, TYPICAL, Typical, Writers};

    const TWO: Shape =
        Shape { width: 8, parsers: 4, ports: 2, read_ahead: 64, writers: Writers::Auto };

    fn layout(schema: arrow_schema::Schema) -> Layout {
        Layout::new(&Plan::new(Arc::new(schema)).unwrap()).unwrap()
    }

    fn wide() -> Layout {
        let fields: Vec<String> =
            (0..60).map(|number| format!("measurement_{number:02}: int64")).collect();
        layout(parse_schema(&fields.join(", ")).unwrap())
    }

    #[test]
    fn short_values_have_writers_of_their_own() {
        for workload in [Workload::Battery, Workload::Trip] {
            let choice = Choice::new(&layout(workload.schema()), TWO);
            assert!(!choice.shared && choice.steps > 1.0 && choice.luts > 0.0, "{choice:?}");
        }
    }

    #[test]
    fn parsers_of_wide_records_share() {
        let choice = Choice::new(&wide(), TWO);
        assert!(choice.shared && choice.steps < 0.9 && choice.luts > 1000.0, "{choice:?}");
        assert_eq!(choice.sets(TWO), 2);
        // Three parsers make more steps than one set takes.
        let three = Shape { parsers: 3, ports: 1, width: 16, ..TWO };
        assert!(!Choice::new(&wide(), three).shared);
    }

    #[test]
    fn long_numbers_make_few_steps() {
        let battery = layout(Workload::BatteryU64.schema());
        let steps = |typical| Load::of_record(&battery, TWO, typical).steps_per_cycle(TWO);
        let long = steps(Typical { digits: 20.0, ..TYPICAL });
        // A number and its comma are 21 bytes; two parsers of eight bytes take 16 per cycle.
        assert!((0.7..0.85).contains(&long), "{long}");
        assert!(steps(TYPICAL) > 1.0);
    }

    #[test]
    fn requests_are_met_where_there_is_a_choice() {
        let asked =
            |writers, shape: Shape| Choice::new(&wide(), Shape { writers, ..shape }).sets(shape);
        assert_eq!(asked(Writers::Own, TWO), 4);
        assert_eq!(asked(Writers::Shared, TWO), 2);
        let alone = Shape { ports: 4, ..TWO };
        assert_eq!(asked(Writers::Shared, alone), 4);
        assert!(Choice::new(&wide(), alone).describe(alone).is_none());
        let said = Choice::new(&wide(), TWO).describe(TWO).unwrap();
        assert!(said.contains("shared by the 2 parsers of a port"), "{said}");
    }
}
