// SPDX-License-Identifier: Apache-2.0
//! Delta and Iceberg tables as inputs: their logs and manifests say which Parquet files are read.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use arrowsmith::parquet::{EXTENSIONS, ParquetReader, ReaderBuilder};
use arrowsmith::{DataFile, Error, Input, ParquetReadOptions};
use arrowsmith_sink::delta::{self, TableFile};
use arrowsmith_source::iceberg;

use crate::args::{Format, InputArgs};
use crate::failure::{Failure, Outcome};
use crate::input;

/// A table that is read.
pub struct Table {
    /// The columns of the table.
    schema: SchemaRef,
    /// The files, the newest first.
    files: Vec<DataFile>,
    /// Whether files have columns by the ids of the schema.
    by_id: bool,
}

impl Table {
    /// The one table that the arguments name; `None` if they name files. Partition columns have
    /// the types of the table, unless others are given.
    pub fn open(
        format: Format,
        args: &InputArgs,
        options: &mut ParquetReadOptions,
    ) -> Outcome<Option<Self>> {
        let (open, called): (fn(&str) -> Outcome<Self>, _) = match format {
            Format::Delta => (delta_table, "Delta"),
            Format::Iceberg => (iceberg_table, "Iceberg"),
            _ => return Ok(None),
        };
        let [name] = args.inputs.as_slice() else {
            let message = format!("--format {} reads one table", called.to_lowercase());
            return Err(Failure::Usage(message));
        };
        let table = open(name)?;
        let Some(first) = table.files.first() else {
            return Err(Error::Config(format!("{name}: the {called} table has no files")).into());
        };
        let is_partition = |column: &str| first.partitions.iter().any(|(name, _)| name == column);
        let fields = table.schema.fields().iter().filter(|field| is_partition(field.name()));
        let types: Vec<_> = fields.cloned().collect();
        if !types.is_empty() && options.partitions.is_none() {
            options.partitions = Some(Schema::new(types).into());
        }
        Ok(Some(table))
    }

    /// Reads it.
    pub fn reader(self, builder: ReaderBuilder) -> Outcome<ParquetReader> {
        Ok(builder.schema(self.schema).columns_by_id(self.by_id).open(self.files)?)
    }
}

fn delta_table(name: &str) -> Outcome<Table> {
    let place: Arc<dyn delta::Place> = match input::is_url(name) {
        #[cfg(feature = "store")]
        true => {
            let options = arrowsmith_source::store::StoreOptions::default();
            Arc::new(arrowsmith_source::store::Prefix::new(name, &options)?)
        }
        #[cfg(not(feature = "store"))]
        true => return Err(input::no_store(name)),
        false => Arc::new(delta::LocalPlace::new(Path::new(name))),
    };
    let Some(table) = delta::Table::load(place, name)? else {
        let message = format!("{name}: there is no Delta table (no _delta_log with commits)");
        return Err(Error::Config(message).into());
    };
    let files = table.files()?.into_iter().map(|file| delta_file(name, file));
    let files = files.collect::<Outcome<Vec<_>>>()?;
    Ok(Table { schema: table.schema()?, files, by_id: false })
}

fn delta_file(table: &str, file: TableFile) -> Outcome<DataFile> {
    if !input::is_url(table) {
        let input = Input::Path(Path::new(table).join(&file.path));
        let (partitions, deleted) = (file.partitions, file.deleted);
        return Ok(DataFile { input, partitions, deleted });
    }
    let url = format!("{}/{}", table.trim_end_matches('/'), file.url_path());
    let object = input::expand_url(&url, EXTENSIONS)?.pop();
    let object = object.ok_or_else(|| Error::Config(format!("{url}: there is no such object")))?;
    Ok(DataFile { input: object.input, partitions: file.partitions, deleted: file.deleted })
}

fn iceberg_table(name: &str) -> Outcome<Table> {
    let table = match input::is_url(name) {
        #[cfg(feature = "store")]
        true => {
            let location = iceberg::StorePlace::location(name);
            iceberg::Table::load(&iceberg::StorePlace::default(), &location)?
        }
        #[cfg(not(feature = "store"))]
        true => return Err(input::no_store(name)),
        false => iceberg::Table::load(&iceberg::LocalPlace, name)?,
    };
    Ok(Table { schema: table.schema, files: table.files, by_id: true })
}
