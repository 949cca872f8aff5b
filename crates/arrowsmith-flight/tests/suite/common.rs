// SPDX-License-Identifier: Apache-2.0
//! What the tests of the service share: rows, files of every format, a server.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch,
    StringArray,
};
use arrow_ipc::writer::FileWriter;
use arrow_select::concat::concat_batches;
use arrowsmith_core::Sink;
use arrowsmith_core::sink::Output;
use arrowsmith_flight::client::{Client, ClientOptions};
use arrowsmith_flight::query::Query;
use arrowsmith_flight::{Catalog, Options, Server, Spec};
use arrowsmith_sink::parquet::{ParquetOptions, ParquetSink};
use futures_util::TryStreamExt;

/// Rows `first..first + count` of a table with nulls, text, lists and a dictionary.
pub fn rows(first: i64, count: i64) -> RecordBatch {
    let range = || first..first + count;
    let id = Int64Array::from_iter_values(range());
    let fare = Float64Array::from_iter(range().map(|n| (n % 7 != 0).then_some(n as f64 / 4.0)));
    let zone =
        StringArray::from_iter(range().map(|n| (n % 5 != 0).then(|| format!("zone {}", n % 11))));
    let paid = BooleanArray::from_iter(range().map(|n| (n % 13 != 0).then_some(n % 2 == 0)));
    let tags = ListArray::from_iter_primitive::<Int32Type, _, _>(range().map(|n| {
        (n % 9 != 0).then(|| (0..n % 4).map(|k| i32::try_from(n + k).ok()).collect::<Vec<_>>())
    }));
    let kind: DictionaryArray<Int32Type> =
        range().map(|n| (n % 6 != 0).then_some(["a", "b", "c"][(n % 3) as usize])).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(id) as ArrayRef, false),
        ("fare", Arc::new(fare) as ArrayRef, true),
        ("zone", Arc::new(zone) as ArrayRef, true),
        ("paid", Arc::new(paid) as ArrayRef, true),
        ("tags", Arc::new(tags) as ArrayRef, true),
        ("kind", Arc::new(kind) as ArrayRef, true),
    ])
    .unwrap()
}

/// A Parquet file with a row group for each batch.
pub fn parquet(path: &Path, batches: &[RecordBatch]) {
    let options =
        ParquetOptions { row_group_rows: batches[0].num_rows(), ..ParquetOptions::default() };
    let output = Output::create(path).unwrap();
    let mut sink = Box::new(ParquetSink::new(output, &batches[0].schema(), &options).unwrap());
    for batch in batches {
        sink.write(batch).unwrap();
    }
    sink.finish().unwrap();
}

/// An Arrow IPC file with these batches.
pub fn ipc(path: &Path, batches: &[RecordBatch]) {
    let mut writer =
        FileWriter::try_new(File::create(path).unwrap(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

pub fn options() -> Options {
    let mut options = Options::default();
    options.listen = ([127, 0, 0, 1], 0).into();
    options.endpoints_max = 3;
    options
}

pub async fn serve(specs: Vec<Spec>, options: Options) -> Server {
    let catalog = Arc::new(Catalog::open(specs).unwrap());
    Server::start(catalog, options, None).await.unwrap()
}

pub fn spec(path: &Path) -> Spec {
    Spec::parse(path.to_str().unwrap(), None).unwrap()
}

pub async fn client(server: &Server) -> Client {
    connect(server, &ClientOptions::default()).await.unwrap()
}

pub async fn connect(server: &Server, options: &ClientOptions) -> Result<Client, tonic::Status> {
    Client::connect(&format!("grpc://{}", server.address()), options).await
}

/// All rows of a query as one batch.
pub async fn read(client: &Client, query: &Query) -> Result<RecordBatch, tonic::Status> {
    let info = client.info(query).await?;
    let schema = Arc::new(info.clone().try_decode_schema().unwrap());
    let batches: Vec<RecordBatch> = client.read(info, 2).await?.try_collect().await?;
    Ok(concat_batches(&schema, &batches).unwrap())
}
