// SPDX-License-Identifier: Apache-2.0
// The schemas of the benchmark's workloads, as types. The same fields, types and nullability as the
// Arrow schemas that the other engines are given.
#pragma once
#include "columns.h"

using Battery = Struct<Field<"voltage", List<UInt>>>;

using Trip = Struct<
    Field<"timestamp", Str>, Field<"timezone", UInt>, Field<"odometer", UInt>,
    Field<"hypermiling", Bool>, Field<"avgspeed", UInt>, Field<"sec_in_band", FixedList<UInt, 12>>,
    Field<"braking", FixedList<UInt, 6>>, Field<"accel", FixedList<UInt, 6>>,
    Field<"orientation", Bool>, Field<"small_speed_var", FixedList<UInt, 13>>,
    Field<"large_speed_var", FixedList<UInt, 13>>>;

using TripFull = Struct<
    Field<"timestamp", Str>, Field<"timezone", UInt>, Field<"vin", UInt>, Field<"odometer", UInt>,
    Field<"hypermiling", Bool>, Field<"avgspeed", UInt>, Field<"sec_in_band", FixedList<UInt, 12>>,
    Field<"miles_in_time_range", FixedList<UInt, 24>>,
    Field<"const_speed_miles_in_band", FixedList<UInt, 12>>,
    Field<"vary_speed_miles_in_band", FixedList<UInt, 12>>,
    Field<"sec_decel", FixedList<UInt, 10>>, Field<"sec_accel", FixedList<UInt, 10>>,
    Field<"braking", FixedList<UInt, 6>>, Field<"accel", FixedList<UInt, 6>>,
    Field<"orientation", Bool>, Field<"small_speed_var", FixedList<UInt, 13>>,
    Field<"large_speed_var", FixedList<UInt, 13>>, Field<"accel_decel", UInt>,
    Field<"speed_changes", UInt>>;

using LogHost = Struct<Field<"id", Str>, Field<"zone", Str>, Field<"cpu", Opt<Float>>>;
using LogService = Struct<Field<"name", Str>, Field<"version", Str>, Field<"host", LogHost>>;
using LogHttp = Struct<Field<"method", Str>, Field<"path", Str>, Field<"status", Int32>,
                       Field<"latency_ms", Float>, Field<"bytes", Opt<Int>>>;
using LogUser = Struct<Field<"id", Int>, Field<"name", Str>, Field<"vip", Bool>>;
using LogError = Struct<Field<"code", Int32>, Field<"detail", Str>>;
using Logs = Struct<
    Field<"ts", Timestamp>, Field<"level", Str>, Field<"service", LogService>,
    Field<"trace_id", Opt<Str>>, Field<"http", Opt<LogHttp>>, Field<"user", Opt<LogUser>>,
    Field<"tags", List<Str>>, Field<"msg", Str>, Field<"err", Opt<LogError>>, Field<"seq", Int>>;

using Lineitem = Struct<
    Field<"l_orderkey", Int>, Field<"l_partkey", Int>, Field<"l_suppkey", Int>,
    Field<"l_linenumber", Int32>, Field<"l_quantity", Float>, Field<"l_extendedprice", Float>,
    Field<"l_discount", Float>, Field<"l_tax", Float>, Field<"l_returnflag", Str>,
    Field<"l_linestatus", Str>, Field<"l_shipdate", Date>, Field<"l_commitdate", Date>,
    Field<"l_receiptdate", Date>, Field<"l_shipinstruct", Str>, Field<"l_shipmode", Str>,
    Field<"l_comment", Str>>;

using Taxi = Struct<
    Field<"VendorID", Int32>, Field<"tpep_pickup_datetime", Timestamp>,
    Field<"tpep_dropoff_datetime", Timestamp>, Field<"passenger_count", Opt<Int>>,
    Field<"trip_distance", Float>, Field<"RatecodeID", Opt<Int>>,
    Field<"store_and_fwd_flag", Opt<Str>>, Field<"PULocationID", Int32>,
    Field<"DOLocationID", Int32>, Field<"payment_type", Int>, Field<"fare_amount", Float>,
    Field<"extra", Float>, Field<"mta_tax", Float>, Field<"tip_amount", Float>,
    Field<"tolls_amount", Float>, Field<"improvement_surcharge", Float>,
    Field<"total_amount", Float>, Field<"congestion_surcharge", Opt<Float>>,
    Field<"Airport_fee", Opt<Float>>>;

using TweetUser = Struct<
    Field<"id", Int>, Field<"name", Str>, Field<"screen_name", Str>, Field<"location", Str>,
    Field<"description", Str>, Field<"url", Opt<Str>>, Field<"protected", Bool>,
    Field<"followers_count", Int>, Field<"friends_count", Int>, Field<"listed_count", Int>,
    Field<"created_at", Str>, Field<"favourites_count", Int>, Field<"utc_offset", Opt<Int32>>,
    Field<"time_zone", Opt<Str>>, Field<"geo_enabled", Bool>, Field<"verified", Bool>,
    Field<"statuses_count", Int>, Field<"lang", Str>, Field<"profile_image_url", Str>>;
using TweetHashtag = Struct<Field<"text", Str>, Field<"indices", List<Int32>>>;
using TweetUrl = Struct<Field<"url", Str>, Field<"expanded_url", Str>, Field<"display_url", Str>,
                        Field<"indices", List<Int32>>>;
using TweetMention = Struct<Field<"screen_name", Str>, Field<"name", Str>, Field<"id", Int>,
                            Field<"indices", List<Int32>>>;
using TweetEntities = Struct<Field<"hashtags", List<TweetHashtag>>, Field<"urls", List<TweetUrl>>,
                             Field<"user_mentions", List<TweetMention>>>;
using Twitter = Struct<
    Field<"created_at", Str>, Field<"id", Int>, Field<"text", Str>, Field<"source", Str>,
    Field<"truncated", Bool>, Field<"in_reply_to_status_id", Opt<Int>>,
    Field<"in_reply_to_user_id", Opt<Int>>, Field<"in_reply_to_screen_name", Opt<Str>>,
    Field<"user", TweetUser>, Field<"retweet_count", Int>, Field<"favorite_count", Int>,
    Field<"entities", TweetEntities>, Field<"favorited", Bool>, Field<"retweeted", Bool>,
    Field<"possibly_sensitive", Opt<Bool>>, Field<"lang", Str>>;

using CitmPrice = Struct<Field<"amount", Int>, Field<"audienceSubCategoryId", Int>,
                         Field<"seatCategoryId", Int>>;
using CitmArea = Struct<Field<"areaId", Int>, Field<"blockIds", List<Int>>>;
using CitmSeats = Struct<Field<"areas", List<CitmArea>>, Field<"seatCategoryId", Int>>;
using Citm = Struct<
    Field<"eventId", Int>, Field<"id", Int>, Field<"logo", Opt<Str>>, Field<"name", Opt<Str>>,
    Field<"prices", List<CitmPrice>>, Field<"seatCategories", List<CitmSeats>>,
    Field<"seatMapImage", Opt<Str>>, Field<"start", Int>, Field<"venueCode", Str>>;

using Canada = Struct<Field<"type", Str>, Field<"coordinates", List<List<List<Float>>>>>;

// Ten keys that begin alike; the place of a key determines the type of its value.
#define MIXED_FIELDS(noun)                                                                  \
  Field<noun "id", Opt<Int>>, Field<noun "ratio", Opt<Float>>, Field<noun "name", Opt<Str>>, \
      Field<noun "ok", Opt<Bool>>, Field<noun "sizes", Opt<List<Int>>>,                      \
      Field<noun "count", Opt<Int>>, Field<noun "latency_ms", Opt<Float>>,                   \
      Field<noun "description", Opt<Str>>, Field<noun "retried", Opt<Bool>>,                 \
      Field<noun "steps", Opt<List<Int>>>

using Mixed = Struct<MIXED_FIELDS("user_"), MIXED_FIELDS("payment_"), MIXED_FIELDS("request_"),
                     MIXED_FIELDS("order_")>;

using MixedKeys200 = Struct<
    MIXED_FIELDS("user_"), MIXED_FIELDS("payment_"), MIXED_FIELDS("request_"),
    MIXED_FIELDS("order_"), MIXED_FIELDS("session_"), MIXED_FIELDS("db_"), MIXED_FIELDS("cart_"),
    MIXED_FIELDS("inventory_"), MIXED_FIELDS("shipment_"), MIXED_FIELDS("queue_"),
    MIXED_FIELDS("cache_"), MIXED_FIELDS("worker_"), MIXED_FIELDS("subscription_"),
    MIXED_FIELDS("ad_"), MIXED_FIELDS("campaign_"), MIXED_FIELDS("device_"),
    MIXED_FIELDS("network_"), MIXED_FIELDS("gateway_"), MIXED_FIELDS("tls_"),
    MIXED_FIELDS("container_")>;

using MixedObject = Struct<MIXED_FIELDS("")>;
using MixedNested = Struct<
    Field<"user", Opt<MixedObject>>, Field<"payment", Opt<MixedObject>>,
    Field<"request", Opt<MixedObject>>, Field<"order", Opt<MixedObject>>,
    Field<"session", Opt<MixedObject>>, Field<"db", Opt<MixedObject>>,
    Field<"cart", Opt<MixedObject>>, Field<"inventory", Opt<MixedObject>>>;
