// SPDX-License-Identifier: Apache-2.0
//! A schema made ready for the parsers: its plan, the engine, and the options of a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith::{Chain, Engine};
use arrowsmith_core::{DecodeOptions, Error, OnError, Result, UnknownKeys};
use arrowsmith_json::infer::Watch;
use arrowsmith_plan::Plan;

use crate::config::{LayoutConfig, LimitsConfig, OnErrorConfig, OrderConfig, StreamConfig};
use crate::width::Width;

/// Columns with the order of records, with [`OrderConfig::Column`].
pub(crate) const ORDER_COLUMNS: [&str; 2] = ["_connection", "_sequence"];

/// A schema, made ready.
pub(crate) struct Compiled {
    /// Different for each that is made.
    pub(crate) number: u64,
    pub(crate) plan: Arc<Plan>,
    pub(crate) engine: Chain,
    pub(crate) options: DecodeOptions,
    /// Schema of the messages: that of the plan, and the columns with the order of records.
    pub(crate) schema: SchemaRef,
    /// Arrow data that its records may need, and are granted.
    pub(crate) width: Width,
    /// Whether it is inferred and grows, see `auto`.
    pub(crate) grows: bool,
    /// What the decoder accepts although the schema has to grow for it.
    pub(crate) watch: Option<Watch>,
}

impl Compiled {
    /// The schema that is named, or that of a stream that has received nothing yet.
    pub(crate) fn new(config: &StreamConfig, limits: &LimitsConfig) -> Result<Self> {
        Self::of(config, limits, config.plan()?, None)
    }

    /// For a plan.
    pub(crate) fn of(
        config: &StreamConfig,
        limits: &LimitsConfig,
        plan: Plan,
        watch: Option<Watch>,
    ) -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let plan = Arc::new(plan);
        let grows = config.is_auto();
        let engine = config.read.open_engine()?;
        let mut options = config.read.decode();
        options.on_error = match config.on_error {
            OnErrorConfig::Reject => OnError::Skip,
            OnErrorConfig::Null => OnError::Null,
        };
        if grows {
            options.unknown_keys = UnknownKeys::Error;
        }
        options.limits = options
            .limits
            .with_depth_max(limits.depth)
            .with_record_bytes_max(limits.record_bytes.0);
        if options.on_error == OnError::Skip && engine.decoder(&plan, &options).is_err() {
            // An engine that can only stop at a bad record: the parsers continue after it.
            options.on_error = OnError::Fail;
        }
        // So that options that the engine does not support are reported now.
        engine.decoder(&plan, &options)?;
        let schema = match config.order {
            OrderConfig::Metadata => Arc::clone(plan.schema()),
            OrderConfig::Column => with_order(plan.schema())?,
        };
        let serialized = config.sinks.iter().any(|sink| sink.needs().payload);
        if serialized && config.layout == LayoutConfig::BatchOnly && has_dictionaries(&schema) {
            let message = "layout: a message of a batch alone has no place for dictionaries";
            return Err(Error::Config(message.to_owned()));
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let width = Width::of(&schema).with_nulls(&plan, options.on_error);
        Ok(Self { number, plan, engine, options, schema, width, grows, watch })
    }
}

/// Whether a schema has dictionaries, at any depth.
fn has_dictionaries(schema: &Schema) -> bool {
    let mut fields = schema.flattened_fields().into_iter();
    fields.any(|field| matches!(field.data_type(), DataType::Dictionary(..)))
}

fn with_order(schema: &SchemaRef) -> Result<SchemaRef> {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for name in ORDER_COLUMNS {
        if schema.column_with_name(name).is_some() {
            return Err(Error::Config(format!("order: the schema has a field {name} already")));
        }
        fields.push(Arc::new(Field::new(name, DataType::UInt64, false)));
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}
