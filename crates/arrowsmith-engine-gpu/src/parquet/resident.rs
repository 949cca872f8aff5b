// SPDX-License-Identifier: Apache-2.0
//! Row groups as batches that stay on the device.
//!
//! Columns without ancestors are decoded in place. All others, and doubtful ones, are decoded to
//! the host, by the engine that decodes them, and copied to the device.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::DataType;
use arrowsmith_core::{Error, Result};
use arrowsmith_engine::{Chain, ColumnRequest};
use arrowsmith_parquet::nest::Nest;
use arrowsmith_parquet::{Budget, Column, File, ReadOptions, ReadPlan};

use super::chunk::{Halt, Queued, Read, Run};
use super::pages::Host;
use super::shape::Shape;
use super::{Columns, FieldDecoder};
use crate::device::lanes::Lane;
use crate::device::memory::Refused;
use crate::device::resident::{DeviceBatch, Tree, tree};

impl Columns {
    /// A row group as a batch that stays on the device; see
    /// [`GpuEngine`](crate::GpuEngine::device_batch).
    pub(crate) fn device_batch(
        self: &Arc<Self>,
        file: &File,
        row_group: usize,
        plan: &ReadPlan,
        options: &ReadOptions,
        rest: &Chain,
    ) -> Result<DeviceBatch> {
        let mut leased = self.lanes.lease()?;
        let lane = leased.lane()?;
        let batch = self.in_lane(lane, file, row_group, plan, (options, rest));
        lane.arena.reset(lane.stream.as_mut())?;
        batch
    }

    fn in_lane(
        self: &Arc<Self>,
        lane: &mut Lane,
        file: &File,
        row_group: usize,
        plan: &ReadPlan,
        (options, rest): (&ReadOptions, &Chain),
    ) -> Result<DeviceBatch> {
        let rows = file.row_group_rows(row_group)?;
        let mut run = Run::new(lane, &self.options);
        let mut steps = Vec::with_capacity(plan.fields.len());
        for column in &plan.fields {
            steps.push(self.begin(&mut run, file, row_group, column, rows, options)?);
        }
        let is_unpacked = here(unpack(&mut run, &steps))?.is_some();
        let queued = steps.into_iter().map(|step| step.queued(&mut run, is_unpacked));
        let queued = queued.collect::<Result<Vec<_>>>()?;
        // The device is waited for once, after the work of all columns.
        let notes: Vec<_> = queued.iter().flatten().flat_map(Queued::notes).collect();
        let mut notes = lane.stream.fetch(&notes)?.into_iter();
        let mut children = Vec::with_capacity(plan.fields.len());
        for (column, queued) in plan.fields.iter().zip(queued) {
            let here = queued.and_then(|queued| queued.tree(&notes.next()?, &notes.next()?));
            children.push(match here.filter(|tree| tree.len == rows) {
                Some(tree) => {
                    self.count_on_device();
                    tree
                }
                None => {
                    let request = ColumnRequest {
                        file,
                        row_group,
                        column,
                        selection: None,
                        batch_rows: rows,
                        options,
                        budget: &Budget::unbounded(),
                    };
                    let array = FieldDecoder::new(self, &request, rest)?.next(rows)?;
                    upload(lane, array.as_ref())?
                }
            });
        }
        let root = Tree {
            data_type: DataType::Struct(plan.schema.fields().clone()),
            len: rows,
            null_count: 0,
            valid: None,
            buffers: Vec::new(),
            children,
        };
        DeviceBatch::keep(lane.arena.device(), lane.stream.as_mut(), &plan.schema, root)
    }

    /// Reads a column that is decoded in place. Those with compressed pages wait for each other, so
    /// that all of these are decompressed at once; others are decoded while the next one is read.
    fn begin(
        &self,
        run: &mut Run<'_>,
        file: &File,
        row_group: usize,
        column: &Column,
        rows: usize,
        options: &ReadOptions,
    ) -> Result<Step> {
        let Some(shape) = flat(column).filter(|_| rows > 0) else { return Ok(Step::Elsewhere) };
        let check = options.verify_checksums;
        let host = Host::read(run, file, row_group, &shape, &(0..rows), check);
        let step = host.and_then(|host| Read::new(run, shape, host)).and_then(|read| {
            Ok(if read.is_packed() { Step::Read(read) } else { Step::Queued(read.queue(run)?) })
        });
        Ok(here(step)?.unwrap_or(Step::Elsewhere))
    }
}

/// A column of a row group.
enum Step {
    /// It has to be decoded to the host.
    Elsewhere,
    /// It has pages to decompress.
    Read(Read),
    Queued(Queued),
}

impl Step {
    /// Its work; `None` if it has to be decoded to the host.
    fn queued(self, run: &mut Run<'_>, is_unpacked: bool) -> Result<Option<Queued>> {
        match self {
            Self::Read(read) if is_unpacked => here(read.queue(run)),
            Self::Queued(queued) => Ok(Some(queued)),
            _ => Ok(None),
        }
    }
}

/// Decompresses all pages.
fn unpack(run: &mut Run<'_>, steps: &[Step]) -> Result<(), Halt> {
    let reads = steps.iter().filter_map(|step| match step {
        Step::Read(read) => Some(read),
        _ => None,
    });
    Ok(Read::unpack(run, &reads.collect::<Vec<_>>())?)
}

/// What was done; `None` if another engine has to do it.
fn here<T>(done: Result<T, Halt>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Halt::TooLarge | Halt::Unsure) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// The shape of a column that the device decodes to its final type.
fn flat(column: &Column) -> Option<Shape> {
    let Column::Leaf(_) = column else { return None };
    super::check(column).ok()?;
    let nest = Nest::new(column).ok()?;
    let shape = Shape::new(nest.leaves.first()?).ok()?;
    (shape.keys.is_none() && shape.made == shape.data_type).then_some(shape)
}

/// Copies an array into the arena.
fn upload(lane: &mut Lane, array: &dyn Array) -> Result<Tree> {
    let mut buffers = Vec::new();
    let mut made = tree(&array.to_data(), &mut buffers)?;
    let mut places = Vec::with_capacity(buffers.len());
    for buffer in &buffers {
        let bytes = buffer.len() as u64;
        let at = lane.arena.take(bytes).map_err(|refused| match refused {
            Refused::Bound => Error::Config(
                "the row group is larger than memory_bytes_max of the device".to_owned(),
            ),
            Refused::Device(error) => error,
        })?;
        lane.arena.fence(lane.stream.as_mut(), at, bytes)?;
        lane.stream.copy_in(at, buffer)?;
        places.push(at);
    }
    made.moved(&mut places.into_iter());
    Ok(made)
}
