// SPDX-License-Identifier: Apache-2.0
//! The page of the suite `jvm`: the paper's figures and its Table 2, tables of all figures,
//! machine, method.

use maud::{Markup, PreEscaped, html};

use super::{Goal, Report, Row, is_machine, transfer_gb_per_s};
use crate::page::{
    self, Cell, Chart, Series, distinct, legend, maybe, number, part, plural, row_table, section,
    text_table, times,
};

/// Captions of the paper's figures.
const TITLES: [(&str, &str, &str); 9] = [
    ("fig-3a", "One object by its primitives (Fig. 3a)", "primitives"),
    ("fig-3b", "A collection by the primitives of an object (Fig. 3b)", "primitives"),
    ("fig-3c", "One object by the elements of its array (Fig. 3c)", "elements"),
    ("fig-3d", "A collection by the elements of an object's array (Fig. 3d)", "elements"),
    ("fig-3e", "One object by the depth of its tree (Fig. 3e)", "depth"),
    ("fig-3f", "A collection by the depth of an object's tree (Fig. 3f)", "depth"),
    ("fig-4-small", "Small objects: 2 primitives, 16 elements (Fig. 4a)", "threads"),
    ("fig-4-medium", "Medium objects: 8 primitives, 1024 elements (Fig. 4b)", "threads"),
    ("fig-4-large", "Large objects: 64 primitives, 480,000 elements (Fig. 4c)", "threads"),
];

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let body = html! {
        (best(report)) (figures(report)) (json(report)) (details(report)) (method(report))
    };
    let title = "From JVM objects to native memory";
    page::page(report, title, "Can the JVM saturate the hardware?", body)
}

/// The display name of an approach.
fn display_name(engine: &str) -> &str {
    match engine {
        "columns" => "arrowsmith columns",
        "json-arrowsmith" => "arrowsmith",
        other => other,
    }
}

fn engines(report: &Report) -> Vec<&str> {
    let rows = report.rows.iter().filter(|row| row.workload().starts_with("fig"));
    let mut all = distinct(rows.map(Row::engine));
    all.sort_by_key(|engine| *engine != "columns");
    all
}

fn jdks<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<u64> {
    distinct(rows.into_iter().map(|row| row.count("jdk")))
}

/// The paper's Table 2: the best throughput of each approach, next to the machine's own.
fn best(report: &Report) -> Markup {
    let cell = |size: &str, jdk: u64, engine: &str| {
        let of = report.rows.iter().filter(|row| {
            (row.workload(), row.count("jdk"), row.engine()) == (size, jdk, engine) && row.valid()
        });
        // The first of equals: fewer threads.
        let top = of.rev().max_by(|a, b| transfer_gb_per_s(a).total_cmp(&transfer_gb_per_s(b)));
        maybe(top, |row| {
            let share = row.number("vs_copy").map(|share| format!(", {:.0} %", share * 100.0));
            let (handed, read) = (number(transfer_gb_per_s(row)), number(row.gb_per_s()));
            format!("{handed} ({}){} / {read}", row.threads(), share.unwrap_or_default())
        })
    };
    let table = |jdk: u64| {
        let lines = engines(report).into_iter().map(|engine| {
            let sizes = ["fig-4-small", "fig-4-medium", "fig-4-large"];
            let cells = sizes.map(|size| cell(size, jdk, engine));
            [vec![display_name(engine).to_owned()], cells.into()].concat()
        });
        let lines: Vec<Vec<String>> =
            lines.filter(|cells| cells[1..].iter().any(|cell| cell != "–")).collect();
        html! {
            @if !lines.is_empty() {
                (part(format!("JDK {jdk}"), "",
                    text_table(&["Approach", "Small", "Medium", "Large"], lines)))
            }
        }
    };
    let intro = "GB/s of primitives transferred, and the threads; in per cent of the machine's \
                 copy bandwidth in the same rounds and with as many threads. After the slash, with \
                 the time in which native code reads all of it, as in the paper; of direct access \
                 that is all there is to measure.";
    let tables = html! { @for jdk in jdks(&report.rows) { (table(jdk)) } };
    section("Maximum throughput (the paper's Table 2)", intro, tables)
}

fn figures(report: &Report) -> Markup {
    let names = engines(report).into_iter().map(display_name).enumerate();
    let body = html! {
        (legend(names))
        @for (figure, title, steps_are) in TITLES {
            @let rows: Vec<&Row> = report.rows.iter().filter(|r| r.workload() == figure).collect();
            @if !rows.is_empty() {
                (part(title, "", html! {
                    (goals(report, figure))
                    div.panels { @for jdk in jdks(rows.clone()) { (chart(report, &rows, jdk, steps_are)) } }
                }))
            }
        }
    };
    section("The paper's figures", "", body)
}

/// One figure on one JDK.
fn chart(report: &Report, rows: &[&Row], jdk: u64, steps_are: &str) -> Markup {
    let by_threads = steps_are == "threads";
    let one = rows.iter().all(|row| row.count("objects") == 1);
    let place = |row: &Row| if by_threads { row.threads() } else { row.count("x") };
    let steps = distinct(rows.iter().map(|row| place(row)));
    let (unit, value): (_, fn(&Row) -> f64) = match (by_threads, one) {
        (true, _) => ("GB/s", Row::gb_per_s),
        (false, true) => ("µs an object", |row| row.seconds_median() * 1e6),
        (false, false) => ("ms a collection", |row| row.seconds_median() * 1e3),
    };
    // The machine's limits are times of other bytes: they are shown only in throughput charts.
    let fits =
        |row: &Row| row.count("jdk") == jdk && row.valid() && (by_threads || !is_machine(row));
    let series = engines(report).into_iter().enumerate().map(|(index, engine)| {
        let at = |step: &u64| {
            let mut all = rows.iter();
            let found = all.find(|r| fits(r) && r.engine() == engine && place(r) == *step);
            found.map(|row| value(row))
        };
        Series::new(index, display_name(engine), steps.iter().map(at))
    });
    let title = format!("JDK {jdk}");
    Chart::lines(&title, (steps_are, unit), steps.iter(), series).draw()
}

/// The goals of a figure, and whether they were reached.
fn goals(report: &Report, figure: &str) -> Markup {
    let goals = report.extra.goals.iter();
    let here: Vec<&Goal> = goals.filter(|goal| goal.workload == figure).collect();
    let share = |goal: &Goal, value: f64| {
        if goal.wanted < 1.0 { format!("{:.0} %", value * 100.0) } else { format!("{value:.1} ×") }
    };
    let line = |what: &String| {
        let same = || here.iter().filter(|goal| goal.what == *what);
        let found = same().map(|goal| {
            let met = if goal.met { "met" } else { "not met" };
            let threads = plural(goal.threads, "thread");
            format!("{} on JDK {} with {threads}: {met}", share(goal, goal.found), goal.jdk)
        });
        let found = found.collect::<Vec<_>>().join("; ");
        let wanted = same().next().map(|goal| share(goal, goal.wanted)).unwrap_or_default();
        format!("Goal: {what}, {wanted} or more. {found}.")
    };
    html! {
        @if here.is_empty() { p { "This figure has no goal." } }
        @else { ul { @for what in distinct(here.iter().map(|goal| &goal.what)) { li { (line(what)) } } } }
    }
}

/// JSON into the JVM.
fn json(report: &Report) -> Markup {
    let rows: Vec<&Row> = report.rows.iter().filter(|row| row.workload() == "json").collect();
    if rows.is_empty() {
        return html! {};
    }
    let lines = rows.iter().map(|row| {
        let key = |row: &Row| (row.count("jdk"), row.threads());
        let mut all = rows.iter();
        let ours = all.find(|r| r.engine() == "json-arrowsmith" && key(r) == key(row));
        let ours = ours.filter(|_| row.engine() != "json-arrowsmith");
        vec![
            display_name(row.engine()).to_owned(),
            row.count("jdk").to_string(),
            row.threads().to_string(),
            number(row.gb_per_s()),
            maybe(ours, |ours| times(ours.gb_per_s() / row.gb_per_s())),
        ]
    });
    let table = text_table(&["Reader", "JDK", "Threads", "GB/s", "arrowsmith is faster"], lines);
    let intro = "The same file, from the page cache, into Arrow Java's vectors: by Arrowsmith's \
                 reader, and by Jackson into plain objects whose values are set one by one; and \
                 into rows by Spark's own reader.";
    section("JSON into the JVM", intro, html! { (goals(report, "json")) (table) })
}

fn details(report: &Report) -> Markup {
    let columns = [
        ("Figure", Cell::Plain("workload")),
        ("x", Cell::Plain("x")),
        ("Approach", Cell::With(|row| display_name(row.engine()).to_owned())),
        ("JDK", Cell::Plain("jdk")),
        ("Threads", Cell::Plain("threads")),
        ("Objects", Cell::Plain("objects")),
        ("MB", Cell::Number("bytes", 1e-6)),
        ("Seconds", Cell::With(|row| format!("{:.3e}", row.seconds_median()))),
        ("GB/s", Cell::Number("gb_per_s", 1.0)),
        ("GB/s handed over", Cell::Number("handed_gb_per_s", 1.0)),
        ("of copying", Cell::Percent("vs_copy")),
        ("of reading", Cell::Percent("vs_read")),
        ("Sum", Cell::With(|row| if row.valid() { "right" } else { "WRONG" }.to_owned())),
    ];
    section("All measurements", "", row_table(&report.rows, &columns))
}

fn method(report: &Report) -> Markup {
    let key = |row: &Row| {
        let vm = format!("{}, collector {}", row.text("version"), row.text("collector"));
        (format!("JDK {}", row.count("jdk")), vm)
    };
    let vms = distinct(report.rows.iter().map(key));
    let vms: Vec<(&str, String)> = vms.iter().map(|(jdk, vm)| (&**jdk, vm.clone())).collect();
    let how = html! {
        "Each approach transfers the same objects, and native code adds up all primitives that \
         arrive; the sum must equal Java's. For formats that only a JVM reads (Java serialization, \
         Kryo, Protobuf) native code reads every byte, and the content is checked by reading it \
         back. Collections: approaches take turns in one JVM, round by round, the order rotating, \
         with copying and reading of plain memory by native threads in between; the median is \
         shown. Every round is run twice: once native code reads all data, once it does not, so \
         that the transfer can be compared with copying, which does not read its output either. \
         Single objects: JMH, a JVM for each approach. Buffers are reused by later calls. A \
         collection that is larger than a buffer of 256 MiB is transferred in slices. Primitives \
         are 32-bit integers with random values. 1 GB is " (PreEscaped("10<sup>9</sup>"))
        " bytes of primitives, without what objects need besides."
    };
    page::method(report, &vms, how)
}
