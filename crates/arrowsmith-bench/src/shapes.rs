// SPDX-License-Identifier: Apache-2.0
//! The schemas of the benchmark's inputs, by name: those of the generators and of the public files.
//!
//! The hand-written peers repeat each of these in their own language; the comparison of results
//! detects differences.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrowsmith_workload::Workload;

/// The schema with this name.
pub(crate) fn schema(shape: &str) -> Option<SchemaRef> {
    if let Ok(workload) = shape.parse::<Workload>() {
        let schema = workload.schema();
        let fields = schema.fields().iter().map(|field| numeric_zone(field));
        return Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())));
    }
    let fields = match shape {
        "twitter" => twitter(),
        "citm" => citm(),
        "canada" => canada(),
        _ => return None,
    };
    Some(Arc::new(Schema::new(fields)))
}

/// UTC by its offset: arrow-json knows the names of zones only with a time zone database, which no
/// other code here needs. It is the same time zone, and the values are the same.
fn numeric_zone(field: &Field) -> Field {
    match field.data_type() {
        DataType::Timestamp(unit, Some(zone)) if &**zone == "UTC" => {
            let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
            field.clone().with_data_type(utc)
        }
        _ => field.clone(),
    }
}

fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

fn optional(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(required("item", item)))
}

fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(Fields::from(fields))
}

fn text(name: &str) -> Field {
    required(name, DataType::Utf8)
}

fn int(name: &str) -> Field {
    required(name, DataType::Int64)
}

fn flag(name: &str) -> Field {
    required(name, DataType::Boolean)
}

fn indices() -> Field {
    required("indices", list(DataType::Int32))
}

/// A status of the Twitter API: about half of its keys, those that an analyst would keep.
fn twitter() -> Vec<Field> {
    let hashtag = structure(vec![text("text"), indices()]);
    let url = structure(vec![text("url"), text("expanded_url"), text("display_url"), indices()]);
    let mention = structure(vec![text("screen_name"), text("name"), int("id"), indices()]);
    let entities = structure(vec![
        required("hashtags", list(hashtag)),
        required("urls", list(url)),
        required("user_mentions", list(mention)),
    ]);
    vec![
        text("created_at"),
        int("id"),
        text("text"),
        text("source"),
        flag("truncated"),
        optional("in_reply_to_status_id", DataType::Int64),
        optional("in_reply_to_user_id", DataType::Int64),
        optional("in_reply_to_screen_name", DataType::Utf8),
        required("user", twitter_user()),
        int("retweet_count"),
        int("favorite_count"),
        required("entities", entities),
        flag("favorited"),
        flag("retweeted"),
        optional("possibly_sensitive", DataType::Boolean),
        text("lang"),
    ]
}

fn twitter_user() -> DataType {
    structure(vec![
        int("id"),
        text("name"),
        text("screen_name"),
        text("location"),
        text("description"),
        optional("url", DataType::Utf8),
        flag("protected"),
        int("followers_count"),
        int("friends_count"),
        int("listed_count"),
        text("created_at"),
        int("favourites_count"),
        optional("utc_offset", DataType::Int32),
        optional("time_zone", DataType::Utf8),
        flag("geo_enabled"),
        flag("verified"),
        int("statuses_count"),
        text("lang"),
        text("profile_image_url"),
    ])
}

/// A performance of the CITM catalogue: every key.
fn citm() -> Vec<Field> {
    let price = structure(vec![int("amount"), int("audienceSubCategoryId"), int("seatCategoryId")]);
    let area = structure(vec![int("areaId"), required("blockIds", list(DataType::Int64))]);
    let seats = structure(vec![required("areas", list(area)), int("seatCategoryId")]);
    vec![
        int("eventId"),
        int("id"),
        optional("logo", DataType::Utf8),
        optional("name", DataType::Utf8),
        required("prices", list(price)),
        required("seatCategories", list(seats)),
        optional("seatMapImage", DataType::Utf8),
        int("start"),
        text("venueCode"),
    ]
}

/// A polygon in GeoJSON.
fn canada() -> Vec<Field> {
    vec![text("type"), required("coordinates", list(list(list(DataType::Float64))))]
}
