// SPDX-License-Identifier: Apache-2.0
//! Tables of `testdata/iceberg`; what is read of their rows, the command's tests show.

use std::path::Path;

use super::*;

fn load(name: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/iceberg").join(name);
    Table::load(&LocalPlace, &path.display().to_string()).unwrap()
}

#[test]
fn files_are_where_the_table_is_and_have_its_partition_values() {
    let table = load("partitioned");
    let mut levels = Vec::new();
    for file in &table.files {
        let [(name, level)] = file.partitions.as_slice() else { panic!("one column") };
        assert_eq!(name, "level");
        levels.push(level.as_deref());
        let path = file.input.name().unwrap();
        assert!(Path::new(&*path).is_file(), "{path}");
    }
    // Those of the last commits, which replaced files, are first.
    levels.sort_unstable();
    let level = Some("in/fo =%20");
    assert_eq!(levels, [None, None, Some("error"), level, level]);
    assert_eq!(load("imported").files[1].partitions, [("day".into(), Some("1969-12-31".into()))]);
    assert!(load("types").files.iter().all(|file| file.partitions.is_empty()));
}

#[test]
fn the_schema_is_the_current_one_with_its_ids() {
    let schema = load("evolved").schema;
    let columns = schema
        .fields()
        .iter()
        .map(|field| (field.name().as_str(), field.metadata()["PARQUET:field_id"].as_str()));
    let expected =
        [("price", "4"), ("id", "1"), ("a.b", "2"), ("amount", "5"), ("was", "6"), ("id2", "7")];
    assert_eq!(columns.collect::<Vec<_>>(), expected);
}

/// The metadata of a table in memory.
struct Files(Vec<(&'static str, &'static str)>);

impl Place for Files {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let names = self.0.iter().filter_map(|(name, _)| name.strip_prefix(folder));
        Ok(names.map(|name| name.trim_start_matches('/').to_owned()).collect())
    }

    fn read(&self, location: &str, _most: u64) -> Result<Vec<u8>> {
        let file = self.0.iter().find(|(name, _)| *name == location);
        let missing = || Error::io(location, io::ErrorKind::NotFound.into());
        file.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(missing)
    }

    fn input(&self, location: &str) -> Result<crate::Input> {
        Ok(crate::Input::Path(location.into()))
    }
}

#[test]
fn the_last_metadata_of_a_folder_counts() {
    let text = |column: &str| -> &'static str {
        let text = format!(
            r#"{{"format-version":1,"location":"/t","schema":{{"fields":[
            {{"id":1,"name":"{column}","required":true,"type":"int"}}]}}}}"#
        );
        text.leak()
    };
    let read = |files: &[(&'static str, &'static str)], name: &str| {
        Table::load(&Files(files.to_vec()), name).map(|table| table.schema.field(0).name().clone())
    };
    let mut files = vec![
        ("t/metadata/v9.metadata.json", text("nine")),
        ("t/metadata/v10.metadata.json", text("ten")),
        ("t/metadata/snap-1.avro", ""),
    ];
    assert_eq!(read(&files, "t/").unwrap(), "ten");
    assert_eq!(read(&files, "t/metadata/v9.metadata.json").unwrap(), "nine");
    files.push(("t/metadata/00011-x.metadata.json", text("eleven")));
    assert_eq!(read(&files, "t").unwrap(), "eleven");
    files.push(("t/metadata/00011-y.metadata.json", text("eleven")));
    assert!(read(&files, "t").unwrap_err().to_string().contains("the same number"));
    // Its writer had committed version 10, too.
    files.push(("t/metadata/version-hint.text", "9"));
    assert_eq!(read(&files, "t").unwrap(), "ten");
    files.remove(1);
    assert_eq!(read(&files, "t").unwrap(), "nine");
    assert!(read(&[], "t").unwrap_err().to_string().contains("there is no Iceberg table"));
}

#[test]
fn moved_files_are_those_in_the_folder_of_the_table() {
    let located = |file: &str, location: &str, of: &str| {
        let metadata = r#"{"format-version":2,"location":""}"#;
        let metadata = serde_json::from_str(metadata).unwrap();
        let moved = moved(file, location);
        Reading { place: &LocalPlace, name: "", moved, metadata }.located(of)
    };
    for (file, location, of, expected) in [
        ("/new/metadata/v1.metadata.json", "file:/old", "file:///old/data/a", "/new/data/a"),
        ("/new/metadata/v1.metadata.json", "/old/", "file:/old/data/a", "/new/data/a"),
        ("/new/metadata/v1.metadata.json", "/old", "/older/data/a", "/older/data/a"),
        ("metadata/v1.metadata.json", "/old", "/old/a", "./a"),
        ("s3://b/new/metadata/1.metadata.json", "s3://a/old", "s3://a/old/x", "s3://b/new/x"),
        ("s3://a/old/metadata/1.metadata.json", "s3://a/old", "s3://a/old/x", "s3://a/old/x"),
        ("/elsewhere/1.metadata.json", "/old", "/old/x", "/old/x"),
    ] {
        assert_eq!(located(file, location, of), expected);
    }
}

/// A file of positions deletes from files that were there before it, unless these have a vector.
#[test]
fn positions_count_for_earlier_files() {
    let one = |row: u64| std::iter::once(row..row + 1).collect::<crate::deletion_vector::Rows>();
    let file = |deleted| DataFile { deleted, ..crate::Input::Path("x".into()).into() };
    let table = Table {
        schema: std::sync::Arc::new(arrow_schema::Schema::empty()),
        files: vec![file(None), file(Some(one(1))), file(None), file(None)],
        position_files: Vec::new(),
        origins: [("a", 3), ("b", 1), ("c", 4), ("d", 1)]
            .map(|(name, at)| (name.into(), at))
            .into(),
    };
    let positions = |sequence| PositionFile { input: crate::Input::Path("p".into()), sequence };
    let mut deleted = Positions::new(&table);
    let rows = [("a", 7), ("b", 7), ("c", 7), ("other", 7), ("a", 5), ("a", 6), ("a", 6), ("a", 9)];
    deleted.add(&positions(3), rows.into_iter()).unwrap();
    deleted.add(&positions(9), [("a", 0), ("d", i64::MAX)].into_iter()).unwrap();
    let error = deleted.add(&positions(3), [("a", -1)].into_iter()).unwrap_err().to_string();
    assert!(error.contains("negative"), "{error}");
    let mut found = deleted.finish();
    found.sort_by_key(|(place, _)| *place);
    let expected = [(0, [0..1, 5..8, 9..10].into()), (3, one(i64::MAX.cast_unsigned()))];
    assert_eq!(found, expected);
}
