// SPDX-License-Identifier: Apache-2.0
//! Parquet before its values are decoded: footer, pages, codecs, the schema's mapping, pruning.
//!
//! This is the layer between a source and an engine. [`File`] is a file's bytes and metadata,
//! [`ReadPlan`] says what is read of it and as which Arrow types, [`Pages`] walks over a column
//! chunk and hands out pages whose levels and values are still encoded; [`nest`] assembles the
//! leaves that an engine has decoded into one array. It decodes no values and does no I/O.

#![forbid(unsafe_code)]

mod budget;
pub mod codec;
pub mod file;
pub mod filter;
pub mod footer;
mod header;
pub mod index;
mod mapping;
pub mod nest;
pub mod options;
pub mod pages;
pub mod plan;
pub mod predicate;
mod prune;
mod repair;
mod rows;
mod schema;
mod thrift;

pub use budget::{Budget, Claim, Held, Pool, Share, row_bytes};
pub use codec::PageBuffers;
pub use file::{File, Tail};
pub use filter::{Filter, ambiguous};
pub use header::{Encoding, LevelEncoding};
pub use index::{PageLocation, page_locations};
pub use mapping::{ColumnMapping, PHYSICAL_NAME_KEY};
pub use options::{Columns, ListForm, ReadOptions, StringForm};
pub use pages::{
    DataPage, DictionaryPage, Levels, PackedPage, Page, PageInfo, Pages, Stored, corrected_chunk,
};
pub use plan::{
    Column, Conversion, Leaf, List, ListKind, Map, Physical, ReadPlan, RepeatedLevels, Struct,
};
pub use predicate::{Comparison, Literal, Predicate};
pub use prune::RowSelection;
pub use rows::{count_rows, uncounted_column};
pub use schema::{FIELD_ID_KEY, leads_into, leads_to};
