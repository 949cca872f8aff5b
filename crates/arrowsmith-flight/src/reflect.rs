// SPDX-License-Identifier: Apache-2.0
//! The description of Flight for the gRPC reflection service, so that `grpcurl` and the like can
//! list and call it without having its files. It describes the protocol (Arrow's `Flight.proto`:
//! names, numbers, types), and does not implement it.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};

const PACKAGE: &str = "arrow.flight.protocol";
const TIMESTAMP: &str = ".google.protobuf.Timestamp";
const TIMESTAMP_FILE: &str = "google/protobuf/timestamp.proto";

/// A field: number, name, type. A message's or an enumeration's name begins with a capital; `*`
/// means repeated.
type Field = (i32, &'static str, &'static str);

const MESSAGES: &[(&str, &[Field])] = &[
    ("HandshakeRequest", &[(1, "protocol_version", "uint64"), (2, "payload", "bytes")]),
    ("HandshakeResponse", &[(1, "protocol_version", "uint64"), (2, "payload", "bytes")]),
    ("BasicAuth", &[(2, "username", "string"), (3, "password", "string")]),
    ("Empty", &[]),
    ("ActionType", &[(1, "type", "string"), (2, "description", "string")]),
    ("Criteria", &[(1, "expression", "bytes")]),
    ("Action", &[(1, "type", "string"), (2, "body", "bytes")]),
    ("CancelFlightInfoRequest", &[(1, "info", "FlightInfo")]),
    ("RenewFlightEndpointRequest", &[(1, "endpoint", "FlightEndpoint")]),
    ("Result", &[(1, "body", "bytes")]),
    ("CancelFlightInfoResult", &[(1, "status", "CancelStatus")]),
    ("SchemaResult", &[(1, "schema", "bytes")]),
    (
        "FlightDescriptor",
        &[
            (1, "type", "FlightDescriptor.DescriptorType"),
            (2, "cmd", "bytes"),
            (3, "path", "*string"),
        ],
    ),
    (
        "FlightInfo",
        &[
            (1, "schema", "bytes"),
            (2, "flight_descriptor", "FlightDescriptor"),
            (3, "endpoint", "*FlightEndpoint"),
            (4, "total_records", "int64"),
            (5, "total_bytes", "int64"),
            (6, "ordered", "bool"),
            (7, "app_metadata", "bytes"),
        ],
    ),
    (
        "PollInfo",
        &[
            (1, "info", "FlightInfo"),
            (2, "flight_descriptor", "FlightDescriptor"),
            (3, "progress", "double"),
            (4, "expiration_time", TIMESTAMP),
        ],
    ),
    (
        "FlightEndpoint",
        &[
            (1, "ticket", "Ticket"),
            (2, "location", "*Location"),
            (3, "expiration_time", TIMESTAMP),
            (4, "app_metadata", "bytes"),
        ],
    ),
    ("Location", &[(1, "uri", "string")]),
    ("Ticket", &[(1, "ticket", "bytes")]),
    (
        "FlightData",
        &[
            (1, "flight_descriptor", "FlightDescriptor"),
            (2, "data_header", "bytes"),
            (3, "app_metadata", "bytes"),
            (1000, "data_body", "bytes"),
        ],
    ),
    ("PutResult", &[(1, "app_metadata", "bytes")]),
];

const CANCEL_STATUS: &[&str] = &[
    "CANCEL_STATUS_UNSPECIFIED",
    "CANCEL_STATUS_CANCELLED",
    "CANCEL_STATUS_CANCELLING",
    "CANCEL_STATUS_NOT_CANCELLABLE",
];
const DESCRIPTOR_TYPE: &[&str] = &["UNKNOWN", "PATH", "CMD"];

/// The methods: name, request, response; `*` means a stream.
const METHODS: &[(&str, &str, &str)] = &[
    ("Handshake", "*HandshakeRequest", "*HandshakeResponse"),
    ("ListFlights", "Criteria", "*FlightInfo"),
    ("GetFlightInfo", "FlightDescriptor", "FlightInfo"),
    ("PollFlightInfo", "FlightDescriptor", "PollInfo"),
    ("GetSchema", "FlightDescriptor", "SchemaResult"),
    ("DoGet", "Ticket", "*FlightData"),
    ("DoPut", "*FlightData", "*PutResult"),
    ("DoExchange", "*FlightData", "*FlightData"),
    ("DoAction", "Action", "*Result"),
    ("ListActions", "Empty", "*ActionType"),
];

/// Flight, and the files that it imports.
pub(crate) fn descriptors() -> FileDescriptorSet {
    let mut messages: Vec<_> =
        MESSAGES.iter().map(|(name, fields)| message(name, fields)).collect();
    for message in messages.iter_mut().filter(|message| message.name() == "FlightDescriptor") {
        message.enum_type.push(enumeration("DescriptorType", DESCRIPTOR_TYPE));
    }
    let methods = METHODS.iter().map(|(name, input, output)| MethodDescriptorProto {
        name: Some((*name).to_owned()),
        input_type: Some(full(input.trim_start_matches('*'))),
        output_type: Some(full(output.trim_start_matches('*'))),
        client_streaming: Some(input.starts_with('*')),
        server_streaming: Some(output.starts_with('*')),
        ..MethodDescriptorProto::default()
    });
    let service = ServiceDescriptorProto {
        name: Some("FlightService".to_owned()),
        method: methods.collect(),
        ..ServiceDescriptorProto::default()
    };
    let flight = FileDescriptorProto {
        dependency: vec![TIMESTAMP_FILE.to_owned()],
        enum_type: vec![enumeration("CancelStatus", CANCEL_STATUS)],
        service: vec![service],
        ..file("Flight.proto", PACKAGE, messages)
    };
    let timestamp = message("Timestamp", &[(1, "seconds", "int64"), (2, "nanos", "int32")]);
    let timestamp = file(TIMESTAMP_FILE, "google.protobuf", vec![timestamp]);
    FileDescriptorSet { file: vec![timestamp, flight] }
}

fn file(name: &str, package: &str, messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some(package.to_owned()),
        message_type: messages,
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn message(name: &str, fields: &[Field]) -> DescriptorProto {
    DescriptorProto {
        name: Some(name.to_owned()),
        field: fields.iter().map(field).collect(),
        ..DescriptorProto::default()
    }
}

fn field(&(number, name, kind): &Field) -> FieldDescriptorProto {
    let label = if kind.starts_with('*') { Label::Repeated } else { Label::Optional };
    let kind = kind.trim_start_matches('*');
    let (scalar, named) = match kind {
        "bool" => (Type::Bool, None),
        "bytes" => (Type::Bytes, None),
        "double" => (Type::Double, None),
        "int32" => (Type::Int32, None),
        "int64" => (Type::Int64, None),
        "string" => (Type::String, None),
        "uint64" => (Type::Uint64, None),
        "CancelStatus" | "FlightDescriptor.DescriptorType" => (Type::Enum, Some(full(kind))),
        _ => (Type::Message, Some(full(kind))),
    };
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(scalar.into()),
        type_name: named,
        ..FieldDescriptorProto::default()
    }
}

fn enumeration(name: &str, values: &[&str]) -> EnumDescriptorProto {
    let values = (0..).zip(values).map(|(number, name)| EnumValueDescriptorProto {
        name: Some((*name).to_owned()),
        number: Some(number),
        options: None,
    });
    EnumDescriptorProto {
        name: Some(name.to_owned()),
        value: values.collect(),
        ..EnumDescriptorProto::default()
    }
}

/// The name of a type as descriptors refer to it.
fn full(name: &str) -> String {
    if name.starts_with('.') { name.to_owned() } else { format!(".{PACKAGE}.{name}") }
}
