// SPDX-License-Identifier: Apache-2.0
//! The sink against a real broker, read back by Pulsar's own client and pyarrow.

use arrowsmith_publish::{Layout, Message, Origin, PublishError, StageTimes};
use arrowsmith_publish_pulsar::{
    Batch, Compression, Outgoing, PulsarError, PulsarOptions, PulsarPublish, PulsarSink, Receipt,
    Routing, SchemaMode,
};
use arrowsmith_testkit::pulsar::Broker;
use pulsar::message::proto::ServerError;
use serde_json::json;

use crate::support::{batch, outgoing, payload, schema, settings, start};

fn broker() -> Option<Broker> {
    start("test-sink", 16_650, false)
}

/// Sends batches of ten rows with these sequence numbers, with row ids derived from the number, and
/// returns the confirmations.
async fn send_all(
    sink: &PulsarSink,
    mode: SchemaMode,
    sequences: impl IntoIterator<Item = u64>,
) -> Vec<Receipt> {
    let mut waiting = Vec::new();
    for sequence in sequences {
        let rows = batch(sequence * 10, 10);
        waiting.push(sink.send(outgoing(sequence, payload(&rows, mode))).await.unwrap());
    }
    sink.flush().await.unwrap();
    let mut receipts = Vec::new();
    for receipt in waiting {
        receipts.push(receipt.await.unwrap());
    }
    receipts
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_arrives_in_order_in_every_form() {
    let Some(broker) = broker() else { return };
    for (number, (mode, compression, batched)) in [
        (SchemaMode::Each, Compression::None, false),
        (SchemaMode::First, Compression::None, false),
        (SchemaMode::Each, Compression::Lz4, false),
        (SchemaMode::First, Compression::Zstd, true),
        (SchemaMode::Each, Compression::None, true),
    ]
    .into_iter()
    .enumerate()
    {
        let topic = format!("forms-{number}");
        let mut options = settings(&broker, &topic);
        (options.schema, options.compression) = (mode, compression);
        options.batch = Batch { enabled: batched, messages_max: 7, ..Batch::default() };
        let sink = PulsarSink::open(options, &schema()).await.unwrap();
        assert_eq!(sink.last_sequence(0), None);
        let receipts = send_all(&sink, mode, 0..50).await;
        assert!(receipts.iter().all(|receipt| receipt.place.is_some()), "{receipts:?}");
        sink.close().await;
        let first = usize::from(mode == SchemaMode::First);
        let found = broker.read_back(&topic, 50 + first);
        assert_eq!(found.messages.len(), 50 + first);
        assert_eq!(found.rows(), batch(0, 500));
        let kinds: Vec<&str> = found
            .messages
            .iter()
            .map(|message| message["properties"]["arrowsmith.kind"].as_str().unwrap())
            .collect();
        assert!(kinds[..first].iter().all(|kind| *kind == "schema"));
        assert!(kinds[first..].iter().all(|kind| *kind == "batch"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_properties_and_time_come_along() {
    let Some(broker) = broker() else { return };
    let sink = PulsarSink::open(settings(&broker, "labels"), &schema()).await.unwrap();
    let message = Outgoing {
        key: Some("schlüssel".to_owned()),
        properties: vec![("arrowsmith.sequence".to_owned(), "3".to_owned())],
        event_time_ms: Some(1_700_000_000_123),
        ..outgoing(3, payload(&batch(0, 1), SchemaMode::Each))
    };
    sink.send(message).await.unwrap().await.unwrap();
    sink.close().await;
    let found = broker.read_back("labels", 1);
    let [message] = found.messages.as_slice() else { panic!("{:?}", found.messages) };
    assert_eq!(message["key"], "schlüssel");
    assert_eq!(message["properties"]["arrowsmith.sequence"], "3");
    assert_eq!(message["event_time"], 1_700_000_000_123_u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_filled_in_turn_and_keys_go_where_the_java_client_sends_them() {
    let Some(broker) = broker() else { return };
    let mut options = settings(&broker, "three");
    options.producers = 2;
    let sink = PulsarSink::open(options, &schema()).await.unwrap();
    assert_eq!((sink.partitions(), sink.states().count()), (3, 6));
    for sequence in 0..12 {
        for producer in 0..2 {
            let rows = batch(sequence * 100 + producer as u64, 1);
            let message =
                Outgoing { producer, ..outgoing(sequence, payload(&rows, SchemaMode::Each)) };
            sink.send(message).await.unwrap().await.unwrap();
        }
    }
    let absent = Outgoing { producer: 2, ..outgoing(0, payload(&batch(0, 1), SchemaMode::Each)) };
    assert!(matches!(sink.send(absent).await, Err(PulsarError::Option { .. })));
    sink.close().await;
    let found = broker.read_back("three", 24);
    assert_eq!(found.messages.len(), 24);
    for partition in 0..3 {
        let topic = format!("persistent://public/default/three-partition-{partition}");
        let count = found.messages.iter().filter(|message| message["topic"] == topic).count();
        assert_eq!(count, 8);
    }

    let sink = PulsarSink::open(settings(&broker, "keys"), &schema()).await.unwrap();
    let keys = ["device-7", "polygenelubricants"];
    for (sequence, key) in (0..).zip(keys) {
        let message = Outgoing {
            key: Some(key.to_owned()),
            ..outgoing(sequence, payload(&batch(sequence, 1), SchemaMode::Each))
        };
        sink.send(message).await.unwrap().await.unwrap();
        broker.java_produce("keys", key);
    }
    sink.close().await;
    let found = broker.read_back("keys", 4);
    for key in keys {
        let mut topics =
            found.messages.iter().filter(|message| message["key"] == key).map(|m| &m["topic"]);
        let (first, second) = (topics.next().unwrap(), topics.next().unwrap());
        assert_eq!(first, second, "{key}");
        assert!(topics.next().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_may_keep_to_one_partition_and_so_to_one_order() {
    let Some(broker) = broker() else { return };
    let mut options = settings(&broker, "by-producer");
    (options.producers, options.routing) = (3, Routing::Producer);
    let sink = PulsarSink::open(options, &schema()).await.unwrap();
    for sequence in 0..20 {
        for producer in 0..3 {
            let rows = batch(sequence * 10 + producer as u64, 1);
            let properties = vec![("from".to_owned(), producer.to_string())];
            let message = outgoing(sequence, payload(&rows, SchemaMode::Each));
            sink.send(Outgoing { producer, properties, ..message }).await.unwrap();
        }
    }
    sink.close().await;
    let found = broker.read_back("by-producer", 60);
    assert_eq!(found.messages.len(), 60);
    let ids = found.ids();
    for producer in 0..3_u64 {
        let name = producer.to_string();
        let of = |index: &usize| found.messages[*index]["properties"]["from"] == name.as_str();
        let mine: Vec<usize> = (0..60).filter(of).collect();
        let expected: Vec<u64> = (0..20).map(|sequence| sequence * 10 + producer).collect();
        assert_eq!(mine.iter().map(|&index| ids[index]).collect::<Vec<_>>(), expected);
        let topic = format!("persistent://public/default/by-producer-partition-{}", producer % 2);
        assert!(mine.iter().all(|&index| found.messages[index]["topic"] == topic));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_message_passes_and_a_larger_one_does_not_stop_the_others() {
    let Some(broker) = broker() else { return };
    let sink = PulsarSink::open(settings(&broker, "large"), &schema()).await.unwrap();
    assert_eq!(sink.payload_bytes_max(), (5 << 20) - (10 << 10));
    let small = || payload(&batch(0, 1), SchemaMode::Each);
    // Padded at its end, where a reader of the stream does not look.
    let sized = |bytes: usize| {
        let mut padded = small().to_vec();
        padded.resize(bytes, 0);
        padded.into()
    };
    let first = sink.send(outgoing(0, sized(sink.payload_bytes_max()))).await.unwrap();
    let second = sink.send(outgoing(1, sized(5 << 20))).await.unwrap();
    let third = sink.send(outgoing(2, small())).await.unwrap();
    assert!(first.await.is_ok());
    match second.await {
        Err(PulsarError::TooLarge { bytes, bytes_max }) => {
            assert!(bytes > bytes_max && bytes_max == 5 << 20);
        }
        other => panic!("{other:?}"),
    }
    assert!(third.await.is_ok());
    sink.close().await;
    let found = broker.read_back("large", 2);
    let sizes: Vec<u64> =
        found.messages.iter().map(|message| message["bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [(5 << 20) - (10 << 10), small().len() as u64]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_twice_is_stored_once_also_after_a_restart() {
    let Some(broker) = broker() else { return };
    for batched in [false, true] {
        let topic = format!("twice-{batched}");
        let mut options = settings(&broker, &topic);
        options.batch = Batch { enabled: batched, messages_max: 5, ..Batch::default() };
        let sink = PulsarSink::open(options.clone(), &schema()).await.unwrap();
        send_all(&sink, SchemaMode::Each, 100..120).await;
        // Numbers may have gaps.
        send_all(&sink, SchemaMode::Each, 125..130).await;
        let again = send_all(&sink, SchemaMode::Each, 110..120).await;
        assert!(again.iter().all(|receipt| receipt.place.is_none()), "{again:?}");
        sink.close().await;
        let sink = PulsarSink::open(options, &schema()).await.unwrap();
        assert_eq!(sink.last_sequence(0), Some(129));
        // What a spool would send after a crash: some that the broker has, and some new.
        let receipts = send_all(&sink, SchemaMode::Each, 125..135).await;
        let stored: Vec<bool> = receipts.iter().map(|receipt| receipt.place.is_some()).collect();
        assert_eq!(stored, [vec![false; 5], vec![true; 5]].concat());
        let duplicates: u64 = sink
            .states()
            .map(|state| state.duplicates.load(std::sync::atomic::Ordering::Relaxed))
            .sum();
        assert_eq!(duplicates, 5);
        sink.close().await;
        let expected: Vec<u64> =
            (100..120).chain(125..135).flat_map(|s| s * 10..s * 10 + 10).collect();
        assert_eq!(broker.read_back(&topic, 30).ids(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_begins_with_a_schema_keeps_it() {
    let Some(broker) = broker() else { return };
    let mut options = settings(&broker, "first-three");
    options.schema = SchemaMode::First;
    let sink = PulsarSink::open(options.clone(), &schema()).await.unwrap();
    send_all(&sink, SchemaMode::First, 0..6).await;
    sink.close().await;
    // Again with the same schema: nothing is added.
    let sink = PulsarSink::open(options.clone(), &schema()).await.unwrap();
    send_all(&sink, SchemaMode::First, 6..9).await;
    sink.close().await;
    let found = broker.read_back("first-three", 12);
    assert_eq!(found.messages.len(), 12);
    assert_eq!(found.batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 90);

    let other = batch(0, 1).project(&[0]).unwrap().schema();
    let Err(PulsarError::SchemaMismatch { topic, difference }) =
        PulsarSink::open(options, &other).await
    else {
        panic!("another schema was taken");
    };
    assert!(topic.contains("first-three") && difference.contains("fields"), "{difference}");

    // A topic that others write to.
    broker.read_back_with(json!({"topic": "foreign", "count": 1, "produce_keys": ["k"]}));
    let mut options = settings(&broker, "foreign");
    options.schema = SchemaMode::First;
    let refused = PulsarSink::open(options, &schema()).await;
    assert!(matches!(refused, Err(PulsarError::SchemaMissing { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_pulsar_dropped_is_written_again() {
    let Some(broker) = broker() else { return };
    // A topic whose first message is one of our batches, as when its schema was deleted.
    let sink = PulsarSink::open(settings(&broker, "dropped"), &schema()).await.unwrap();
    send_all(&sink, SchemaMode::Each, 0..2).await;
    sink.close().await;
    let mut options = settings(&broker, "dropped");
    options.schema = SchemaMode::First;
    let sink = PulsarSink::open(options.clone(), &schema()).await.unwrap();
    send_all(&sink, SchemaMode::First, 2..4).await;
    sink.close().await;
    let found = broker.read_back("dropped", 5);
    let kinds: Vec<_> = found
        .messages
        .iter()
        .map(|m| m["properties"]["arrowsmith.kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["batch", "batch", "schema", "batch", "batch"]);
    let other = batch(0, 1).project(&[0]).unwrap().schema();
    let refused = PulsarSink::open(options, &other).await;
    assert!(matches!(refused, Err(PulsarError::SchemaMismatch { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_belongs_to_one_process_at_a_time() {
    let Some(broker) = broker() else { return };
    let options = settings(&broker, "busy");
    let sink = PulsarSink::open(options.clone(), &schema()).await.unwrap();
    // Not permanent: the other may be the one that we replace, not gone yet.
    let hurried = PulsarOptions { connect_timeout_ms: 2_000, ..options.clone() };
    let second = PulsarSink::open(hurried, &schema()).await.err().unwrap();
    assert!(!second.is_permanent(), "{second}");
    sink.close().await;
    PulsarSink::open(options, &schema()).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_pulsar_does_not_take_are_refused_for_good() {
    let Some(broker) = broker() else { return };
    for topic in ["no-tenant/no-namespace/topic", "persistent://public", "nonsense://a/b/c"] {
        let error = PulsarSink::open(settings(&broker, topic), &schema()).await.err().unwrap();
        assert!(matches!(error, PulsarError::Refused { .. }), "{topic}: {error}");
        assert!(error.is_permanent(), "{topic}: {error:?}");
    }
    let missing = ServerError::TopicNotFound;
    assert!(PulsarError::Refused { code: Some(missing), message: String::new() }.is_permanent());
}

/// The service's message, with rows from these connections.
fn message(sequence: u64, connections: &[u64], layout: Layout) -> Message {
    let rows = batch(sequence * 10, 10);
    let origin = |&connection| Origin { connection, first: 1, last: 10, rows: 10 };
    Message {
        stream: "cars".into(),
        schema: rows.schema(),
        payload: arrowsmith_publish::encode(&rows, layout, Default::default()).unwrap(),
        batch: rows,
        sequence,
        origins: connections.iter().map(origin).collect(),
        key: None,
        received_at: std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_234),
        times: StageTimes::begin(std::time::Instant::now()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_publishes_with_what_restores_the_order() {
    let Some(broker) = broker() else { return };
    // The payload comes with or without its schema, and the topic wants it with or without.
    for (mode, layout) in [
        (SchemaMode::Each, Layout::SelfContained),
        (SchemaMode::First, Layout::SelfContained),
        (SchemaMode::First, Layout::BatchOnly),
    ] {
        let stream = format!("service-{mode:?}-{layout:?}");
        let mut options = settings(&broker, "");
        (options.producer_name, options.producers, options.schema) = (String::new(), 2, mode);
        let mut publish =
            PulsarPublish::open(options.clone(), &stream, schema()).await.expect("it opens");
        assert_eq!(publish.message_bytes_max(), (5 << 20) - (10 << 10));
        assert!(publish.needs_payload() && publish.in_flight_max() == 512);
        let mut receipts = Vec::new();
        for sequence in 0..10 {
            let message = message(sequence, &[sequence % 2, 77], layout);
            receipts.push(publish.publish(&message).await.unwrap());
        }
        // Published again while the first may still be on their way, as after a failure.
        for sequence in 3..10 {
            let message = message(sequence, &[sequence % 2, 77], layout);
            receipts.push(publish.publish(&message).await.unwrap());
        }
        publish.flush().await.unwrap();
        for receipt in receipts {
            receipt.await.unwrap();
        }
        publish.close().await.unwrap();
        let schemas = usize::from(mode == SchemaMode::First);
        let found = broker.read_back(&stream, 10 + schemas);
        assert_eq!(found.messages.len(), 10 + schemas);
        for producer in 0..2 {
            // In order for each connection.
            let of = |message: &&serde_json::Value| {
                let origins = message["properties"]["arrowsmith.origins"].as_str();
                origins == Some(&format!("{producer}:1-10,77:1-10"))
            };
            let mine: Vec<&serde_json::Value> = found.messages.iter().filter(of).collect();
            let sequences = mine.iter().map(|message| {
                let property = |name: &str| message["properties"][name].as_str().unwrap();
                assert_eq!(property("arrowsmith.stream"), "cars");
                assert_eq!(property("arrowsmith.rows"), "10");
                assert_eq!(message["event_time"], 1_234);
                property("arrowsmith.sequence").parse::<u64>().unwrap()
            });
            let expected: Vec<u64> = (0..10).filter(|sequence| sequence % 2 == producer).collect();
            assert_eq!(sequences.collect::<Vec<_>>(), expected);
        }
        let mut ids = found.ids();
        ids.sort_unstable();
        assert_eq!(ids, (0..100).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_is_told_what_it_can_do() {
    let Some(broker) = broker() else { return };
    let fatal = |error| matches!(error, PublishError::Fatal(_));
    let mut options = settings(&broker, "told");
    options.producers = 0;
    assert!(fatal(PulsarPublish::open(options, "s", schema()).await.err().unwrap()));
    let mut options = settings(&broker, "told");
    options.url = "pulsar://127.0.0.1:9".to_owned();
    let error = PulsarPublish::open(options, "s", schema()).await.err().unwrap();
    assert!(matches!(error, PublishError::Retry { .. }));

    let mut options = settings(&broker, "told");
    options.schema = SchemaMode::First;
    let mut publish = PulsarPublish::open(options, "s", schema()).await.ok().unwrap();
    let mut large = message(1, &[0], Layout::SelfContained);
    large.payload = vec![0; 5 << 20].into();
    let refused = publish.publish(&large).await.unwrap().await;
    assert!(matches!(refused, Err(PublishError::Refused(_))));
    let mut other = message(2, &[0], Layout::SelfContained);
    other.schema = batch(0, 1).project(&[0]).unwrap().schema();
    assert!(fatal(publish.publish(&other).await.err().unwrap()));
    publish.publish(&message(3, &[0], Layout::SelfContained)).await.unwrap().await.unwrap();
    publish.close().await.unwrap();
}
