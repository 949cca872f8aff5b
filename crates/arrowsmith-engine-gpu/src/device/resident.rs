// SPDX-License-Identifier: Apache-2.0
//! Batches that stay on a device, and their export by the Arrow C Device interface.
//!
//! A batch has one allocation of device memory, which is freed when its last user drops it: the
//! batch, or a consumer that imported an array and calls its release callback. An array may outlive
//! batch, decoder and engine. Device addresses are never dereferenced on the host, and the memory
//! never changes once it is in a batch.

use std::ffi::c_void;
use std::panic::RefUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::transform::MutableArrayData;
use arrow_data::{ArrayData, layout};
use arrow_schema::{DataType, Field, SchemaRef};
use arrowsmith_core::{Error, Result};

use super::{Device, Event, Ptr, Stream, failure, host_len, no_room};

/// Buffers begin at multiples of this.
const ALIGN: u64 = 64;

/// Memory of a device, freed on drop.
#[derive(Debug)]
struct Memory {
    device: Arc<dyn Device>,
    at: Ptr,
    bytes: u64,
    /// The event recorded after the work that fills it.
    event: Option<Box<dyn Event>>,
}

// Its content never changes after the batch is made.
impl RefUnwindSafe for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        self.device.free(self.at, self.bytes);
    }
}

/// A range of device memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub at: Ptr,
    pub bytes: u64,
}

/// An array as data: the layout of Arrow's `ArrayData`, with device addresses in place of buffers.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub data_type: DataType,
    pub len: usize,
    pub null_count: usize,
    pub valid: Option<Part>,
    pub buffers: Vec<Part>,
    pub children: Vec<Tree>,
}

impl Tree {
    /// All parts, this array's first.
    fn parts(&self, into: &mut Vec<Part>) {
        into.extend(self.valid.iter().chain(&self.buffers));
        self.children.iter().for_each(|child| child.parts(into));
    }

    /// The same with other addresses, taken in the order of `parts`.
    pub(crate) fn moved(&mut self, places: &mut impl Iterator<Item = Ptr>) {
        for part in self.valid.iter_mut().chain(&mut self.buffers) {
            part.at = places.next().unwrap_or_default();
        }
        self.children.iter_mut().for_each(|child| child.moved(places));
    }

    fn data(&self, memory: &Arc<Memory>) -> Result<ArrayData> {
        let children =
            self.children.iter().map(|child| child.data(memory)).collect::<Result<Vec<_>>>()?;
        let buffers =
            self.buffers.iter().map(|part| lent(*part, memory)).collect::<Result<Vec<_>>>()?;
        let valid = self.valid.map(|part| lent(part, memory)).transpose()?;
        let builder = ArrayData::builder(self.data_type.clone())
            .len(self.len)
            .null_bit_buffer(valid)
            .null_count(self.null_count)
            .buffers(buffers)
            .child_data(children);
        // SAFETY: the buffers are never read: the array goes only to `export`, which copies their
        // addresses. The null count is given, so that no bit is counted.
        Ok(unsafe { builder.build_unchecked() })
    }

    /// The array on the host, from its buffers in the order of `parts`; validated by Arrow.
    fn fetched(&self, buffers: &mut impl Iterator<Item = Buffer>) -> Result<ArrayData> {
        let mut next = || buffers.next();
        let mut builder = ArrayData::builder(self.data_type.clone()).len(self.len);
        if self.valid.is_some() {
            builder = builder.null_bit_buffer(next());
        }
        for _ in &self.buffers {
            builder = builder.add_buffer(next().unwrap_or_default());
        }
        for child in &self.children {
            builder = builder.add_child_data(child.fetched(buffers)?);
        }
        Ok(builder.build()?)
    }
}

/// A device address as a buffer that must not be read.
fn lent(part: Part, memory: &Arc<Memory>) -> Result<Buffer> {
    let at = usize::try_from(part.at.0).ok().and_then(|at| NonNull::new(at as *mut u8));
    let at = at.ok_or_else(|| failure("gpu: a buffer without a place"))?;
    let owner = Arc::clone(memory) as Arc<dyn arrow_buffer::alloc::Allocation>;
    // SAFETY: `owner` keeps the memory alive; the buffer goes only into `data`, whose arrays are
    // never read on the host.
    Ok(unsafe { Buffer::from_custom_allocation(at, host_len(part.bytes)?, owner) })
}

/// `ArrowDeviceArray` of the Arrow C Device interface. Dropping it releases the array, unless its
/// release callback is null because a consumer has moved it out.
#[derive(Debug)]
#[repr(C)]
pub struct FfiDeviceArray {
    /// The array, whose buffers are on the device.
    pub array: FFI_ArrowArray,
    /// The device's number among those of its type.
    pub device_id: i64,
    /// 1 for the host, 2 for CUDA.
    pub device_type: i32,
    /// The event to wait for before the buffers are read: for CUDA the address of a `cudaEvent_t`,
    /// which lives until the array is released; null if no wait is needed.
    pub sync_event: *mut c_void,
    reserved: [i64; 3],
}

// SAFETY: the array and its event may be used and released from any thread; the address is only
// passed on.
unsafe impl Send for FfiDeviceArray {}

/// `ARROW_DEVICE_CPU`.
const HOST: i32 = 1;

impl FfiDeviceArray {
    /// An array whose buffers are on the host, which has no number.
    pub fn on_host(array: FFI_ArrowArray) -> Self {
        let sync_event = std::ptr::null_mut();
        Self { array, device_id: -1, device_type: HOST, sync_event, reserved: [0; 3] }
    }
}

/// Some consecutive rows, on a device.
#[derive(Debug, Clone)]
pub struct DeviceBatch {
    schema: SchemaRef,
    root: Tree,
    memory: Arc<Memory>,
}

impl DeviceBatch {
    /// Copies arrays from anywhere in device memory into memory of their own. `root` is a structure
    /// of the schema's fields. Earlier work on the stream need not be complete.
    pub(crate) fn keep(
        device: &Arc<dyn Device>,
        stream: &mut dyn Stream,
        schema: &SchemaRef,
        mut root: Tree,
    ) -> Result<Self> {
        let mut parts = Vec::new();
        root.parts(&mut parts);
        let mut memory = reserve(device, &parts)?;
        for (part, place) in parts.iter().zip(places(&memory, &parts)) {
            stream.copy_within(place, part.at, part.bytes)?;
        }
        memory.event = recorded(stream, &parts)?;
        root.moved(&mut places(&memory, &parts));
        Ok(Self { schema: Arc::clone(schema), root, memory: Arc::new(memory) })
    }

    /// Copies a batch from the host.
    ///
    /// # Errors
    /// [`Error::Config`] for columns of views, whose form on a device is not defined; errors of the
    /// device.
    pub fn from_host(
        device: &Arc<dyn Device>,
        stream: &mut dyn Stream,
        batch: &RecordBatch,
    ) -> Result<Self> {
        let data = StructArray::from(batch.clone()).to_data();
        let mut buffers = Vec::new();
        let mut root = tree(&data, &mut buffers)?;
        let mut parts = Vec::new();
        root.parts(&mut parts);
        let mut memory = reserve(device, &parts)?;
        for (buffer, place) in buffers.iter().zip(places(&memory, &parts)) {
            stream.copy_in(place, buffer)?;
        }
        memory.event = recorded(stream, &parts)?;
        root.moved(&mut places(&memory, &parts));
        Ok(Self { schema: batch.schema(), root, memory: Arc::new(memory) })
    }

    /// The schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows.
    pub fn num_rows(&self) -> usize {
        self.root.len
    }

    /// Device memory that it uses, in bytes.
    pub fn device_bytes(&self) -> u64 {
        self.memory.bytes
    }

    /// The device that it is on.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.memory.device
    }

    /// Waits until it is complete.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn wait(&self) -> Result<()> {
        self.memory.event.as_ref().map_or(Ok(()), |event| event.wait())
    }

    /// Copies it to the host.
    ///
    /// # Errors
    /// Errors of the device; arrays that Arrow rejects, which would be a bug of a kernel.
    pub fn to_host(&self) -> Result<RecordBatch> {
        let mut stream = Arc::clone(&self.memory.device).stream()?;
        self.wait()?;
        let mut parts = Vec::new();
        self.root.parts(&mut parts);
        let parts: Vec<_> = parts.iter().map(|part| (part.at, part.bytes)).collect();
        let mut buffers = stream.fetch(&parts)?.into_iter();
        let mut columns = Vec::with_capacity(self.root.children.len());
        for child in &self.root.children {
            columns.push(make_array(child.fetched(&mut buffers)?));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.root.len));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// The schema and the batch as a structure array, for `__arrow_c_device_array__` and its
    /// equivalent in C. The array holds the memory until it is released; no data is copied.
    ///
    /// # Errors
    /// A schema that the C interface does not support, such as a name with a NUL.
    pub fn export(&self) -> Result<(FFI_ArrowSchema, FfiDeviceArray)> {
        let field = Field::new_struct("", self.schema.fields().clone(), false)
            .with_metadata(self.schema.metadata().clone());
        let schema = FFI_ArrowSchema::try_from(&field)?;
        let (device_type, device_id) = self.memory.device.arrow_device();
        let event = self.memory.event.as_ref();
        let array = FfiDeviceArray {
            array: FFI_ArrowArray::new(&self.root.data(&self.memory)?),
            device_id,
            device_type,
            // Lives as long as a buffer holds the memory, and so the array; without buffers no wait
            // is needed.
            sync_event: event.map_or(std::ptr::null_mut(), |event| event.address()),
            reserved: [0; 3],
        };
        Ok((schema, array))
    }
}

/// Memory for parts, one after another.
fn reserve(device: &Arc<dyn Device>, parts: &[Part]) -> Result<Memory> {
    let bytes = parts
        .iter()
        .fold(ALIGN, |sum, part| sum.saturating_add(part.bytes.max(1).next_multiple_of(ALIGN)));
    let at = device.allocate(bytes)?.ok_or_else(|| no_room(bytes))?;
    Ok(Memory { device: Arc::clone(device), at, bytes, event: None })
}

/// The destination of each part.
fn places<'p>(memory: &Memory, parts: &'p [Part]) -> impl Iterator<Item = Ptr> + use<'p> {
    let mut at = memory.at;
    parts.iter().map(move |part| {
        let place = at;
        at = at.offset(part.bytes.max(1).next_multiple_of(ALIGN));
        place
    })
}

/// The event after the work so far; `None` if no buffer would keep it alive.
fn recorded(stream: &mut dyn Stream, parts: &[Part]) -> Result<Option<Box<dyn Event>>> {
    if parts.is_empty() { Ok(None) } else { stream.record() }
}

fn begins_at_zero(data: &ArrayData) -> bool {
    data.offset() == 0
        && data.nulls().is_none_or(|nulls| nulls.offset() == 0)
        && data.child_data().iter().all(begins_at_zero)
}

/// An array of the host as data; its buffers go to `buffers`, in the order of `parts`.
pub(crate) fn tree(data: &ArrayData, buffers: &mut Vec<Buffer>) -> Result<Tree> {
    if begins_at_zero(data) {
        return whole_tree(data, buffers);
    }
    // Without the offset that a slice has.
    let mut whole = MutableArrayData::new(vec![data], false, data.len());
    whole.try_extend(0, 0, data.len())?;
    whole_tree(&whole.freeze(), buffers)
}

fn whole_tree(data: &ArrayData, buffers: &mut Vec<Buffer>) -> Result<Tree> {
    if layout(data.data_type()).variadic {
        let message = "views do not stay on a device; take utf8 or binary";
        return Err(Error::Config(message.to_owned()));
    }
    let mut put = |buffer: &Buffer| {
        buffers.push(buffer.clone());
        Part { at: Ptr(0), bytes: buffer.len() as u64 }
    };
    let valid = data.nulls().map(|nulls| put(nulls.buffer()));
    let parts = data.buffers().iter().map(&mut put).collect();
    let children = data.child_data().iter().map(|child| whole_tree(child, buffers));
    Ok(Tree {
        data_type: data.data_type().clone(),
        len: data.len(),
        null_count: data.null_count(),
        valid,
        buffers: parts,
        children: children.collect::<Result<_>>()?,
    })
}
