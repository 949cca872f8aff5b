// SPDX-License-Identifier: Apache-2.0
//! A server with the same rows in every format, and a client that speaks Flight SQL.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringViewArray};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{FlightDescriptor, FlightInfo};
use arrow_ipc::writer::FileWriter;
use arrowsmith_flight::dataset::Format;
use arrowsmith_flight::{Catalog, Options, Origin, Server, Spec};
use arrowsmith_flight_sql::{FlightSql, SqlOptions};
use futures_util::TryStreamExt;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// Rows with the types of JSON: lists, structures, text, numbers.
const ROWS: &str = r#"{"a":1,"s":"one","tags":["x","y"],"user":{"id":7,"name":"ada"}}
{"a":2,"s":"two","tags":[],"user":{"id":8,"name":"bob"}}
{"a":3,"s":null,"tags":["z"],"user":null}
"#;

/// Rows of dictionaries and string views.
fn coded() -> RecordBatch {
    let coded: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let words = ["a text that is no longer inline", "b", "c"];
    let views = StringViewArray::from_iter_values(words);
    let columns: [(&str, ArrayRef); 2] = [("coded", Arc::new(coded)), ("views", Arc::new(views))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write_arrow(path: &Path, batches: &[RecordBatch]) {
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new(file, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

pub struct Sql {
    _folder: tempfile::TempDir,
    server: Server,
    channel: Channel,
}

impl Sql {
    pub async fn new() -> Self {
        Self::with(SqlOptions { threads: 2, ..SqlOptions::default() }).await
    }

    pub async fn with(sql: SqlOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        fs::write(&path, ROWS).unwrap();
        let many = folder.path().join("many.jsonl");
        let mut file = File::create(&many).unwrap();
        for n in 0..5000 {
            writeln!(file, r#"{{"n":{n},"t":"text {n}"}}"#).unwrap();
        }
        let coded = folder.path().join("coded.arrow");
        write_arrow(&coded, &[self::coded()]);
        let spec = |name: &str, path, format| {
            Spec::new(name, Origin::Files { paths: vec![path], format }).unwrap()
        };
        let specs = [
            spec("rows", path, Format::Json),
            spec("many", many, Format::Json),
            spec("coded", coded, Format::Ipc),
        ];
        let catalog = Arc::new(Catalog::open(specs).unwrap());
        let extension = Arc::new(FlightSql::new(Arc::clone(&catalog), &sql).unwrap());
        let mut options = Options::default();
        options.listen = ([127, 0, 0, 1], 0).into();
        let server = Server::start(catalog, options, Some(extension)).await.unwrap();
        let address = format!("http://{}", server.address());
        let channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
        Self { _folder: folder, server, channel }
    }

    /// Ends the server, once its streams have ended, or after a while.
    pub async fn shutdown(self) {
        self.server.shutdown().await;
    }

    pub fn client(&self) -> FlightSqlServiceClient<Channel> {
        let inner = FlightServiceClient::new(self.channel.clone());
        FlightSqlServiceClient::new_from_inner(inner.max_encoding_message_size(usize::MAX))
    }

    /// The result of a statement.
    pub async fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, String> {
        let mut client = self.client();
        let info = client.execute(sql.to_owned(), None).await.map_err(|e| e.to_string())?;
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        let batches = client.do_get(ticket).await.map_err(|e| e.to_string())?;
        batches.try_collect().await.map_err(|e| e.to_string())
    }

    /// The number of rows of a statement's result, and the names of its columns in the stream.
    pub async fn columns(&self, sql: &str) -> (usize, Vec<String>) {
        let mut client = self.client();
        let info = client.execute(sql.to_owned(), None).await.unwrap();
        let mut batches = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = batches.try_next().await.unwrap() {
            rows += batch.num_rows();
        }
        let schema = batches.schema().unwrap();
        (rows, schema.fields().iter().map(|field| field.name().clone()).collect())
    }

    /// The result of a statement with one row of parameters.
    pub async fn bound(&self, sql: &str, row: RecordBatch) -> Result<Vec<RecordBatch>, String> {
        let mut client = self.client();
        let prepared = client.prepare(sql.to_owned(), None).await;
        let mut prepared = prepared.map_err(|e| e.to_string())?;
        prepared.set_parameters(row).map_err(|e| e.to_string())?;
        let info = prepared.execute().await.map_err(|e| e.to_string())?;
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        let batches = client.do_get(ticket).await.map_err(|e| e.to_string())?;
        batches.try_collect().await.map_err(|e| e.to_string())
    }

    /// The rows of a statement as text.
    pub async fn text(&self, sql: &str) -> String {
        match self.query(sql).await {
            Ok(batches) => arrow_cast::pretty::pretty_format_batches(&batches)
                .unwrap()
                .to_string()
                .lines()
                .filter(|line| line.starts_with('|'))
                .skip(1)
                .map(|line| line.trim_matches(['|', ' ']).to_owned())
                .collect::<Vec<_>>()
                .join("\n"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Sends a statement in every kind of request but one that runs it.
    pub async fn ask(&self, sql: &str) -> Vec<Result<(), String>> {
        let mut client = self.client();
        let info: Result<FlightInfo, _> = client.execute(sql.to_owned(), None).await;
        let prepared = client.prepare(sql.to_owned(), None).await;
        vec![
            info.map(drop).map_err(|error| error.to_string()),
            prepared.map(drop).map_err(|error| error.to_string()),
        ]
    }

    /// That the server still answers.
    pub async fn lives(&self) {
        assert_eq!(self.text("select count(*) from rows").await, "3");
    }

    pub async fn schema(&self, command: Vec<u8>) -> Result<(), Status> {
        let mut client = FlightServiceClient::new(self.channel.clone());
        client.get_schema(FlightDescriptor::new_cmd(command)).await.map(drop)
    }
}
