// SPDX-License-Identifier: Apache-2.0
//! Delta tables as inputs of `convert`: their logs say which Parquet files are read.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use arrowsmith::parquet::EXTENSIONS;
use arrowsmith::{DataFile, Error, Input, ParquetReadOptions};
use arrowsmith_sink::delta::{LocalPlace, Place, Table, TableFile};

use crate::args::InputArgs;
use crate::failure::{Failure, Outcome};
use crate::input;

/// A table that is read.
pub struct Delta {
    /// The columns of the table.
    pub schema: SchemaRef,
    /// The files, the newest first.
    pub files: Vec<DataFile>,
}

impl Delta {
    /// Reads the log of the one table that the arguments name. Its partition columns have the types
    /// of the table, unless others are given.
    pub fn open(args: &InputArgs, options: &mut ParquetReadOptions) -> Outcome<Self> {
        let [name] = args.inputs.as_slice() else {
            return Err(Failure::Usage("--format delta reads one table".to_owned()));
        };
        let Some(table) = Table::load(place(name)?, name)? else {
            let message = format!("{name}: there is no Delta table (no _delta_log with commits)");
            return Err(Error::Config(message).into());
        };
        let schema = table.schema()?;
        let names = table.partition_columns();
        let fields = schema.fields().iter().filter(|field| names.contains(field.name()));
        let types = Schema::new(fields.cloned().collect::<Vec<_>>());
        if !names.is_empty() && options.partitions.is_none() {
            options.partitions = Some(types.into());
        }
        let files = table.files()?.into_iter().map(|file| data_file(name, file));
        let files = files.collect::<Outcome<Vec<_>>>()?;
        if files.is_empty() {
            return Err(Error::Config(format!("{name}: the Delta table has no files")).into());
        }
        Ok(Self { schema, files })
    }
}

fn place(name: &str) -> Outcome<Arc<dyn Place>> {
    #[cfg(feature = "store")]
    if input::is_url(name) {
        let options = arrowsmith_source::store::StoreOptions::default();
        return Ok(Arc::new(arrowsmith_source::store::Prefix::new(name, &options)?));
    }
    Ok(Arc::new(LocalPlace::new(Path::new(name))))
}

fn data_file(table: &str, file: TableFile) -> Outcome<DataFile> {
    if !input::is_url(table) {
        let input = Input::Path(Path::new(table).join(&file.path));
        return Ok(DataFile { input, partitions: file.partitions });
    }
    let url = format!("{}/{}", table.trim_end_matches('/'), file.url_path());
    let object = input::expand_url(&url, EXTENSIONS)?.pop();
    let object = object.ok_or_else(|| Error::Config(format!("{url}: there is no such object")))?;
    Ok(DataFile { input: object.input, partitions: file.partitions })
}
