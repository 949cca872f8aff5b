# SPDX-License-Identifier: Apache-2.0
"""Reads a topic from its beginning with Pulsar's own client and pyarrow.

Takes a JSON object as its argument; writes the rows of all messages to the Arrow IPC stream `out`, and to standard output
one JSON object per message. Waits for `count` messages, and then a moment for any that should not be there.
"""

import json
import sys

import pulsar
import pyarrow as pa


def main() -> None:
    ask = json.loads(sys.argv[1])
    options = {}
    if ask.get("token"):
        options["authentication"] = pulsar.AuthenticationToken(ask["token"])
    if ask.get("ca_file"):
        options["tls_trust_certs_file_path"] = ask["ca_file"]
    level = pulsar.LoggerLevel.Error
    client = pulsar.Client(ask["url"], logger=pulsar.ConsoleLogger(level), **options)
    for key in ask.get("produce_keys", []):
        producer = client.create_producer(ask["topic"])
        producer.send(b"", partition_key=key)
        producer.close()
    consumer = client.subscribe(
        ask["topic"],
        ask.get("subscription", "read-back"),
        initial_position=pulsar.InitialPosition.Earliest,
    )
    writer = None
    schemas: dict[str, bytes] = {}
    received = 0
    while True:
        try:
            message = consumer.receive(60_000 if received < ask["count"] else 700)
        except pulsar.Timeout:
            break
        received += 1
        consumer.acknowledge(message)
        data, properties, topic = message.data(), message.properties(), message.topic_name()
        rows = None
        if properties.get("arrowsmith.kind") == "schema":
            schemas[topic] = data
        elif properties.get("arrowsmith.kind") == "batch":
            with pa.ipc.open_stream(schemas.get(topic, b"") + data) as reader:
                table = reader.read_all()
            rows = table.num_rows
            if writer is None:
                writer = pa.ipc.new_stream(ask["out"], table.schema)
            writer.write_table(table)
        print(
            json.dumps({
                "topic": topic,
                "key": message.partition_key(),
                "properties": properties,
                "event_time": message.event_timestamp(),
                "bytes": len(data),
                "rows": rows,
                "redelivered": message.redelivery_count(),
            })
        )
    if writer is not None:
        writer.close()
    client.close()


main()
