// SPDX-License-Identifier: Apache-2.0
//! The engine whose batches stay on the device, for readers that handle threads, order and errors
//! and never look into a batch.
//!
//! Its decoders return stand-ins: batches without columns, of the same number of rows, with a
//! number in their metadata by which the batch on the device is claimed. An unclaimed batch is
//! freed with the engine.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, Report, Result};
use arrowsmith_engine::{Answer, Chain, Engine};
use arrowsmith_plan::Plan;

use super::DeviceDecoder;
use crate::GpuEngine;
use crate::device::failure;
use crate::device::resident::DeviceBatch;

/// The key of the number in a stand-in's metadata.
const KEY: &str = "arrowsmith.device_batch";

/// The engine `gpu`, whose decoders return stand-ins for batches that stay on the device. Its
/// readers must not change the size of batches.
#[derive(Debug, Clone)]
pub struct ResidentEngine {
    engine: GpuEngine,
    kept: Arc<Kept>,
}

/// Batches that are not claimed yet.
#[derive(Debug, Default)]
struct Kept {
    next: AtomicU64,
    batches: Mutex<HashMap<String, DeviceBatch>>,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, DeviceBatch>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResidentEngine {
    /// Of an engine, whose device and limits it shares.
    pub fn new(engine: GpuEngine) -> Self {
        Self { engine, kept: Arc::default() }
    }

    /// The batch that a stand-in represents, once.
    ///
    /// # Errors
    /// If it is not a stand-in of this engine, or was claimed before.
    pub fn claim(&self, stand_in: &RecordBatch) -> Result<DeviceBatch> {
        let schema = stand_in.schema();
        let number = schema.metadata().get(KEY);
        let batch = number.and_then(|number| self.kept.lock().remove(number));
        batch.ok_or_else(|| failure("gpu: this batch stands for none on the device"))
    }
}

impl Engine for ResidentEngine {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn check_json(&self, _plan: &Plan, _options: &DecodeOptions) -> Answer<()> {
        // What the kernels do not decode, the host does.
        Ok(())
    }

    fn json(
        &self,
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        rest: &Chain,
    ) -> Answer<Box<dyn Decoder>> {
        let decoder = self.engine.device_decoder(plan, options, rest)?;
        Ok(Box::new(StandIns { decoder, kept: Arc::clone(&self.kept), batches: VecDeque::new() }))
    }

    fn chunk_bytes(&self) -> Option<usize> {
        self.engine.chunk_bytes()
    }
}

struct StandIns {
    decoder: DeviceDecoder,
    kept: Arc<Kept>,
    /// The batches not yet returned.
    batches: VecDeque<DeviceBatch>,
}

impl Decoder for StandIns {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let decoded = self.decoder.decode(chunk);
        self.batches.extend(self.decoder.take());
        decoded
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(DeviceBatch::num_rows).sum()
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.pop_front() else { return Ok(None) };
        let number = self.kept.next.fetch_add(1, Ordering::Relaxed).to_string();
        let metadata = HashMap::from([(KEY.to_owned(), number.clone())]);
        let schema = Arc::new(Schema::empty().with_metadata(metadata));
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let stand_in = RecordBatch::try_new_with_options(schema, Vec::new(), &rows)?;
        self.kept.lock().insert(number, batch);
        Ok(Some(stand_in))
    }

    fn schema(&self) -> SchemaRef {
        self.decoder.schema()
    }
}
