// SPDX-License-Identifier: Apache-2.0
//! The Arrow schema of each workload: what a plan for its records is compiled from.
//!
//! A field is nullable if and only if the generator can omit it or write null.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

use crate::Workload;
use crate::mixed::{self, Kind};

pub(crate) fn of(workload: Workload) -> Schema {
    Schema::new(match workload {
        Workload::Battery | Workload::BatteryU64 => vec![list("voltage", DataType::UInt64)],
        Workload::Trip | Workload::TripU64 => trip(),
        Workload::TripFull => trip_full(),
        Workload::Logs => logs(),
        Workload::Lineitem => lineitem(),
        Workload::Taxi => taxi(),
        Workload::MixedUniform
        | Workload::MixedSubsets
        | Workload::MixedOrders
        | Workload::MixedKinds
        | Workload::MixedBursts
        | Workload::MixedUnknown => mixed(&mixed::KEYS, mixed::FEW),
        Workload::MixedKeys200 => mixed(&mixed::KEYS, mixed::MANY),
        Workload::MixedNested => mixed_nested(),
    })
}

fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

fn optional(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn list(name: &str, item: DataType) -> Field {
    required(name, DataType::List(Arc::new(required("item", item))))
}

/// A list of `items` unsigned integers.
fn fixed(name: &str, items: i32) -> Field {
    let item = Arc::new(required("item", DataType::UInt64));
    required(name, DataType::FixedSizeList(item, items))
}

fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(Fields::from(fields))
}

fn trip() -> Vec<Field> {
    vec![
        required("timestamp", DataType::Utf8),
        required("timezone", DataType::UInt64),
        required("odometer", DataType::UInt64),
        required("hypermiling", DataType::Boolean),
        required("avgspeed", DataType::UInt64),
        fixed("sec_in_band", 12),
        fixed("braking", 6),
        fixed("accel", 6),
        required("orientation", DataType::Boolean),
        fixed("small_speed_var", 13),
        fixed("large_speed_var", 13),
    ]
}

fn trip_full() -> Vec<Field> {
    vec![
        required("timestamp", DataType::Utf8),
        required("timezone", DataType::UInt64),
        required("vin", DataType::UInt64),
        required("odometer", DataType::UInt64),
        required("hypermiling", DataType::Boolean),
        required("avgspeed", DataType::UInt64),
        fixed("sec_in_band", 12),
        fixed("miles_in_time_range", 24),
        fixed("const_speed_miles_in_band", 12),
        fixed("vary_speed_miles_in_band", 12),
        fixed("sec_decel", 10),
        fixed("sec_accel", 10),
        fixed("braking", 6),
        fixed("accel", 6),
        required("orientation", DataType::Boolean),
        fixed("small_speed_var", 13),
        fixed("large_speed_var", 13),
        required("accel_decel", DataType::UInt64),
        required("speed_changes", DataType::UInt64),
    ]
}

fn logs() -> Vec<Field> {
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let host = structure(vec![
        required("id", DataType::Utf8),
        required("zone", DataType::Utf8),
        optional("cpu", DataType::Float64),
    ]);
    let service = structure(vec![
        required("name", DataType::Utf8),
        required("version", DataType::Utf8),
        required("host", host),
    ]);
    let http = structure(vec![
        required("method", DataType::Utf8),
        required("path", DataType::Utf8),
        required("status", DataType::Int32),
        required("latency_ms", DataType::Float64),
        optional("bytes", DataType::Int64),
    ]);
    let user = structure(vec![
        required("id", DataType::Int64),
        required("name", DataType::Utf8),
        required("vip", DataType::Boolean),
    ]);
    let error =
        structure(vec![required("code", DataType::Int32), required("detail", DataType::Utf8)]);
    vec![
        required("ts", utc),
        required("level", DataType::Utf8),
        required("service", service),
        optional("trace_id", DataType::Utf8),
        optional("http", http),
        optional("user", user),
        list("tags", DataType::Utf8),
        required("msg", DataType::Utf8),
        optional("err", error),
        required("seq", DataType::Int64),
    ]
}

fn lineitem() -> Vec<Field> {
    vec![
        required("l_orderkey", DataType::Int64),
        required("l_partkey", DataType::Int64),
        required("l_suppkey", DataType::Int64),
        required("l_linenumber", DataType::Int32),
        required("l_quantity", DataType::Float64),
        required("l_extendedprice", DataType::Float64),
        required("l_discount", DataType::Float64),
        required("l_tax", DataType::Float64),
        required("l_returnflag", DataType::Utf8),
        required("l_linestatus", DataType::Utf8),
        required("l_shipdate", DataType::Date32),
        required("l_commitdate", DataType::Date32),
        required("l_receiptdate", DataType::Date32),
        required("l_shipinstruct", DataType::Utf8),
        required("l_shipmode", DataType::Utf8),
        required("l_comment", DataType::Utf8),
    ]
}

fn taxi() -> Vec<Field> {
    let local = DataType::Timestamp(TimeUnit::Microsecond, None);
    vec![
        required("VendorID", DataType::Int32),
        required("tpep_pickup_datetime", local.clone()),
        required("tpep_dropoff_datetime", local),
        optional("passenger_count", DataType::Int64),
        required("trip_distance", DataType::Float64),
        optional("RatecodeID", DataType::Int64),
        optional("store_and_fwd_flag", DataType::Utf8),
        required("PULocationID", DataType::Int32),
        required("DOLocationID", DataType::Int32),
        required("payment_type", DataType::Int64),
        required("fare_amount", DataType::Float64),
        required("extra", DataType::Float64),
        required("mta_tax", DataType::Float64),
        required("tip_amount", DataType::Float64),
        required("tolls_amount", DataType::Float64),
        required("improvement_surcharge", DataType::Float64),
        required("total_amount", DataType::Float64),
        optional("congestion_surcharge", DataType::Float64),
        optional("Airport_fee", DataType::Float64),
    ]
}

/// The first `count` keys.
fn mixed<S: AsRef<str>>(keys: &[S], count: usize) -> Vec<Field> {
    let field = |(place, key): (usize, &S)| {
        let data_type = match Kind::of(place) {
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Text => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
            Kind::Ints => DataType::List(Arc::new(required("item", DataType::Int64))),
        };
        optional(key.as_ref(), data_type)
    };
    keys.iter().take(count).enumerate().map(field).collect()
}

fn mixed_nested() -> Vec<Field> {
    let object = |noun: &&str| {
        let fields = mixed(&mixed::ATTRIBUTES, mixed::ATTRIBUTES.len());
        optional(noun, structure(fields))
    };
    mixed::NOUNS.iter().take(mixed::NESTED).map(object).collect()
}
