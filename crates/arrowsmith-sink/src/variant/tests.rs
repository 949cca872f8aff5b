// SPDX-License-Identifier: Apache-2.0
//! VARIANT by the specification, by examples of other writers, and there and back.

use std::collections::BTreeMap;

use arrow_array::StringArray;
use serde_json::{Value, json};

use super::*;

/// A VARIANT as JSON, by the specification alone: decimals are strings with their digits.
fn variant(metadata: &[u8], value: &[u8]) -> Value {
    let width = usize::from(metadata[0] >> 6) + 1;
    assert_eq!(metadata[0] & 0x0f, 1, "version");
    let count = int(&metadata[1..], width);
    let offset = |number: usize| int(&metadata[1 + width * (number + 1)..], width);
    let names = &metadata[1 + width * (count + 2)..];
    let keys: Vec<_> = (0..count)
        .map(|number| {
            String::from_utf8(names[offset(number)..offset(number + 1)].to_vec()).unwrap()
        })
        .collect();
    if metadata[0] & 0x10 != 0 {
        assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
    }
    assert_eq!(offset(count), names.len());
    one(&keys, value)
}

fn int(bytes: &[u8], width: usize) -> usize {
    bytes[..width].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

fn one(keys: &[String], value: &[u8]) -> Value {
    let (kind, header, rest) = (value[0] & 3, usize::from(value[0] >> 2), &value[1..]);
    let text = |bytes: &[u8]| Value::from(std::str::from_utf8(bytes).unwrap());
    let decimal = |unscaled: i128| json!({ "unscaled": unscaled.to_string(), "scale": rest[0] });
    match (kind, header) {
        (0, 0) => Value::Null,
        (0, 1) => true.into(),
        (0, 2) => false.into(),
        (0, 3) => i8::from_le_bytes(rest.try_into().unwrap()).into(),
        (0, 4) => i16::from_le_bytes(rest.try_into().unwrap()).into(),
        (0, 5) => i32::from_le_bytes(rest.try_into().unwrap()).into(),
        (0, 6) => i64::from_le_bytes(rest.try_into().unwrap()).into(),
        (0, 7) => f64::from_le_bytes(rest.try_into().unwrap()).into(),
        (0, 8) => decimal(i32::from_le_bytes(rest[1..].try_into().unwrap()).into()),
        (0, 9) => decimal(i64::from_le_bytes(rest[1..].try_into().unwrap()).into()),
        (0, 10) => decimal(i128::from_le_bytes(rest[1..].try_into().unwrap())),
        (0, 16) => {
            assert_eq!(int(rest, 4), rest.len() - 4);
            text(&rest[4..])
        }
        (1, len) => {
            assert_eq!(len, rest.len());
            text(rest)
        }
        (2, _) => {
            let (offset, id) = ((header & 3) + 1, (header >> 2 & 3) + 1);
            let large = if header >> 4 & 1 == 1 { 4 } else { 1 };
            let count = int(rest, large);
            let (ids, offsets) = (&rest[large..], &rest[large + count * id..]);
            let values = &offsets[(count + 1) * offset..];
            let starts: Vec<_> =
                (0..=count).map(|at| int(&offsets[at * offset..], offset)).collect();
            assert_eq!(starts[count], values.len());
            let mut ends = starts.clone();
            ends.sort_unstable();
            let mut object = serde_json::Map::new();
            let mut names = Vec::new();
            for at in 0..count {
                let key = &keys[int(&ids[at * id..], id)];
                let end = ends[ends.partition_point(|end| *end <= starts[at])];
                object.insert(key.clone(), one(keys, &values[starts[at]..end]));
                names.push(key);
            }
            assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
            object.into()
        }
        (3, _) => {
            let offset = (header & 3) + 1;
            let large = if header >> 2 & 1 == 1 { 4 } else { 1 };
            let count = int(rest, large);
            let offsets = &rest[large..];
            let values = &offsets[(count + 1) * offset..];
            let starts: Vec<_> =
                (0..=count).map(|at| int(&offsets[at * offset..], offset)).collect();
            assert_eq!(starts[count], values.len());
            starts.windows(2).map(|pair| one(keys, &values[pair[0]..pair[1]])).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// The metadata and the value of a text.
fn encoded_text(text: &str) -> Result<(Vec<u8>, Vec<u8>), &'static str> {
    let (mut metadata, mut value) = (Vec::new(), Vec::new());
    Encoder::default().encode(text, &mut metadata, &mut value)?;
    Ok((metadata, value))
}

fn read(text: &str) -> Value {
    let (metadata, value) = encoded_text(text).unwrap();
    variant(&metadata, &value)
}

#[test]
fn bytes_are_those_of_the_specification() {
    let empty = &[1 | 0x10, 0, 0][..];
    let cases: [(&str, &[u8], &[u8]); 8] = [
        ("null", empty, &[0]),
        (" true ", empty, &[4]),
        ("false", empty, &[8]),
        ("-2", empty, &[0x0c, 0xfe]),
        ("1.50", empty, &[0x20, 2, 150, 0, 0, 0]),
        ("\"ab\"", empty, &[0x09, b'a', b'b']),
        ("[1, 300]", empty, &[0x03, 2, 0, 2, 5, 0x0c, 1, 0x10, 0x2c, 1]),
        (
            "{\"b\": 1, \"a\": null}",
            &[0x01, 2, 0, 1, 2, b'b', b'a'],
            &[0x02, 2, 1, 0, 2, 0, 3, 0x0c, 1, 0],
        ),
    ];
    for (text, metadata, value) in cases {
        assert_eq!(encoded_text(text).unwrap(), (metadata.to_vec(), value.to_vec()), "{text}");
    }
}

#[test]
fn numbers_stay_exact() {
    let decimal = |unscaled: &str, scale: u8| json!({ "unscaled": unscaled, "scale": scale });
    for whole in ["0", "127", "-128", "128", "32768", "-2147483649", "9223372036854775807"] {
        assert_eq!(read(whole).to_string(), whole);
    }
    assert_eq!(read("-0"), json!(0));
    assert_eq!(read("9223372036854775808"), decimal("9223372036854775808", 0));
    let most = "9".repeat(38);
    assert_eq!(read(&most), decimal(&most, 0));
    assert_eq!(read(&format!("-{most}")), decimal(&format!("-{most}"), 0));
    assert_eq!(read("0.10"), decimal("10", 2));
    assert_eq!(read("-12345678.9"), decimal("-123456789", 1));
    assert_eq!(read("-1234567890.1"), decimal("-12345678901", 1));
    assert_eq!(read("0.0000000001"), decimal("1", 10));
    let fine = format!("0.{}1", "0".repeat(37));
    assert_eq!(read(&fine), decimal("1", 38));
    assert_eq!(read("1e2"), json!(100.0));
    assert_eq!(read("2.5E-3"), json!(0.0025));
    assert_eq!(read("-0.0").to_string(), "-0.0");
    for (text, reason) in [
        ("1e400", "double"),
        ("-1e400", "double"),
        (&format!("{most}1"), "38 digits"),
        (&format!("0.{}1", "0".repeat(38)), "38 digits"),
        (&"9".repeat(5000), "38 digits"),
    ] {
        let error = encoded_text(text).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn strings_have_their_characters() {
    for text in [
        String::new(),
        "é\u{1f600}".to_owned(),
        "\"\\/\u{8}\u{c}\n\r\t\u{0}\u{7f}".to_owned(),
        "x".repeat(63),
        "x".repeat(64),
        "ü".repeat(70_000),
    ] {
        assert_eq!(read(&serde_json::to_string(&text).unwrap()), json!(text));
    }
    assert_eq!(read(r#""\ud83d\ude00\u00e9\/""#), json!("\u{1f600}é/"));
    for half in
        [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\u0041""#, r#"{"\udc00":1}"#]
    {
        assert!(encoded_text(half).unwrap_err().contains("surrogate"), "{half}");
    }
    // No JSON.
    for text in ["", "{", "1 2", "NaN", "nul", "[1,]", "'a'"] {
        assert_eq!(read(text), json!(text));
    }
}

#[test]
fn objects_and_arrays_of_every_width() {
    assert_eq!(read("{}"), json!({}));
    assert_eq!(read("[ ]"), json!([]));
    for count in [1, 255, 256, 300, 70_000] {
        let items: Vec<usize> = (0..count).collect();
        assert_eq!(read(&serde_json::to_string(&items).unwrap()), json!(items), "{count}");
        let object: BTreeMap<String, usize> =
            items.iter().map(|item| (format!("k{}", item * 7919 % count), *item)).collect();
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(read(&text), json!(object), "{count}");
    }
    for text in ["{\"a\":1,\"a\":1}", "[{\"b\":{\"x\":1,\"y\":2,\"\\u0078\":3}}]"] {
        assert!(encoded_text(text).unwrap_err().contains("twice"), "{text}");
    }
    // The same key of two objects is one name.
    let (metadata, _) = encoded_text("[{\"a\":1},{\"a\":2,\"b\":{\"a\":3}}]").unwrap();
    assert_eq!(metadata, [0x11, 2, 0, 1, 2, b'a', b'b']);
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    assert!(encoded_text(&nested(1000)).is_ok());
    assert!(encoded_text(&nested(2000)).unwrap_err().contains("1000"));
}

#[test]
fn random_values_come_back() {
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    fn value(depth: usize, random: &mut impl FnMut(u64) -> u64) -> Value {
        match random(if depth == 0 { 5 } else { 8 }) {
            0 => Value::Null,
            1 => (random(2) == 0).into(),
            2 => (i64::try_from(random(1 << 62)).unwrap() >> random(62)).into(),
            3 => json!("é\\\"\n".repeat(usize::try_from(random(20)).unwrap())),
            4 => json!({}),
            5 => (0..random(5)).map(|_| value(depth - 1, random)).collect(),
            _ => {
                let keys = (0..random(6)).map(|_| format!("k{}", random(40)));
                let keys: Vec<_> = keys.collect();
                keys.into_iter().map(|key| (key, value(depth - 1, random))).collect()
            }
        }
    }
    let mut encoder = Encoder::default();
    for case in 0..2000 {
        let value = value(5, &mut random);
        let (mut metadata, mut bytes) = (Vec::new(), Vec::new());
        encoder.encode(&value.to_string(), &mut metadata, &mut bytes).unwrap();
        assert_eq!(variant(&metadata, &bytes), value, "{case}");
    }
}

/// The JSON text of each row of a column of VARIANT, that is no longer text.
/// What an encoder remembers of the values before does not show.
#[test]
fn a_value_is_encoded_as_if_it_were_the_first() {
    let texts = [
        r#"{"a":1,"b":{"c":2,"a":3}}"#,
        r#"{"a":4,"b":{"c":5,"a":"six"}}"#,
        r#"{"a":1,"b":{"c":2}}"#,
        r#"{"a":1,"b":{"c":2,"a":3},"d":[{"e":1},{"e":2},{"f":2,"a":0}]}"#,
        r#"{"b":1,"a":{"c":2,"a":3}}"#,
        r#"{"a":1,"bb":1}"#,
        r#"{"":1,"a":2}"#,
        r#"{"a":1,"b":2,"a":3}"#,
        r#"[{"a":1,"b":{"c":2,"a":3}}]"#,
        "{}",
        "7",
        "no JSON",
    ];
    let mut errors = 0;
    for case in 0..texts.len().pow(3) {
        let mut encoder = Encoder::default();
        for at in [case % texts.len(), case / texts.len() % texts.len(), case / texts.len().pow(2)]
        {
            let (mut metadata, mut bytes) = (Vec::new(), Vec::new());
            let found = encoder.encode(texts[at], &mut metadata, &mut bytes);
            errors += u32::from(found.is_err());
            assert_eq!(found.map(|()| (metadata, bytes)), encoded_text(texts[at]), "{case}");
        }
    }
    assert!(errors > 0);
}

fn rows(column: &ArrayRef) -> Vec<Option<Value>> {
    let column = column.as_struct();
    let (metadata, values) =
        (column.column(0).as_binary::<i32>(), column.column(1).as_binary::<i32>());
    let row = |row| column.is_valid(row).then(|| variant(metadata.value(row), values.value(row)));
    (0..column.len()).map(row).collect()
}

fn json_field(name: &str, data_type: DataType) -> Field {
    let name_key = EXTENSION_TYPE_NAME_KEY.to_owned();
    let kept = ("kept".to_owned(), "1".to_owned());
    Field::new(name, data_type, true)
        .with_metadata([(name_key, "arrow.json".to_owned()), kept].into())
}

fn changed(array: &ArrayRef, field: &Field) -> Result<(ArrayRef, FieldRef)> {
    let to = TO_VARIANT.field(&Arc::new(field.clone()));
    let array = TO_VARIANT.convert(array, field, &to)?;
    assert_eq!(array.data_type(), to.data_type());
    Ok((array, to))
}

#[test]
fn columns_of_every_type_of_text() {
    use DataType as T;
    let texts: ArrayRef =
        Arc::new(StringArray::from(vec![Some("1"), None, Some("null"), Some("{\"a\":[]}")]));
    let dictionary = T::Dictionary(Box::new(T::Int8), Box::new(T::Utf8));
    for data_type in [T::Utf8, T::LargeUtf8, T::Utf8View, dictionary] {
        let column = cast(&texts, &data_type).unwrap();
        let (column, field) = changed(&column, &json_field("x", data_type)).unwrap();
        assert_eq!(
            rows(&column),
            [Some(json!(1)), None, Some(json!(null)), Some(json!({"a": []}))]
        );
        assert_eq!(field.extension_type_name(), Some(VARIANT));
        assert_eq!(field.metadata().get("kept").map(String::as_str), Some("1"));
    }
    // Text that does not claim to be JSON stays.
    let field = Field::new("x", T::Utf8, true);
    assert_eq!(TO_VARIANT.field(&Arc::new(field.clone())).as_ref(), &field);
}

#[test]
fn columns_at_any_depth_and_parts_of_them() {
    let texts = StringArray::from(vec!["0", "bad\"", "[2]", "\"3\"", "4", "5"]);
    let item = Arc::new(json_field("item", DataType::Utf8));
    let offsets = OffsetBuffer::<i64>::from_lengths([2, 1, 0, 3]);
    let list = GenericListArray::new(Arc::clone(&item), offsets, Arc::new(texts), None);
    let inside = Arc::new(Field::new("l", list.data_type().clone(), true));
    let fields = Fields::from([inside]);
    let all: ArrayRef = Arc::new(StructArray::new(fields.clone(), vec![Arc::new(list)], None));
    let field = Field::new("s", DataType::Struct(fields), true);
    // The first row, whose second value would be a string, is not in the part.
    let (column, _) = changed(&all.slice(1, 3), &field).unwrap();
    let list = column.as_struct().column(0).as_list::<i64>();
    assert_eq!(list.values().len(), 4);
    assert_eq!(rows(&list.value(0)), [Some(json!([2]))]);
    assert_eq!(list.value(1).len(), 0);
    assert_eq!(rows(&list.value(2)), [Some(json!("3")), Some(json!(4)), Some(json!(5))]);
}

#[test]
fn errors_name_the_path_and_the_value() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1", "{\"a\":1e999}"]));
    let fields = Fields::from(vec![json_field("inner", DataType::Utf8)]);
    let column: ArrayRef = Arc::new(StructArray::new(fields.clone(), vec![texts], None));
    let field = Field::new("outer", DataType::Struct(fields), true);
    let error = changed(&column, &field).unwrap_err().to_string();
    assert!(error.contains("outer.inner") && error.contains("1e999"), "{error}");
}

/// The value of bytes that another wrote, as text.
fn text_of(metadata: &[u8], value: &[u8]) -> Result<String, &'static str> {
    let mut text = Vec::new();
    Names::new(metadata)?.value(value, &mut text, 0)?;
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn what_is_encoded_is_decoded_to_the_same_text() {
    let long = "\u{e9}".repeat(100);
    for text in [
        "null",
        "true",
        "-128",
        "9223372036854775808",
        "0.10",
        "-0.05",
        "100.0",
        "-12345678901234567890.123456789",
        "\"a\\\"\\n\"",
        &format!("{{\"z\":[1,{{}},[],\"{long}\"],\"a\":{{\"z\":null,\"b\":false}}}}"),
    ] {
        let (metadata, value) = encoded_text(text).unwrap();
        assert_eq!(text_of(&metadata, &value).unwrap(), text);
    }
    let (metadata, value) = encoded_text("[1e2, -0.0, 1.5E300]").unwrap();
    assert_eq!(text_of(&metadata, &value).unwrap(), "[100.0,-0.0,1.5e+300]");
}

#[test]
fn types_that_json_does_not_have() {
    let metadata = [1, 0, 0];
    let value = |kind: u8, bytes: &[u8]| {
        text_of(&metadata, &[&[kind << 2], bytes].concat()).map_err(str::to_owned)
    };
    let (ok, day) = (|text: &str| Ok(text.to_owned()), 86_400_000_000_i64);
    assert_eq!(value(11, &19_828_i32.to_le_bytes()), ok("\"2024-04-15\""));
    assert_eq!(value(11, &(-1_i32).to_le_bytes()), ok("\"1969-12-31\""));
    assert_eq!(value(12, &day.to_le_bytes()), ok("\"1970-01-02T00:00:00Z\""));
    assert_eq!(value(13, &(-1_i64).to_le_bytes()), ok("\"1969-12-31T23:59:59.999999\""));
    assert_eq!(value(18, &1_i64.to_le_bytes()), ok("\"1970-01-01T00:00:00.000000001Z\""));
    assert_eq!(value(19, &0_i64.to_le_bytes()), ok("\"1970-01-01T00:00:00\""));
    assert_eq!(value(17, &(day - 1).to_le_bytes()), ok("\"23:59:59.999999\""));
    assert!(value(17, &day.to_le_bytes()).unwrap_err().contains("calendar"));
    assert!(value(12, &i64::MAX.to_le_bytes()).unwrap_err().contains("calendar"));
    assert_eq!(value(14, &0.1_f32.to_le_bytes()), ok("0.1"));
    assert_eq!(value(7, &f64::NAN.to_le_bytes()), ok("null"));
    assert_eq!(value(15, &[2, 0, 0, 0, 1, 2]), ok("\"AQI=\""));
    let id: Vec<u8> = (0..16).collect();
    assert_eq!(value(20, &id), ok("\"00010203-0405-0607-0809-0a0b0c0d0e0f\""));
    assert!(value(21, &[]).unwrap_err().contains("not known"));
}

#[test]
fn bytes_that_are_no_variant_are_refused() {
    let text = "[{\"a\":1,\"b\":[\"xyz\",1.5]},null]";
    let (metadata, value) = encoded_text(text).unwrap();
    for len in 0..value.len() {
        assert!(text_of(&metadata, &value[..len]).is_err(), "{len}");
    }
    for len in 0..metadata.len() {
        assert!(text_of(&metadata[..len], &value).is_err(), "{len}");
    }
    // Every byte changed in every way: no panic, and no more text than the bytes can hold.
    for at in 0..value.len() {
        for byte in 0..=255 {
            let mut changed = value.clone();
            changed[at] = byte;
            assert!(text_of(&metadata, &changed).map_or(0, |text| text.len()) < 1000);
        }
    }
    for at in 0..metadata.len() {
        for byte in 0..=255 {
            let mut changed = metadata.clone();
            changed[at] = byte;
            let _ = text_of(&changed, &value);
        }
    }
    // An array of two items that are the same bytes.
    assert!(text_of(&[1, 0, 0], &[0x03, 2, 0, 0, 1, 0]).unwrap_err().contains("overlap"));
    assert!(text_of(&[2, 0, 0], &[0]).unwrap_err().contains("version"));
}

/// The examples of parquet-testing, and what they are in JSON.
#[test]
fn examples_of_others_are_read() {
    let Some(folder) = arrowsmith_testkit::tools::corpora() else { return };
    let folder = folder.join("parquet-testing/variant");
    let texts = std::fs::read_to_string(folder.join("data_dictionary.json")).unwrap();
    let texts: BTreeMap<String, Value> = serde_json::from_str(&texts).unwrap();
    let mut count = 0;
    for (name, expected) in texts {
        let file = |kind: &str| std::fs::read(folder.join(format!("{name}.{kind}")));
        let Ok(value) = file("value") else { continue };
        let metadata = file("metadata").unwrap_or_else(|_| vec![1, 0, 0]);
        let text = text_of(&metadata, &value).unwrap();
        let found: Value = serde_json::from_str(&text).unwrap();
        match name.as_str() {
            // Their spelling of times, of a float as a double, and of base64, is another.
            "primitive_time" => assert_eq!(found, "12:33:54.123456"),
            "primitive_timestampntz" => assert_eq!(found, "2025-04-16T12:34:56.780"),
            "primitive_float" => assert_eq!(text, "1234568000.0"),
            _ => assert_eq!(found, expected, "{name}"),
        }
        count += 1;
    }
    assert!(count > 10, "{count}");
}

/// The rows of a column of VARIANT as JSON, or why there are none.
fn texts_of(column: &ArrayRef) -> Result<Vec<Option<Value>>> {
    let metadata = [(EXTENSION_TYPE_NAME_KEY.to_owned(), VARIANT.to_owned())].into();
    let field = Field::new("var", column.data_type().clone(), true).with_metadata(metadata);
    let to = TO_TEXT.field(&Arc::new(field.clone()));
    let texts = TO_TEXT.convert(column, &field, &to)?;
    let texts = texts.as_string::<i64>();
    let value = |text: &str| serde_json::from_str(text).unwrap();
    Ok(texts.iter().map(|text| text.map(value)).collect())
}

/// The length of metadata.
fn metadata_len(bytes: &[u8]) -> usize {
    let width = usize::from(bytes[0] >> 6) + 1;
    let count = int(&bytes[1..], width);
    let names = 1 + width * (count + 2);
    names + int(&bytes[names - width..], width)
}

/// The cases of parquet-testing: files with shredded columns, and the same values in one piece.
#[test]
fn shredded_columns_are_those_in_one_piece() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    let Some(folder) = arrowsmith_testkit::tools::corpora() else { return };
    let folder = folder.join("parquet-testing/shredded_variant");
    let cases = std::fs::read_to_string(folder.join("cases.json")).unwrap();
    let cases: Vec<BTreeMap<String, Value>> = serde_json::from_str(&cases).unwrap();
    let (mut equal, mut refused) = (0, 0);
    for case in cases {
        let Some(name) = case.get("parquet_file").and_then(Value::as_str) else { continue };
        let Ok(bytes) = std::fs::read(folder.join(name)) else { continue };
        let batches = ParquetRecordBatchReader::try_new(bytes::Bytes::from(bytes), 1000).unwrap();
        let columns: Vec<ArrayRef> = batches
            .map(|batch| Arc::clone(batch.unwrap().column_by_name("var").unwrap()))
            .collect();
        let [column] = &*columns else { panic!("{name}") };
        let found = texts_of(column);
        if let Some(message) = case.get("error_message") {
            assert!(found.is_err(), "{name}: {message}");
            refused += 1;
            continue;
        }
        // Readers may refuse it or not.
        if name.contains("INVALID") {
            continue;
        }
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
        let files = match case.get("variant_files").and_then(Value::as_array) {
            Some(files) => files.clone(),
            None => case.get("variant_file").cloned().into_iter().collect(),
        };
        assert_eq!(files.len(), found.len(), "{name}");
        for (file, found) in files.iter().zip(found) {
            let expected = file.as_str().map(|file| {
                let bytes = std::fs::read(folder.join(file)).unwrap();
                let (metadata, value) = bytes.split_at(metadata_len(&bytes));
                serde_json::from_str::<Value>(&text_of(metadata, value).unwrap()).unwrap()
            });
            assert_eq!(found, expected, "{name}");
        }
        equal += 1;
    }
    assert!(equal > 50 && refused > 1, "{equal} {refused}");
}
