// SPDX-License-Identifier: Apache-2.0
//! Every third-party file: the plan's schema and levels, and every page, are those of the `parquet`
//! crate.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef};
use arrowsmith_parquet::{Column, Encoding, File, Page, Pages, ReadOptions, ReadPlan};
use arrowsmith_testkit::parquet::corpora::files;
use arrowsmith_testkit::parquet::with_usual_names;
use arrowsmith_testkit::tools;
use bytes::Bytes;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::Encoding as TheirEncoding;
use parquet::column::page::Page as TheirPage;
use parquet::file::reader::{FileReader, SerializedFileReader};

/// Files that only one of the two reads, or that they read differently, and why.
const DECIDED: [(&str, &str); 11] = [
    // They refuse a footer for the converted type of old columns of nulls.
    ("parquet-dotnet/emptycolumn.parquet", "only we open it"),
    ("parquet-fastparquet/empty.parquet", "only we open it"),
    // They take a list of the writer's own for a number that came into the format later.
    ("parquet-testing/data/dict-page-offset-zero.parquet", "only we open it"),
    // An interval, which the logical type beside it says nothing of.
    ("parquet-drill/parquet/parquet_v2_logical_types_simple.parquet", "only we open it"),
    // Arrow's decimals have 76 digits at most.
    ("parquet-duckdb/bigdecimal.parquet", "only they plan it"),
    // They do not expect a negative offset.
    ("parquet-duckdb/broken/fuzzer4381.parquet", "panics"),
    // They take a column for plain that says it is encrypted, and a number of values that is not
    // that of the rows; the first page here has no sound header.
    (
        "parquet-duckdb/plaintext_footer_crypto_metadata.parquet",
        "only they: bytes in memory, row group 0, column i: encrypted",
    ),
    ("parquet-duckdb/parquet_column_num_values_mismatch.parquet", "only they"),
    ("parquet-testing/bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet", "no number of values"),
    ("parquet-cudf/nested-unsigned-malformed.parquet", "only they"),
    // They read on after the last value.
    ("parquet-testing/bad_data/ARROW-GH-41321.parquet", "only we"),
];

/// A page in the words that both readers have.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    dictionary: bool,
    count: usize,
    encoding: String,
    values: Vec<u8>,
    def: Vec<u8>,
    rep: Vec<u8>,
}

fn ours(file: &File, row_group: usize, leaf: usize) -> Result<Vec<Seen>, String> {
    let mut pages = Pages::new(file, row_group, leaf).map_err(|error| error.to_string())?;
    let mut seen = Vec::new();
    while let Some(page) = pages.next().map_err(|error| error.to_string())? {
        seen.push(match page {
            Page::Dictionary(page) => {
                assert!(page.readable.starts_with(page.values));
                Seen {
                    dictionary: true,
                    count: page.count,
                    encoding: "PLAIN".into(),
                    values: page.values.to_vec(),
                    def: Vec::new(),
                    rep: Vec::new(),
                }
            }
            Page::Data(page) => {
                assert!(page.readable.starts_with(page.values));
                assert!(page.def.readable.starts_with(page.def.bytes));
                if let Some(shared) = page.shared {
                    assert_eq!(shared.slice_ref(page.values), page.values);
                }
                Seen {
                    dictionary: false,
                    count: page.count,
                    encoding: page.encoding.name().into(),
                    values: page.values.to_vec(),
                    def: page.def.bytes.to_vec(),
                    rep: page.rep.bytes.to_vec(),
                }
            }
        });
    }
    Ok(seen)
}

fn theirs(
    reader: &SerializedFileReader<Bytes>,
    row_group: usize,
    leaf: usize,
) -> Result<Vec<Seen>, String> {
    let say = |error: parquet::errors::ParquetError| error.to_string();
    let group = reader.get_row_group(row_group).map_err(say)?;
    let descriptor = reader.metadata().row_group(row_group).column(leaf).column_descr_ptr();
    let (max_def, max_rep) = (descriptor.max_def_level(), descriptor.max_rep_level());
    let mut pages = group.get_column_page_reader(leaf).map_err(say)?;
    let mut seen = Vec::new();
    let name = |encoding| match encoding {
        TheirEncoding::PLAIN_DICTIONARY => TheirEncoding::RLE_DICTIONARY.to_string(),
        other => other.to_string(),
    };
    while let Some(page) = pages.get_next_page().map_err(say)? {
        seen.push(match page {
            TheirPage::DictionaryPage { buf, num_values, .. } => Seen {
                dictionary: true,
                count: num_values as usize,
                encoding: "PLAIN".into(),
                values: buf.to_vec(),
                def: Vec::new(),
                rep: Vec::new(),
            },
            #[expect(deprecated, reason = "old files have BIT_PACKED levels")]
            TheirPage::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut rest = &buf[..];
                let mut cut = |max: i16, encoding| -> Vec<u8> {
                    if max == 0 {
                        return Vec::new();
                    }
                    let bytes = if encoding == TheirEncoding::BIT_PACKED {
                        let bits = 16 - max.leading_zeros();
                        (num_values * bits).div_ceil(8) as usize
                    } else {
                        let Some((length, behind)) = rest.split_first_chunk::<4>() else {
                            return rest.to_vec();
                        };
                        rest = behind;
                        u32::from_le_bytes(*length) as usize
                    };
                    let levels = rest[..bytes].to_vec();
                    rest = &rest[bytes..];
                    levels
                };
                let rep = cut(max_rep, rep_level_encoding);
                let def = cut(max_def, def_level_encoding);
                Seen {
                    dictionary: false,
                    count: num_values as usize,
                    encoding: name(encoding),
                    values: rest.to_vec(),
                    def,
                    rep,
                }
            }
            TheirPage::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let rep = rep_levels_byte_len as usize;
                let def = rep + def_levels_byte_len as usize;
                Seen {
                    dictionary: false,
                    count: num_values as usize,
                    encoding: name(encoding),
                    values: buf[def..].to_vec(),
                    def: buf[rep..def].to_vec(),
                    rep: buf[..rep].to_vec(),
                }
            }
        });
    }
    Ok(seen)
}

/// A field without the extension types that the crate names only with features that are off here,
/// and with the same names of parts of lists and maps.
fn without_extensions(field: &Field) -> Field {
    let inside = |field: &FieldRef| Arc::new(without_extensions(field));
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inside).collect()),
        DataType::List(item) => DataType::List(inside(item)),
        DataType::LargeList(item) => DataType::LargeList(inside(item)),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries), *sorted),
        other => other.clone(),
    };
    let mut metadata = field.metadata().clone();
    let name = metadata.get(EXTENSION_TYPE_NAME_KEY).map(String::as_str);
    if matches!(name, Some("geoarrow.wkb" | "arrow.parquet.variant")) {
        metadata.retain(|key, _| !key.starts_with("ARROW:extension:"));
    }
    with_usual_names(&field.clone().with_data_type(data_type).with_metadata(metadata))
}

/// What differs in a file; `None` if nothing does, or both refuse it.
fn compare(bytes: &Bytes) -> Option<String> {
    let limits = arrowsmith_core::Limits::default();
    let reader = SerializedFileReader::new(bytes.clone());
    let file = match (File::open(bytes.clone(), &limits), &reader) {
        (Ok(file), Ok(_)) => file,
        (Err(_), Err(_)) => return None,
        (Ok(_), Err(error)) => return Some(format!("only we open it: {error}")),
        (Err(error), Ok(_)) => return Some(format!("only they open it: {error}")),
    };
    let reader = reader.ok()?;
    let metadata = reader.metadata().file_metadata();
    let schema = parquet_to_arrow_schema(metadata.schema_descr(), metadata.key_value_metadata());
    let plan = ReadPlan::new(&file, &ReadOptions::default());
    match (&plan, &schema) {
        (Ok(plan), Ok(schema)) => {
            if plan.schema.metadata() != schema.metadata() {
                return Some(format!("metadata: {:?}", plan.schema.metadata()));
            }
            let fields = plan.schema.fields().iter().map(|field| without_extensions(field));
            let theirs = schema.fields().iter().map(|field| without_extensions(field));
            let mut pairs = fields.zip(theirs);
            if let Some((ours, theirs)) = pairs.find(|(ours, theirs)| ours != theirs) {
                return Some(format!("schema: {ours:?}, not {theirs:?}"));
            }
        }
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => return Some(format!("only we plan it: {error}")),
        (Err(error), Ok(_)) => return Some(format!("only they plan it: {error}")),
    }
    for leaf in plan.iter().flat_map(|plan| plan.fields.iter().flat_map(Column::leaves)) {
        let theirs = metadata.schema_descr().column(leaf.index);
        assert_eq!(i16::try_from(leaf.max_def), Ok(theirs.max_def_level()), "{}", leaf.path);
        assert_eq!(i16::try_from(leaf.max_rep), Ok(theirs.max_rep_level()), "{}", leaf.path);
        assert_eq!(leaf.path, theirs.path().string());
    }
    for row_group in 0..file.row_groups() {
        for leaf in 0..metadata.schema_descr().num_columns() {
            let (ours, theirs) = (ours(&file, row_group, leaf), theirs(&reader, row_group, leaf));
            match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => {
                    // They return pages after the last value, too.
                    let differs =
                        ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
                    if let Some(page) = differs {
                        let shorten = |seen: &Seen| {
                            format!(
                                "{} {} {} {:.40?}",
                                seen.count,
                                seen.encoding,
                                seen.values.len(),
                                seen.values
                            )
                        };
                        let (ours, theirs) = (shorten(&ours[page]), shorten(&theirs[page]));
                        return Some(format!(
                            "group {row_group}, leaf {leaf}, page {page}: {ours}, not {theirs}"
                        ));
                    }
                    let values = |seen: &[Seen]| -> usize {
                        let data = seen.iter().filter(|page| !page.dictionary);
                        data.map(|page| page.count).sum()
                    };
                    if values(&ours) != values(&theirs) {
                        return Some(format!(
                            "group {row_group}, leaf {leaf}: {} pages, not {}",
                            ours.len(),
                            theirs.len()
                        ));
                    }
                }
                (Err(_), Err(_)) => {}
                (Ok(_), Err(error)) => {
                    return Some(format!("group {row_group}, leaf {leaf}: only we: {error}"));
                }
                (Err(error), Ok(_)) => {
                    return Some(format!("group {row_group}, leaf {leaf}: only they: {error}"));
                }
            }
        }
    }
    None
}

#[test]
fn pages_and_schemas_of_all_files_are_those_of_the_parquet_crate() {
    let Some(folder) = tools::corpora() else { return };
    let mut decided: BTreeMap<&str, &str> = DECIDED.into_iter().collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in files(&folder).unwrap() {
        let bytes = Bytes::from(std::fs::read(folder.join(&entry.path)).unwrap());
        let said = std::panic::catch_unwind(|| compare(&bytes))
            .unwrap_or_else(|_| Some("panics".to_owned()));
        count += 1;
        match (said, decided.remove(entry.path.as_str())) {
            (None, None) => {}
            (Some(said), Some(reason)) if said.contains(reason) => {}
            (said, reason) => wrong.push(format!("{}: {said:?}, decided {reason:?}", entry.path)),
        }
    }
    assert!(count > 500, "{count} files");
    assert!(decided.is_empty(), "no such files: {decided:?}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    // The names that are compared above.
    assert_eq!(Encoding::Dictionary.name(), "RLE_DICTIONARY");
}
