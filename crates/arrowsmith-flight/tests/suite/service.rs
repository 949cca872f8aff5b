// SPDX-License-Identifier: Apache-2.0
//! The service through its own client: every format returns the same rows, however they are
//! requested; a put stores all rows or none; conversion, actions, health, metrics.

use std::fs;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch, TimestampMillisecondArray};
use arrow_cast::cast;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightData, FlightDescriptor};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrowsmith::options::Value;
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_flight::dataset::FileAccess;
use arrowsmith_flight::query::Query;
use arrowsmith_flight::{Catalog, Compression, Spec};
use arrowsmith_sink::json::{JsonOptions, JsonSink, TextCompression};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use tonic::Code;

use crate::common;
use crate::common::{client, ipc, options, parquet, read, rows, serve, spec};

/// Rows in the batches that each file is made of.
const PARTS: [i64; 4] = [1000, 1000, 1000, 777];

fn batches() -> Vec<RecordBatch> {
    let firsts = PARTS.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum - count)
    });
    // Slices of one batch, so that they share a dictionary, as the batches of an Arrow file have
    // to.
    let all = rows(0, PARTS.iter().sum());
    let size = |count: i64| usize::try_from(count).unwrap();
    firsts.zip(PARTS).map(|(first, count)| all.slice(size(first), size(count))).collect()
}

/// With the dictionary as plain text, as formats without dictionaries return it.
fn plain(batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Dictionary(..) => cast(column, &DataType::Utf8).unwrap(),
        _ => Arc::clone(column),
    });
    let fields = batch.schema();
    let names = fields.fields().iter().map(|field| field.name().clone());
    RecordBatch::try_from_iter_with_nullable(names.zip(columns).map(|(n, c)| (n, c, true))).unwrap()
}

fn equal(found: &RecordBatch, expected: &RecordBatch) {
    assert_eq!(found.num_rows(), expected.num_rows());
    for (name, expected) in expected.schema().fields().iter().zip(plain(expected).columns()) {
        let found = plain(found);
        let found = found.column_by_name(name.name()).unwrap();
        let found = cast(found, expected.data_type()).unwrap();
        assert_eq!(found.as_ref(), expected.as_ref(), "{name}");
    }
}

struct Files {
    _folder: tempfile::TempDir,
    specs: Vec<Spec>,
}

/// The same rows in every format: datasets `parquet`, `ipc`, `json`, `memory`.
fn files() -> Files {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let all = batches();
    let (parquets, ipcs, jsons) = (at("parquet"), at("ipc"), at("json"));
    parquet(&parquets.join("0.parquet"), &all[..3]);
    parquet(&parquets.join("1.parquet"), &all[3..]);
    ipc(&ipcs.join("0.arrow"), &all[..1]);
    ipc(&ipcs.join("1.arrow"), &all[1..]);
    // Files as `convert` reads them, compressed and not.
    let compressions = [TextCompression::None, TextCompression::GZIP, TextCompression::ZSTD];
    for ((number, batch), compression) in all.iter().enumerate().zip(compressions.iter().cycle()) {
        let name = format!("{number}.jsonl{}", compression.suffix());
        let options = JsonOptions { compression: *compression, ..JsonOptions::default() };
        let batch = plain(batch);
        let output = Output::create(jsons.join(name)).unwrap();
        let mut sink: Box<dyn Sink> =
            Box::new(JsonSink::new(output, &batch.schema(), &options).unwrap());
        sink.write(&batch).unwrap();
        sink.finish().unwrap();
    }
    let mut json = spec(&jsons);
    json.json.schema = Some(plain(&all[0]).schema());
    let mut memory = spec(&parquets);
    memory.name = "memory".to_owned();
    memory.access = FileAccess::Preload;
    let specs = vec![spec(&parquets), spec(&ipcs), json, memory];
    Files { _folder: folder, specs }
}

const DATASETS: [&str; 4] = ["ipc", "json", "memory", "parquet"];

#[tokio::test(flavor = "multi_thread")]
async fn every_format_gives_the_same_rows() {
    let files = files();
    let expected = concat_batches(&rows(0, 0).schema(), &batches()).unwrap();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let mut options = options();
        options.compression = compression;
        let server = serve(files.specs.clone(), options).await;
        let client = client(&server).await;
        let list = client.list().await.unwrap();
        let names = list.iter().map(|info| info.flight_descriptor.clone().unwrap().path[0].clone());
        assert_eq!(names.collect::<Vec<_>>(), DATASETS);
        for info in list {
            let name = info.flight_descriptor.as_ref().unwrap().path[0].clone();
            assert!(info.endpoint.len() > 1, "{name}");
            let rows = if name == "json" { -1 } else { 3777 };
            assert_eq!(info.total_records, rows, "{name}");
            let found = read(&client, &Query::all(name.as_str())).await.unwrap();
            equal(&found, &expected);
            let schema = client.schema(&Query::all(name.as_str())).await.unwrap();
            assert_eq!(&schema, found.schema().as_ref());
        }
        server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_conditions_and_limits_are_kept() {
    let files = files();
    let all = concat_batches(&rows(0, 0).schema(), &batches()).unwrap();
    let server = serve(files.specs.clone(), options()).await;
    let client = client(&server).await;
    let fare = all.column(1).as_primitive::<Float64Type>();
    let id = all.column(0).as_primitive::<Int64Type>();
    let zone = all.column(2).as_string::<i32>();
    for name in DATASETS {
        let query = Query {
            columns: Some(vec!["zone".to_owned(), "id".to_owned()]),
            filter: Some(
                "fare > 100.5 and (zone = 'zone 3' or zone is null) and not id in (505, 1001)"
                    .to_owned(),
            ),
            ..Query::all(name)
        };
        let mask = (0..all.num_rows()).map(|row| {
            let zone = zone.is_null(row) || zone.value(row) == "zone 3";
            let fare = fare.is_valid(row) && fare.value(row) > 100.5;
            Some(zone && fare && ![505, 1001].contains(&id.value(row)))
        });
        let expected = filter_record_batch(&all, &mask.collect()).unwrap();
        assert!(expected.num_rows() > 100);
        let found = read(&client, &query).await.unwrap();
        assert_eq!(
            found.schema().fields().iter().map(|f| f.name()).collect::<Vec<_>>(),
            ["zone", "id"]
        );
        equal(&found, &expected.project(&[2, 0]).unwrap());
        for limit in [0, 1, 999, 1000, 1001, 5000] {
            let query = Query { limit: Some(limit), ..Query::all(name) };
            let found = read(&client, &query).await.unwrap();
            equal(&found, &all.slice(0, 3777.min(usize::try_from(limit).unwrap())));
        }
        for wrong in ["nowhere = 1", "id = 'text'", "zone > 5"] {
            let query = Query { filter: Some(wrong.to_owned()), ..Query::all(name) };
            let error = read(&client, &query).await.unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{name}: {wrong}: {error}");
        }
        let query = Query { columns: Some(vec!["nowhere".to_owned()]), ..Query::all(name) };
        assert_eq!(read(&client, &query).await.unwrap_err().code(), Code::InvalidArgument);
    }
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_messages_are_cut_out_of_large_batches() {
    let files = files();
    let mut options = options();
    options.message_bytes = 3000;
    let server = serve(files.specs.clone(), options).await;
    let client = client(&server).await;
    let expected = concat_batches(&rows(0, 0).schema(), &batches()).unwrap();
    for name in DATASETS {
        equal(&read(&client, &Query::all(name)).await.unwrap(), &expected);
    }
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (year, first) in [("2023", 0), ("2024", 500)] {
        let path = |name: &str| {
            let path = folder.path().join(name).join(format!("year={year}"));
            fs::create_dir_all(&path).unwrap();
            path.join("a").with_extension(name)
        };
        let rows = rows(first, 500);
        parquet(&path("parquet"), std::slice::from_ref(&rows));
        ipc(&path("arrow"), std::slice::from_ref(&rows));
        let file = fs::File::create(path("jsonl")).unwrap();
        let mut writer = arrow_json::LineDelimitedWriter::new(file);
        writer.write(&plain(&rows)).unwrap();
        writer.finish().unwrap();
    }
    let names = ["parquet", "arrow", "jsonl"];
    let specs = names.map(|name| spec(&folder.path().join(name)));
    let server = serve(specs.to_vec(), options()).await;
    let client = client(&server).await;
    for name in names {
        let filter = Some("year = 2024 and id < 600".to_owned());
        let found = read(&client, &Query { filter, ..Query::all(name) }).await.unwrap();
        assert_eq!(found.num_rows(), 100, "{name}");
        let year = found.column_by_name("year").unwrap();
        assert_eq!(year.as_primitive::<Int64Type>().value(0), 2024, "{name}");
        // Without a condition Arrow would be sent as it is stored.
        let all = read(&client, &Query::all(name)).await.unwrap();
        let year = all.column_by_name("year").unwrap().as_primitive::<Int64Type>();
        assert_eq!((all.num_rows(), year.value(0), year.value(999)), (1000, 2023, 2024), "{name}");
        let columns = Some(vec!["year".to_owned()]);
        let years = read(&client, &Query { columns, ..Query::all(name) }).await.unwrap();
        assert_eq!((years.num_rows(), years.num_columns()), (1000, 1), "{name}");
    }
    server.shutdown().await;
}

#[test]
fn files_that_are_the_same_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, "{\"a\":1}\n").unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let catalog = Catalog::open([spec(&path)]).unwrap();
    let dataset = catalog.get("a").unwrap();
    assert!(!dataset.refresh().unwrap());
    // By all that tells files apart it is the same one.
    fs::write(&path, "no json\n").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert!(!dataset.refresh().unwrap());
    fs::write(&path, "no json at all\n").unwrap();
    dataset.refresh().unwrap_err();
    fs::write(&path, "{\"a\":1,\"b\":2}\n").unwrap();
    assert!(dataset.refresh().unwrap());
    assert_eq!(dataset.current().schema.fields().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_put_is_read_as_the_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trips");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("0.jsonl"), "{\"at\":1000}\n").unwrap();
    let mut spec = spec(&path);
    let types = Value::Text("at: timestamp(ms) epoch ms".to_owned());
    spec.json.set("types", types).unwrap();
    spec.writable = true;
    let server = serve(vec![spec], options()).await;
    let client = client(&server).await;
    let descriptor = FlightDescriptor::new_cmd("{\"dataset\":\"trips\",\"put\":\"json\"}");
    let text = FlightData::new().with_app_metadata("{\"at\":2000}\n").with_descriptor(descriptor);
    let answer = client.inner().do_put(stream::iter([text])).await.unwrap();
    let _: Vec<_> = answer.into_inner().try_collect().await.unwrap();
    let found = read(&client, &Query::all("trips")).await.unwrap();
    let at = TimestampMillisecondArray::from(vec![1000, 2000]);
    assert_eq!(found.column(0).as_primitive::<TimestampMillisecondType>(), &at);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_is_there_whole_or_not_at_all() {
    for (format, file) in [("parquet", "0.parquet"), ("arrow", "0.arrow"), ("json", "0.jsonl")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trips");
        fs::create_dir(&path).unwrap();
        let first = plain(&rows(0, 10)).project(&[0, 1, 2]).unwrap();
        match format {
            "parquet" => parquet(&path.join(file), std::slice::from_ref(&first)),
            "arrow" => ipc(&path.join(file), std::slice::from_ref(&first)),
            _ => {
                let mut writer = arrow_json::LineDelimitedWriter::new(
                    fs::File::create(path.join(file)).unwrap(),
                );
                writer.write(&first).unwrap();
                writer.finish().unwrap();
            }
        }
        let mut spec = spec(&path);
        spec.json.schema = Some(first.schema());
        let closed = serve(vec![spec.clone()], options()).await;
        let denied =
            client(&closed).await.put("trips", first.schema(), stream::iter([first.clone()])).await;
        assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
        closed.shutdown().await;

        spec.writable = true;
        let server = serve(vec![spec], options()).await;
        let client = client(&server).await;
        let before = client.info(&Query::all("trips")).await.unwrap();
        let more = plain(&rows(10, 90)).project(&[0, 1, 2]).unwrap();
        let pieces = vec![more.slice(0, 40), more.slice(40, 50)];
        let said = client.put("trips", more.schema(), stream::iter(pieces)).await.unwrap();
        let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
        assert_eq!(said["rows"], 90, "{format}");
        let found = read(&client, &Query::all("trips")).await.unwrap();
        equal(&found, &plain(&rows(0, 100)).project(&[0, 1, 2]).unwrap());
        // An earlier ticket returns the rows of its time.
        let old: Vec<RecordBatch> =
            client.read(before, 1).await.unwrap().try_collect().await.unwrap();
        assert_eq!(old.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);

        // Text, through the raw call.
        let text = "{\"id\":100,\"fare\":1.5}\n{\"id\":101,\"zone\":\"x\"}\n";
        let descriptor = FlightDescriptor::new_cmd("{\"dataset\":\"trips\",\"put\":\"json\"}");
        let messages = [&text[..9], &text[9..]]
            .map(|piece| FlightData::new().with_app_metadata(piece.to_owned()));
        let mut messages = messages.to_vec();
        messages[0].flight_descriptor = Some(descriptor.clone());
        let answer = client.inner().do_put(stream::iter(messages)).await.unwrap();
        let _: Vec<_> = answer.into_inner().try_collect().await.unwrap();
        assert_eq!(read(&client, &Query::all("trips")).await.unwrap().num_rows(), 102, "{format}");

        // Other columns, and invalid text: nothing is stored.
        let other = rows(0, 5).project(&[0]).unwrap();
        let refused = client.put("trips", other.schema(), stream::iter([other])).await;
        assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
        let bad =
            FlightData::new().with_app_metadata("{\"id\":true}\n").with_descriptor(descriptor);
        let refused = client.inner().do_put(stream::iter([bad])).await.map(|_| ());
        assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
        let names: Vec<String> = fs::read_dir(&path)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), 3, "{names:?}");
        server.shutdown().await;
    }
}

async fn exchange(
    client: &arrowsmith_flight::client::Client,
    command: &str,
    bytes: &[u8],
) -> Result<Vec<RecordBatch>, FlightError> {
    let mut messages: Vec<FlightData> = bytes
        .chunks(1000)
        .map(|piece| FlightData::new().with_app_metadata(piece.to_vec()))
        .collect();
    messages.insert(
        0,
        FlightData::new().with_descriptor(FlightDescriptor::new_cmd(command.to_owned())),
    );
    let answer = client.inner().do_exchange(stream::iter(messages)).await?.into_inner();
    let data = answer.map_err(|status| FlightError::Tonic(Box::new(status)));
    FlightRecordBatchStream::new_from_flight_data(data).try_collect().await
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let expected = rows(0, 2000);
    parquet(&path, std::slice::from_ref(&expected));
    let server = serve(vec![spec(&path)], options()).await;
    let client = client(&server).await;
    let found =
        exchange(&client, "{\"from\":\"parquet\"}", &fs::read(&path).unwrap()).await.unwrap();
    equal(&concat_batches(&found[0].schema(), &found).unwrap(), &expected);

    let text: String = (0..5000).map(|n| format!("{{\"a\":{n},\"b\":\"x{n}\"}}\n")).collect();
    let command = "{\"from\":\"json\",\"schema\":\"a: int64, b: utf8\",\"columns\":[\"b\"],\"filter\":\"a >= 10\",\"limit\":5}";
    let found = exchange(&client, command, text.as_bytes()).await.unwrap();
    let found = concat_batches(&found[0].schema(), &found).unwrap();
    assert_eq!(
        found.column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["x10", "x11", "x12", "x13", "x14"]
    );

    for (command, bytes) in [
        ("{\"from\":\"json\",\"schema\":\"a: int64\"}", &b"{\"a\":true}\n"[..]),
        ("{\"from\":\"parquet\"}", b"no parquet at all"),
        ("{\"from\":\"csv\"}", b"a,b"),
        ("{\"from\":\"json\",\"schema\":\"/etc/passwd\"}", b"{}"),
    ] {
        let error = exchange(&client, command, bytes).await.unwrap_err();
        let FlightError::Tonic(status) = error else { panic!("{error}") };
        assert_eq!(status.code(), Code::InvalidArgument, "{command}: {status}");
    }
    server.shutdown().await;
}

/// The services are listed, and the files of Flight are available.
async fn reflected(channel: tonic::transport::Channel) {
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};
    let service = "arrow.flight.protocol.FlightService".to_owned();
    let asked = [
        MessageRequest::ListServices(String::new()),
        MessageRequest::FileContainingSymbol(service.clone()),
        MessageRequest::FileByFilename("google/protobuf/timestamp.proto".to_owned()),
    ];
    let asked = asked
        .map(|what| ServerReflectionRequest { host: String::new(), message_request: Some(what) });
    let mut client = ServerReflectionClient::new(channel);
    let answers = client.server_reflection_info(stream::iter(asked)).await.unwrap();
    let answers: Vec<ServerReflectionResponse> = answers.into_inner().try_collect().await.unwrap();
    let [services, flight, timestamp] = answers.try_into().unwrap();
    let Some(MessageResponse::ListServicesResponse(services)) = services.message_response else {
        panic!("no list of services")
    };
    let names: Vec<_> = services.service.into_iter().map(|service| service.name).collect();
    assert!(names.contains(&service) && names.contains(&"grpc.health.v1.Health".to_owned()));
    for (file, holds) in [(flight, "FlightDescriptor"), (timestamp, "seconds")] {
        let Some(MessageResponse::FileDescriptorResponse(file)) = file.message_response else {
            panic!("no file that holds {holds}")
        };
        assert!(String::from_utf8_lossy(&file.file_descriptor_proto[0]).contains(holds));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_metrics_and_health() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trips");
    fs::create_dir(&path).unwrap();
    parquet(&path.join("a.parquet"), &[rows(0, 10)]);
    let mut options = options();
    options.metrics_listen = Some(([127, 0, 0, 1], 0).into());
    let server = serve(vec![spec(&path)], options).await;
    let client = client(&server).await;
    parquet(&path.join("b.parquet"), &[rows(10, 10)]);
    assert_eq!(read(&client, &Query::all("trips")).await.unwrap().num_rows(), 10);
    let said = client.action("refresh", Bytes::new()).await.unwrap();
    assert_eq!(said, [Bytes::from_static(b"{\"changed\":true,\"dataset\":\"trips\"}")]);
    assert_eq!(read(&client, &Query::all("trips")).await.unwrap().num_rows(), 20);
    let engines = client.action("engines", Bytes::new()).await.unwrap();
    assert_eq!(engines.len(), arrowsmith::ENGINES.len());
    let health = client.action("health", Bytes::new()).await.unwrap();
    assert!(String::from_utf8_lossy(&health[0]).contains("serving"));
    assert_eq!(
        client.action("nothing", Bytes::new()).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    // The first request of a driver for SQL.
    let name =
        b"type.googleapis.com/arrow.flight.protocol.sql.ActionCreatePreparedStatementRequest";
    // `Any` of Protocol Buffers: the name is field 1.
    let prepare = [&[0x0a, u8::try_from(name.len()).unwrap()], &name[..]].concat();
    let refused = client.action("CreatePreparedStatement", Bytes::from(prepare)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);

    let url = format!("http://{}", server.address());
    let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel.clone());
    let answer =
        health.check(tonic_health::pb::HealthCheckRequest { service: String::new() }).await;
    assert_eq!(answer.unwrap().into_inner().status, 1);
    reflected(channel).await;

    let text = server.metrics().text();
    assert!(
        text.contains("arrowsmith_flight_calls_total{method=\"DoGet\",status=\"Ok\"} "),
        "{text}"
    );
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut page = tokio::net::TcpStream::connect(server.metrics_address().unwrap()).await.unwrap();
    page.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    page.read_to_string(&mut text).await.unwrap();
    assert!(text.contains("arrowsmith_flight_sent_bytes_total"), "{text}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_differ_have_the_columns_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let all = rows(0, 100);
    let names = ["parquet", "arrow"];
    let specs = names.map(|name| {
        let write = if name == "arrow" { ipc } else { parquet };
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        write(&folder.join(format!("1.{name}")), &[all.project(&[0, 2]).unwrap()]);
        write(&folder.join(format!("2.{name}")), std::slice::from_ref(&all));
        Spec::parse(&format!("{name}={}", folder.display()), None).unwrap()
    });
    let server = serve(specs.into(), options()).await;
    let client = client(&server).await;
    for name in names {
        let info = client.info(&Query::all(name)).await.unwrap();
        let schema = info.clone().try_decode_schema().unwrap();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["id", "zone", "fare", "paid", "tags", "kind"]);
        let batches: Vec<_> =
            client.read(info, 1).await.unwrap().map(Result::unwrap).collect().await;
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 200);
        assert!(batches.iter().all(|batch| *batch.schema() == schema));
        let nulls = |batch: &RecordBatch| batch.column(2).null_count();
        assert_eq!(batches.iter().map(nulls).sum::<usize>(), 100 + all.column(1).null_count());
    }
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_stream_is_passed_on() {
    use arrowsmith_publish::{Compression, Layout, Message, Publish, StageTimes, encode};
    let batch = rows(0, 100).project(&[0]).unwrap();
    let options = arrowsmith_publish_flight::FlightOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        ..Default::default()
    };
    let mut sink = arrowsmith_publish_flight::FlightPublish::start(options, "cars", batch.schema())
        .await
        .unwrap();
    let upstream = format!("live=grpc://{}/cars", sink.address());
    let server = serve(vec![Spec::parse(&upstream, None).unwrap()], common::options()).await;
    let client = client(&server).await;
    let info = client.info(&Query::all("live")).await.unwrap();
    assert_eq!(info.clone().try_decode_schema().unwrap(), *batch.schema());
    let mut batches = client.read(info, 1).await.unwrap();
    let message = |sequence| Message {
        stream: "cars".into(),
        schema: batch.schema(),
        payload: encode(&batch, Layout::SelfContained, Compression::None).unwrap(),
        batch: batch.clone(),
        sequence,
        origins: Vec::new(),
        key: None,
        received_at: std::time::SystemTime::UNIX_EPOCH,
        times: StageTimes::begin(std::time::Instant::now()),
    };
    // A subscriber that comes a moment later sees what comes after it.
    let publish = async {
        for sequence in 0.. {
            let _ = sink.publish(&message(sequence)).await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        first = batches.next() => assert_eq!(first.unwrap().unwrap(), batch),
        () = publish => panic!("no batch came"),
    }
    drop(batches);
    let query = Query { limit: Some(3), ..Query::all("live") };
    assert_eq!(client.info(&query).await.unwrap_err().code(), Code::InvalidArgument);
    server.shutdown().await;
}
