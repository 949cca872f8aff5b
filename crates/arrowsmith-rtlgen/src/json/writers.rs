// SPDX-License-Identifier: Apache-2.0
//! Whether the parsers of a port share a set of writers: a model of how many steps a cycle they make, and of the look-up tables that a set takes.
//!
//! A parser makes a step a cycle at most, and so takes a set of writers. Where keys and strings are long, parsers make far fewer: then several of
//! them have room in one set, which takes as many rows of its RAMs as they have columns and hardly more logic. Nothing here is exact; both
//! choices give the same buffers, and who knows the data better says which.

use super::Shape;
use super::kind::Kind;
use super::layout::Layout;

/// Who has a set of writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writers {
    /// As the model says: shared where that is smaller and costs no time.
    #[default]
    Auto,
    /// Each parser has its own.
    Own,
    /// The parsers of a port share one.
    Shared,
}

/// Of the cycles of a shared set, how many may be taken: beyond that, parsers would wait for their turns.
const FULL: f64 = 0.9;

/// What texts are taken to be like, where the plan does not say. Short: the shorter values are, the more steps there are in a byte.
#[derive(Debug, Clone, Copy)]
struct Typical {
    digits: f64,
    items: f64,
    string: f64,
}

const TYPICAL: Typical = Typical { digits: 4.0, items: 8.0, string: 16.0 };

/// What was chosen, and the figures behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    shared: bool,
    /// Steps a cycle of the parsers of a port with sets of their own.
    steps: f64,
    /// Look-up tables that sets of their own take more, over all ports.
    luts: f64,
}

impl Choice {
    pub(super) fn new(layout: &Layout, shape: Shape) -> Self {
        let steps = Load::of_record(layout, shape, TYPICAL).steps_a_cycle(shape);
        let luts = (own_luts(layout, shape) - shared_luts(layout, shape)) * many(shape.ports);
        let shared = match shape.writers {
            Writers::Auto => steps <= FULL && luts > 0.0,
            Writers::Own => false,
            Writers::Shared => true,
        };
        Self { shared: shared && shape.parsers_at_port() > 1, steps, luts }
    }

    /// How many sets of writers there are.
    pub(super) fn sets(self, shape: Shape) -> usize {
        if self.shared { shape.ports } else { shape.parsers }
    }

    /// For the reader of the circuit, where there was something to choose.
    pub(super) fn describe(self, shape: Shape) -> Option<String> {
        let at_port = shape.parsers_at_port();
        let who = if self.shared {
            format!("shared by the {at_port} parsers of a port")
        } else {
            "a set for each parser".to_owned()
        };
        (at_port > 1).then(|| {
            format!(
                "Writers: {who}. By the model of the generator, {at_port} parsers make {:.2} steps a cycle if nothing stops them, and a shared set takes \
                 one; sets of their own take about {:.0} look-up tables more in all. `--writers own` and `--writers shared` choose otherwise.",
                self.steps,
                (self.luts / 100.0).round() * 100.0
            )
        })
    }
}

/// What records, as a compact writer writes them, ask of a circuit.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    /// Of text.
    bytes: f64,
    /// Of a parser: each gives its writers something to do.
    steps: f64,
    /// Of Arrow buffers.
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
                    // As many as end in a transfer, if that is not more than there are lanes.
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

    /// Of the parsers of a port, each with writers of its own, on an ideal memory: bounded by a transfer and a step a cycle of each, and by a beat a cycle
    /// of the port, in and out.
    fn steps_a_cycle(&self, shape: Shape) -> f64 {
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
        // As many as the type holds, at most.
        Kind::Int(_, bits) => typical.digits.min((f64::from(bits) * 2f64.log10()).ceil()),
        Kind::Float(_) | Kind::Decimal(..) => 2.0 * typical.digits,
        Kind::Time(form) if form.kind == "TimeStamp" => 20.0,
        Kind::Time(_) => 10.0,
        _ => 4.0,
    }
}

/// Look-up tables of a packer for a kind of buffers, as [`Layout::counts`] has them, with so many rows of state: what mappings of `as_json_pack` for
/// UltraScale+ by Yosys show, at beats of 16 and 64 bytes, within a quarter. The shift of a piece, and what it takes to hold more than one row.
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

/// Of a set with rows for so many parsers.
fn set_luts(layout: &Layout, shape: Shape, parsers: usize) -> f64 {
    let kinds = layout.counts.iter().enumerate();
    kinds.map(|(kind, count)| pack_luts(kind, shape, count * parsers)).sum()
}

/// Of the writers of a port, where each of several parsers has a set, and a queue of 32 beats behind it.
fn own_luts(layout: &Layout, shape: Shape) -> f64 {
    // Distributed RAM has 14 bits of 32 rows in 8 tables.
    let queue = many(shape.beat_bytes() * 8 + 40) * 8.0 / 14.0;
    many(shape.parsers_at_port()) * (set_luts(layout, shape, 1) + queue)
}

/// The same, where they share one: a table picks a bit of three parsers.
fn shared_luts(layout: &Layout, shape: Shape) -> f64 {
    /// Of `as_json_pkg::op_t`.
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
        // Three make more steps than one set takes.
        let three = Shape { parsers: 3, ports: 1, width: 16, ..TWO };
        assert!(!Choice::new(&wide(), three).shared);
    }

    #[test]
    fn long_numbers_make_few_steps() {
        let battery = layout(Workload::BatteryU64.schema());
        let steps = |typical| Load::of_record(&battery, TWO, typical).steps_a_cycle(TWO);
        let long = steps(Typical { digits: 20.0, ..TYPICAL });
        // A number and its comma are 21 bytes, two parsers of eight bytes take 16 a cycle.
        assert!((0.7..0.85).contains(&long), "{long}");
        assert!(steps(TYPICAL) > 1.0);
    }

    #[test]
    fn what_is_asked_for_is_done_where_there_is_a_choice() {
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
