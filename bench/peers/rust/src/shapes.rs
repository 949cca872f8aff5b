// SPDX-License-Identifier: Apache-2.0
//! The schemas of the benchmark's workloads, as types. The same fields, types and nullability as
//! the Arrow schema that the benchmark passes; `finish` fails if they differ.

use crate::columns::{Bool, Date, Fixed, Float, Int, Int32, List, Opt, Str, Timestamp, UInt};
use crate::record;

record!(Battery {
    "voltage" voltage: List<UInt>,
});

record!(Trip {
    "timestamp" timestamp: Str,
    "timezone" timezone: UInt,
    "odometer" odometer: UInt,
    "hypermiling" hypermiling: Bool,
    "avgspeed" avgspeed: UInt,
    "sec_in_band" sec_in_band: Fixed<UInt, 12>,
    "braking" braking: Fixed<UInt, 6>,
    "accel" accel: Fixed<UInt, 6>,
    "orientation" orientation: Bool,
    "small_speed_var" small_speed_var: Fixed<UInt, 13>,
    "large_speed_var" large_speed_var: Fixed<UInt, 13>,
});

record!(TripFull {
    "timestamp" timestamp: Str,
    "timezone" timezone: UInt,
    "vin" vin: UInt,
    "odometer" odometer: UInt,
    "hypermiling" hypermiling: Bool,
    "avgspeed" avgspeed: UInt,
    "sec_in_band" sec_in_band: Fixed<UInt, 12>,
    "miles_in_time_range" miles_in_time_range: Fixed<UInt, 24>,
    "const_speed_miles_in_band" const_speed_miles_in_band: Fixed<UInt, 12>,
    "vary_speed_miles_in_band" vary_speed_miles_in_band: Fixed<UInt, 12>,
    "sec_decel" sec_decel: Fixed<UInt, 10>,
    "sec_accel" sec_accel: Fixed<UInt, 10>,
    "braking" braking: Fixed<UInt, 6>,
    "accel" accel: Fixed<UInt, 6>,
    "orientation" orientation: Bool,
    "small_speed_var" small_speed_var: Fixed<UInt, 13>,
    "large_speed_var" large_speed_var: Fixed<UInt, 13>,
    "accel_decel" accel_decel: UInt,
    "speed_changes" speed_changes: UInt,
});

record!(LogHost {
    "id" id: Str,
    "zone" zone: Str,
    "cpu" cpu: Opt<Float>,
});

record!(LogService {
    "name" name: Str,
    "version" version: Str,
    "host" host: LogHost,
});

record!(LogHttp {
    "method" method: Str,
    "path" path: Str,
    "status" status: Int32,
    "latency_ms" latency_ms: Float,
    "bytes" bytes: Opt<Int>,
});

record!(LogUser {
    "id" id: Int,
    "name" name: Str,
    "vip" vip: Bool,
});

record!(LogError {
    "code" code: Int32,
    "detail" detail: Str,
});

record!(Logs {
    "ts" ts: Timestamp,
    "level" level: Str,
    "service" service: LogService,
    "trace_id" trace_id: Opt<Str>,
    "http" http: Opt<LogHttp>,
    "user" user: Opt<LogUser>,
    "tags" tags: List<Str>,
    "msg" msg: Str,
    "err" err: Opt<LogError>,
    "seq" seq: Int,
});

record!(Lineitem {
    "l_orderkey" l_orderkey: Int,
    "l_partkey" l_partkey: Int,
    "l_suppkey" l_suppkey: Int,
    "l_linenumber" l_linenumber: Int32,
    "l_quantity" l_quantity: Float,
    "l_extendedprice" l_extendedprice: Float,
    "l_discount" l_discount: Float,
    "l_tax" l_tax: Float,
    "l_returnflag" l_returnflag: Str,
    "l_linestatus" l_linestatus: Str,
    "l_shipdate" l_shipdate: Date,
    "l_commitdate" l_commitdate: Date,
    "l_receiptdate" l_receiptdate: Date,
    "l_shipinstruct" l_shipinstruct: Str,
    "l_shipmode" l_shipmode: Str,
    "l_comment" l_comment: Str,
});

record!(Taxi {
    "VendorID" vendor_id: Int32,
    "tpep_pickup_datetime" tpep_pickup_datetime: Timestamp,
    "tpep_dropoff_datetime" tpep_dropoff_datetime: Timestamp,
    "passenger_count" passenger_count: Opt<Int>,
    "trip_distance" trip_distance: Float,
    "RatecodeID" ratecode_id: Opt<Int>,
    "store_and_fwd_flag" store_and_fwd_flag: Opt<Str>,
    "PULocationID" pu_location_id: Int32,
    "DOLocationID" do_location_id: Int32,
    "payment_type" payment_type: Int,
    "fare_amount" fare_amount: Float,
    "extra" extra: Float,
    "mta_tax" mta_tax: Float,
    "tip_amount" tip_amount: Float,
    "tolls_amount" tolls_amount: Float,
    "improvement_surcharge" improvement_surcharge: Float,
    "total_amount" total_amount: Float,
    "congestion_surcharge" congestion_surcharge: Opt<Float>,
    "Airport_fee" airport_fee: Opt<Float>,
});

record!(TweetUser {
    "id" id: Int,
    "name" name: Str,
    "screen_name" screen_name: Str,
    "location" location: Str,
    "description" description: Str,
    "url" url: Opt<Str>,
    "protected" protected: Bool,
    "followers_count" followers_count: Int,
    "friends_count" friends_count: Int,
    "listed_count" listed_count: Int,
    "created_at" created_at: Str,
    "favourites_count" favourites_count: Int,
    "utc_offset" utc_offset: Opt<Int32>,
    "time_zone" time_zone: Opt<Str>,
    "geo_enabled" geo_enabled: Bool,
    "verified" verified: Bool,
    "statuses_count" statuses_count: Int,
    "lang" lang: Str,
    "profile_image_url" profile_image_url: Str,
});

record!(TweetHashtag {
    "text" text: Str,
    "indices" indices: List<Int32>,
});

record!(TweetUrl {
    "url" url: Str,
    "expanded_url" expanded_url: Str,
    "display_url" display_url: Str,
    "indices" indices: List<Int32>,
});

record!(TweetMention {
    "screen_name" screen_name: Str,
    "name" name: Str,
    "id" id: Int,
    "indices" indices: List<Int32>,
});

record!(TweetEntities {
    "hashtags" hashtags: List<TweetHashtag>,
    "urls" urls: List<TweetUrl>,
    "user_mentions" user_mentions: List<TweetMention>,
});

record!(Tweet {
    "created_at" created_at: Str,
    "id" id: Int,
    "text" text: Str,
    "source" source: Str,
    "truncated" truncated: Bool,
    "in_reply_to_status_id" in_reply_to_status_id: Opt<Int>,
    "in_reply_to_user_id" in_reply_to_user_id: Opt<Int>,
    "in_reply_to_screen_name" in_reply_to_screen_name: Opt<Str>,
    "user" user: TweetUser,
    "retweet_count" retweet_count: Int,
    "favorite_count" favorite_count: Int,
    "entities" entities: TweetEntities,
    "favorited" favorited: Bool,
    "retweeted" retweeted: Bool,
    "possibly_sensitive" possibly_sensitive: Opt<Bool>,
    "lang" lang: Str,
});

record!(CitmPrice {
    "amount" amount: Int,
    "audienceSubCategoryId" audience_sub_category_id: Int,
    "seatCategoryId" seat_category_id: Int,
});

record!(CitmArea {
    "areaId" area_id: Int,
    "blockIds" block_ids: List<Int>,
});

record!(CitmSeats {
    "areas" areas: List<CitmArea>,
    "seatCategoryId" seat_category_id: Int,
});

record!(Citm {
    "eventId" event_id: Int,
    "id" id: Int,
    "logo" logo: Opt<Str>,
    "name" name: Opt<Str>,
    "prices" prices: List<CitmPrice>,
    "seatCategories" seat_categories: List<CitmSeats>,
    "seatMapImage" seat_map_image: Opt<Str>,
    "start" start: Int,
    "venueCode" venue_code: Str,
});

record!(Canada {
    "type" kind: Str,
    "coordinates" coordinates: List<List<List<Float>>>,
});
