// SPDX-License-Identifier: Apache-2.0
//! The mapping of schemas: what the specification says of lists, what the reader requests, what is
//! rejected. Types of every kind are compared with the `parquet` crate's in
//! `tests/suite/corpora.rs`.

use arrow_schema::TimeUnit;
use parquet::schema::parser::parse_message_type;

use super::*;
use crate::options::{Columns, StringForm};
use crate::plan::Conversion;

fn read(message: &str, options: &ReadOptions) -> Result<Vec<Column>> {
    let root = parse_message_type(message).unwrap();
    let selection = Selection::new(&root, options)?;
    columns(&root, None, options, &selection)
}

fn types(message: &str, options: &ReadOptions) -> Vec<String> {
    let columns = read(message, options).unwrap();
    let show = |column: &Column| format!("{}: {}", column.field().name(), column.data_type());
    columns.iter().map(show).collect()
}

fn one(message: &str) -> Column {
    let mut columns = read(message, &ReadOptions::default()).unwrap();
    assert_eq!(columns.len(), 1);
    columns.remove(0)
}

/// Levels and element of a list.
fn list(column: &Column) -> (RepeatedLevels, &Column) {
    match column {
        Column::List(list) => (list.levels, &list.item),
        other => panic!("{other:?}"),
    }
}

fn levels(def_list: u16, rep_item: u16) -> RepeatedLevels {
    RepeatedLevels { def_list, def_item: def_list + 1, rep_item }
}

#[test]
fn lists_of_three_levels() {
    let column = one("message m { optional group a (LIST) { repeated group list {
        optional int32 element; } } }");
    let (found, item) = list(&column);
    assert!(column.field().is_nullable() && item.field().is_nullable());
    assert_eq!(found, levels(1, 1));
    let Column::Leaf(leaf) = item else { panic!("{item:?}") };
    assert_eq!((leaf.max_def, leaf.max_rep, leaf.path.as_str()), (3, 1, "a.list.element"));
}

#[test]
fn lists_of_two_levels() {
    let column = one("message m { optional group a (LIST) { repeated int32 element; } }");
    let (found, item) = list(&column);
    assert_eq!(found, levels(1, 1));
    assert!(!item.field().is_nullable());
    // Several fields, the names array and _tuple, an annotation, a field that repeats: the element.
    for (repeated, inside) in [
        ("group element { required int32 x; required int32 y; }", 2),
        ("group array { required int32 x; }", 1),
        ("group a_tuple { required int32 x; }", 1),
        ("group element { repeated int32 x; }", 1),
    ] {
        let message = format!("message m {{ required group a (LIST) {{ repeated {repeated} }} }}");
        let column = one(&message);
        let (found, item) = list(&column);
        assert_eq!(found, levels(0, 1), "{repeated}");
        let Column::Struct(structure) = item else { panic!("{repeated}: {item:?}") };
        assert_eq!((structure.children.len(), structure.def), (inside, 1), "{repeated}");
    }
    let column = one("message m { required group a (LIST) { repeated group array (LIST) {
        repeated int32 array; } } }");
    let (_, item) = list(&column);
    assert_eq!(list(item).0, levels(1, 2));
    // Other names are a group around the element.
    let column = one("message m { required group a (LIST) { repeated group bag {
        required int32 x; } } }");
    assert!(matches!(list(&column).1, Column::Leaf(_)));
}

#[test]
fn what_repeats_alone_is_a_list_that_is_never_null() {
    let column = one("message m { repeated group a { repeated int32 b; optional int32 c; } }");
    assert!(!column.field().is_nullable());
    let (found, item) = list(&column);
    assert_eq!(found, levels(0, 1));
    let Column::Struct(structure) = item else { panic!("{item:?}") };
    assert_eq!(list(&structure.children[0]).0, levels(1, 2));
}

#[test]
fn maps_have_keys_that_are_never_null() {
    for annotation in ["MAP", "MAP_KEY_VALUE"] {
        let column = one(&format!(
            "message m {{ optional group a ({annotation}) {{ repeated group map {{
                optional binary key (STRING); optional int32 value; }} }} }}"
        ));
        let Column::Map(map) = &column else { panic!("{column:?}") };
        assert_eq!(map.levels, levels(1, 1));
        let DataType::Map(entries, false) = column.data_type() else { panic!("{column:?}") };
        let DataType::Struct(fields) = entries.data_type() else { panic!("{entries:?}") };
        assert!(!fields[0].is_nullable() && fields[1].is_nullable());
        assert!(map.key.field().is_nullable());
    }
    // Without values: a list of keys.
    let column = one("message m { optional group a (MAP) { repeated group map {
        required binary key (STRING); } } }");
    assert!(matches!(column, Column::List(_)));
}

#[test]
fn what_has_no_meaning_is_refused() {
    for message in [
        "message m { optional group a (LIST) { repeated int32 x; repeated int32 y; } }",
        "message m { optional group a (LIST) { optional group x { optional int32 y; } } }",
        "message m { optional group a (MAP) { repeated int32 x; } }",
        "message m { optional group a (MAP) { repeated group x { required int32 a;
            optional int32 b; optional int32 c; } } }",
        "message m { optional group a (MAP) { repeated group x { repeated int32 a;
            optional int32 b; } } }",
    ] {
        let error = read(message, &ReadOptions::default()).unwrap_err();
        let file = error.as_file().unwrap();
        assert_eq!((file.kind, file.place.column.as_deref()), (FileErrorKind::Corrupt, Some("a")));
    }
}

const WIDE: &str = "message m {
    required int32 id;
    optional group s { optional int32 x; optional binary y (STRING); }
    optional group l (LIST) { repeated group list { optional group element {
        optional int32 x; optional int64 t (TIMESTAMP(MILLIS,true)); } } }
    optional group m (MAP) { repeated group key_value {
        required binary key (STRING); optional group value { optional int32 p; optional int32 q; } } }
    optional int96 old;
}";

#[test]
fn columns_are_selected_by_their_paths() {
    let names = |columns: &[&str]| -> Vec<String> {
        let options = ReadOptions::default().with_columns(columns.iter().copied());
        let columns = read(WIDE, &options).unwrap();
        let leaves = columns.iter().flat_map(Column::leaves);
        leaves.map(|leaf| leaf.path.clone()).collect()
    };
    assert_eq!(names(&["id"]), ["id"]);
    assert_eq!(names(&["s.y", "id"]), ["s.y", "id"]);
    assert_eq!(names(&["s"]), ["s.x", "s.y"]);
    assert_eq!(names(&["l.x"]), ["l.list.element.x"]);
    assert_eq!(names(&["l.list.element.t"]), ["l.list.element.t"]);
    assert_eq!(names(&["l.element.t"]), ["l.list.element.t"]);
    assert_eq!(names(&["l.element"]), names(&["l"]));
    assert_eq!(names(&["l"]).len(), 2);
    // A map comes with its keys.
    assert_eq!(names(&["m.value.q"]), ["m.key_value.key", "m.key_value.value.q"]);
    assert_eq!(names(&["m.key"]).len(), 3);
    assert_eq!(names(&["m.key_value"]).len(), 3);
    assert!(names(&[]).is_empty());
    // The items of a list, whatever the file calls them; not where a field has that name.
    let list = |file: &str, column: &str| -> Vec<String> {
        let options = ReadOptions::default().with_columns([column]);
        let columns = read(file, &options).unwrap();
        let leaves = columns.iter().flat_map(Column::leaves);
        leaves.map(|leaf| leaf.path.clone()).collect()
    };
    let old =
        "message m { optional group l (LIST) { repeated group bag { optional group array_element {
        optional int32 x; optional int32 y; } } } }";
    assert_eq!(list(old, "l.element.x"), ["l.bag.array_element.x"]);
    let named =
        "message m { optional group l (LIST) { repeated group list { optional group element {
        optional int32 element; optional int32 y; } } } }";
    assert_eq!(list(named, "l.element"), ["l.list.element.element"]);
    assert_eq!(list(named, "l.element.y"), ["l.list.element.y"]);
    for missing in ["x", "s.z", "id.x", "i", ""] {
        let options = ReadOptions::default().with_columns([missing]);
        let error = read(WIDE, &options).unwrap_err().to_string();
        assert!(error.contains("the file has id, s, l, m, old"), "{error}");
    }
}

#[test]
fn names_may_have_dots() {
    let message = "message m { required int32 a.b; required group a { required int32 b;
        required int32 c.d; } required int32 a.b.c; required int32 \"q; }";
    let names = |columns: &[&str]| -> Vec<String> {
        let options = ReadOptions::default().with_columns(columns.iter().copied());
        let columns = read(message, &options).unwrap();
        columns.iter().flat_map(Column::leaves).map(|leaf| leaf.index.to_string()).collect()
    };
    assert_eq!(names(&["a"]), ["1", "2"]);
    assert_eq!(names(&["\"a.b\""]), ["0"]);
    assert_eq!(names(&["a.\"c.d\""]), ["2"]);
    assert_eq!(names(&["a.\"b\""]), ["1"]);
    assert_eq!(names(&["a.c.d"]), ["2"]);
    assert_eq!(names(&["a.b.c"]), ["3"]);
    // Without quotes it may be either.
    assert_eq!(names(&["a.b"]), ["0", "1"]);
    assert_eq!(names(&["\"q"]), ["4"]);
    assert_eq!(names(&["\"\\\"q\""]), ["4"]);
}

#[test]
fn the_reader_chooses_forms_and_units() {
    let only = |columns: [&str; 2]| ReadOptions::default().with_columns(columns);
    let text = only(["s.y", "old"]);
    assert_eq!(
        types(WIDE, &text.clone().with_strings(StringForm::View)),
        ["s: Struct(\"y\": Utf8View)", "old: Timestamp(ns)"]
    );
    assert_eq!(
        types(WIDE, &text.clone().with_dictionary(Columns::All))[0],
        "s: Struct(\"y\": Dictionary(Int32, Utf8))"
    );
    let paths = Columns::Paths(vec!["s.y".into()]);
    let large = text.clone().with_dictionary(paths).with_strings(StringForm::Large);
    assert_eq!(types(WIDE, &large)[0], "s: Struct(\"y\": Dictionary(Int32, LargeUtf8))");
    let bad = text.with_dictionary(Columns::Paths(vec!["nothing".into()]));
    assert!(read(WIDE, &bad).is_err());
    let options =
        only(["l.t", "old"]).with_timestamp_unit(TimeUnit::Microsecond).with_lists(ListForm::Large);
    let columns = read(WIDE, &options).unwrap();
    let leaves: Vec<&Leaf> = columns.iter().flat_map(Column::leaves).collect();
    assert_eq!(leaves[0].conversion, Conversion::Multiply(1000));
    assert_eq!(leaves[1].conversion, Conversion::Int96(TimeUnit::Microsecond));
    assert!(matches!(columns[0].data_type(), DataType::LargeList(_)));
    let seconds = only(["l.t", "old"]).with_timestamp_unit(TimeUnit::Second);
    let columns = read(WIDE, &seconds).unwrap();
    assert_eq!(columns[0].leaves()[0].conversion, Conversion::Divide(1000));
}

#[test]
fn a_hint_that_does_not_fit_is_no_hint() {
    let root = parse_message_type("message m { required int32 a; required int64 b; }").unwrap();
    let options = ReadOptions::default();
    let selection = Selection::new(&root, &options).unwrap();
    let plan = |a: DataType, b: DataType| {
        let hint = Schema::new(vec![Field::new("a", a, false), Field::new("b", b, false)]);
        let columns = columns(&root, Some(&hint), &options, &selection).unwrap();
        columns.iter().map(|column| column.data_type().clone()).collect::<Vec<_>>()
    };
    let s = TimeUnit::Second;
    assert_eq!(
        plan(DataType::Time32(s), DataType::Duration(s)),
        [DataType::Time32(s), DataType::Duration(s)]
    );
    assert_eq!(plan(DataType::Utf8, DataType::Float64), [DataType::Int32, DataType::Int64]);
    let dictionary = |value| DataType::Dictionary(Box::new(DataType::Int8), Box::new(value));
    assert_eq!(
        plan(dictionary(DataType::Int32), dictionary(DataType::Utf8)),
        [dictionary(DataType::Int32), DataType::Int64]
    );
}

fn hinted(message: &str, hint: Field) -> FieldRef {
    let options = ReadOptions::default();
    let root = parse_message_type(message).unwrap();
    let selection = Selection::new(&root, &options).unwrap();
    let hint = Schema::new(vec![hint]);
    let found = columns(&root, Some(&hint), &options, &selection).unwrap();
    Arc::clone(found[0].field())
}

/// The format prescribes the names in the file; Arrow's are in the schema of the footer.
#[test]
fn the_parts_of_lists_and_maps_are_named_by_the_hint() {
    let item = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
    let structure = DataType::Struct([item("x", DataType::Int32)].into_iter().collect());
    let list = Field::new("a", DataType::List(item("bag", structure)), true);
    let message = "message m { optional group a (LIST) { repeated group list {
        optional group element { optional int32 x; } } } }";
    assert_eq!(*hinted(message, list.clone()), list);
    // In the rules for backward compatibility too, of which each item is required.
    let required = Field::new("array", DataType::Int32, false);
    let list = Field::new("a", DataType::List(Arc::new(required)), false);
    for message in [
        "message m { repeated int32 a; }",
        "message m { required group a (LIST) { repeated int32 element; } }",
    ] {
        assert_eq!(*hinted(message, list.clone()), list, "{message}");
    }
    let pair =
        vec![Field::new("k", DataType::Int32, false), Field::new("v", DataType::Int32, true)];
    let pair = Field::new("pairs", DataType::Struct(pair.into()), false);
    let map = Field::new("a", DataType::Map(Arc::new(pair), false), true);
    let message = "message m { optional group a (MAP) { repeated group key_value {
        required int32 key; optional int32 value; } } }";
    assert_eq!(*hinted(message, map.clone()), map);
    // A hint of another type has no names for it.
    let names = hinted(message, list).data_type().to_string();
    assert!(names.contains("key_value") && names.contains("key"), "{names}");
}

#[test]
fn a_zone_holds_whatever_unit_is_stored() {
    let message = "message m { optional int64 t (TIMESTAMP(MILLIS,true)); }";
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Nanosecond] {
        let paris = DataType::Timestamp(unit, Some("Europe/Paris".into()));
        let field = hinted(message, Field::new("t", paris, true));
        let wanted = DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Paris".into()));
        assert_eq!(field.data_type(), &wanted);
    }
    // Without a zone there, or here, the file counts.
    let local = DataType::Timestamp(TimeUnit::Second, None);
    let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    assert_eq!(hinted(message, Field::new("t", local, true)).data_type(), &utc);
    let message = "message m { optional int64 t (TIMESTAMP(MILLIS,false)); }";
    let paris = DataType::Timestamp(TimeUnit::Second, Some("Europe/Paris".into()));
    let plain = DataType::Timestamp(TimeUnit::Millisecond, None);
    assert_eq!(hinted(message, Field::new("t", paris, true)).data_type(), &plain);
}

#[test]
fn an_ordered_dictionary_stays_one() {
    let message = "message m { optional binary w (UTF8); }";
    let words = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    for ordered in [false, true] {
        let hint = Field::new("w", words.clone(), true).with_dict_is_ordered(ordered);
        let field = hinted(message, hint);
        assert_eq!(field.data_type(), &words);
        assert_eq!(field.dict_is_ordered(), Some(ordered));
    }
}
