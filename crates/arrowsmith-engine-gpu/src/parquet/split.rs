// SPDX-License-Identifier: Apache-2.0
//! Pages that many blocks of threads decode, where one block per page would leave most of a device
//! idle: which they are, and the kernels that find the chains of their elements
//! (`kernels/parquet/chain.cuh`).

use super::chunk::Run;
use super::frame::{Block, Frame};
use super::pages::Codec;
use crate::GpuOptions;
use crate::abi::*;
use crate::device::Ptr;
use crate::device::memory::Refused;

/// No earlier block; `NONE` of the kernels.
const NONE: u32 = u32::MAX;

/// Threads of a warp.
const WARP: u64 = 32;

/// Positions of a segment for each thread of a block: `EACH` of the kernels.
pub(super) const EACH: u64 = 16;

/// Output bytes of Snappy that compressors make without a reference to earlier ones: `UNIT` of the
/// kernels.
pub(super) const UNIT: u64 = 64 << 10;

/// Chains of pages, before they are on the device.
#[derive(Default)]
pub(super) struct Chains {
    tasks: Vec<ChainTask>,
    /// The chain of each segment, and of each unit.
    owners: Vec<u32>,
    unit_owners: Vec<u32>,
    /// Positions of all.
    room: u64,
}

/// Which pages are split.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    bytes_min: u64,
    room_max: u64,
}

impl Rule {
    /// The rule for a chunk; `None` if it has enough pages to keep a device busy.
    pub fn new(options: &GpuOptions, pages: usize) -> Option<Self> {
        let room_max = options.memory_bytes_max / 4 / 8;
        let few = (pages as u64) < options.split_pages_max;
        few.then_some(Self { bytes_min: options.split_bytes_min, room_max })
    }
}

impl Chains {
    /// Splits this page, if it is large enough and there is memory: the number of its chain.
    pub fn add(
        &mut self,
        rule: Option<Rule>,
        segment: u64,
        form: ChainForm,
        room: u64,
    ) -> Option<usize> {
        let Rule { bytes_min, room_max } = rule?;
        if room <= bytes_min || self.room + room > room_max {
            return None;
        }
        let number = u32::try_from(self.tasks.len()).ok()?;
        let segments = room.div_ceil(segment);
        self.tasks.push(ChainTask {
            form: form as u64,
            room,
            segment: self.owners.len() as u64,
            segments,
            unit: self.unit_owners.len() as u64,
            ..ChainTask::default()
        });
        self.owners.extend((0..segments).map(|_| number));
        self.room += room;
        Some(self.tasks.len() - 1)
    }

    /// The chain of this number.
    pub fn get(&mut self, number: usize) -> Option<&mut ChainTask> {
        self.tasks.get_mut(number)
    }

    /// The chain of a compressed page.
    fn add_packed(&mut self, rule: Option<Rule>, segment: u64, task: &UnpackTask) -> Option<usize> {
        let number = self.add(rule, segment, ChainForm::Snappy, task.from_len)?;
        let chain = self.tasks.get_mut(number)?;
        (chain.from, chain.from_len) = (task.from, task.from_len);
        (chain.to, chain.want, chain.bad) = (task.to, task.to_len, task.bad);
        let owner = u32::try_from(number).ok()?;
        self.unit_owners.extend((0..task.to_len.div_ceil(UNIT)).map(|_| owner));
        Some(number)
    }

    /// Whether no page is split.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Memory for the chains.
    pub fn place(&self, run: &mut Run<'_>) -> Result<Ptr, Refused> {
        run.take(self.tasks.len() * ChainTask::BYTES)
    }

    /// Copies the chains to their memory, and finds the first element of every segment.
    pub fn walk(
        mut self,
        run: &mut Run<'_>,
        at: Ptr,
        (words, lens): (Ptr, Ptr),
    ) -> Result<Walked, Refused> {
        let exits = run.take(usize::try_from(self.room * 8).unwrap_or(usize::MAX))?;
        let mut room = 0;
        for task in &mut self.tasks {
            task.exits = exits.offset(room * 8).0;
            room += task.room;
        }
        run.copy_in(at, &bytes_of(&self.tasks))?;
        let numbers = |owners: &[u32]| -> Vec<u8> {
            owners.iter().flat_map(|owner| owner.to_le_bytes()).collect()
        };
        let segments = self.owners.len();
        let entries = run.take(segments * 8)?;
        run.fill(entries, 0xFF, segments * 8)?;
        let args = ChainArgs {
            tasks: at,
            task_count: self.tasks.len() as u64,
            owners: run.put(&numbers(&self.owners))?,
            unit_owners: run.put(&numbers(&self.unit_owners))?,
            entries,
            before: run.take(segments * 8)?,
            units: run.take(self.unit_owners.len() * 8)?,
            words,
            lens,
        };
        let blocks = run.blocks(args.task_count);
        run.launch(CHAIN_BEGIN, blocks, &args)?;
        run.launch(CHAIN_MAP, segments as u64, &args)?;
        run.launch(CHAIN_WALK, blocks, &args)?;
        let units = self.unit_owners.len() as u64;
        Ok(Walked { args, segments: segments as u64, units })
    }
}

/// Chains whose segments can be decoded.
pub(super) struct Walked {
    args: ChainArgs,
    segments: u64,
    units: u64,
}

impl Walked {
    /// Finds strings.
    pub fn strings(&self, run: &mut Run<'_>) -> Result<(), Refused> {
        run.launch(STRING_PLACES, self.segments, &self.args)
    }

    /// Decompresses units.
    fn units(&self, run: &mut Run<'_>) -> Result<(), Refused> {
        run.launch(SNAPPY_CUTS, self.segments, &self.args)?;
        run.launch(UNPACK_UNITS, self.units, &self.args)
    }
}

/// Decompresses the pages that are split, before the others: their tasks then name their chains.
pub(super) fn unpack(
    run: &mut Run<'_>,
    codec: Codec,
    frames: &[Option<&Frame>],
    tasks: &mut [UnpackTask],
) -> Result<(), Refused> {
    // Of Zstandard any number: a warp reads a block, where a block of threads reads a page.
    let pages = if codec == Codec::Zstd { 0 } else { tasks.len() };
    let Some(rule) = Rule::new(run.options, pages) else { return Ok(()) };
    match codec {
        Codec::Snappy => snappy(run, rule, tasks),
        Codec::Zstd => zstd(run, rule, frames, tasks),
    }
}

/// The address of a chain among others.
fn address(at: Ptr, number: usize) -> u64 {
    at.offset((number * ChainTask::BYTES) as u64).0
}

fn snappy(run: &mut Run<'_>, rule: Rule, tasks: &mut [UnpackTask]) -> Result<(), Refused> {
    let segment = run.segment();
    let mut chains = Chains::default();
    let added: Vec<_> =
        tasks.iter().map(|task| chains.add_packed(Some(rule), segment, task)).collect();
    if chains.is_empty() {
        return Ok(());
    }
    let at = chains.place(run)?;
    for (task, number) in tasks.iter_mut().zip(added) {
        task.chain = number.map_or(0, |number| address(at, number));
    }
    chains.walk(run, at, (Ptr(0), Ptr(0)))?.units(run)
}

fn zstd(
    run: &mut Run<'_>,
    rule: Rule,
    of_tasks: &[Option<&Frame>],
    tasks: &mut [UnpackTask],
) -> Result<(), Refused> {
    // Each frame with the number of its task; and the scratch memory of all.
    let mut frames = Vec::new();
    let (mut literals, mut sequences, mut blocks) = (0, 0, 0);
    for (number, frame) in of_tasks.iter().enumerate() {
        let Some(frame) = frame else { continue };
        let scratch = frame.blocks.iter().map(Block::scratch_bytes);
        let (more, further) = scratch.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let bytes = literals + more + sequences + further;
        if bytes as u64 > rule.room_max * 8 {
            continue;
        }
        literals += more;
        sequences += further;
        blocks += frame.blocks.len();
        frames.push((number, frame));
    }
    if frames.is_empty() {
        return Ok(());
    }
    let at = run.take(frames.len() * ChainTask::BYTES)?;
    let mut literals = run.take(literals)?;
    let mut sequences = run.take(sequences)?;
    let mut chains = Vec::with_capacity(frames.len());
    // Bounded: by the blocks found in the pages' bytes.
    let mut all = Vec::with_capacity(blocks);
    for (number, frame) in &frames {
        let (chain, first) = (address(at, chains.len()), all.len());
        let task = &mut tasks[*number];
        task.chain = chain;
        chains.push(ChainTask {
            form: ChainForm::Zstd as u64,
            to: task.to,
            want: task.to_len,
            per_block: frame.block_bytes_max as u64,
            segment: first as u64,
            segments: frame.blocks.len() as u64,
            ..ChainTask::default()
        });
        let earlier = |from: Option<usize>| from.map_or(u64::from(NONE), |b| (first + b) as u64);
        for block in &frame.blocks {
            all.push(ZstdBlock {
                chain,
                from: task.from + block.from as u64,
                size: block.size as u64,
                kind: block.kind,
                literals: literals.0,
                literal_count: block.literal_count as u64,
                literal_bytes: block.literal_bytes as u64,
                sequences: sequences.0,
                sequence_count: block.sequence_count as u64,
                tree_from: earlier(block.tree_from),
                lengths_from: earlier(block.tables_from[0]),
                offsets_from: earlier(block.tables_from[1]),
                matches_from: earlier(block.tables_from[2]),
                ..ZstdBlock::default()
            });
            let (more, further) = block.scratch_bytes();
            (literals, sequences) =
                (literals.offset(more as u64), sequences.offset(further as u64));
        }
    }
    run.copy_in(at, &bytes_of(&chains))?;
    let block_count = all.len() as u64;
    let args = ZstdArgs { chains: at, blocks: run.put(&bytes_of(&all))?, block_count };
    // A warp for the sequences of each, and one for its literals.
    run.launch(ZSTD_PARTS, run.blocks(2 * block_count * WARP), &args)?;
    run.launch(ZSTD_JOIN, chains.len() as u64, &args)
}
