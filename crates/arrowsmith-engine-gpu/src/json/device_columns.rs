// SPDX-License-Identifier: Apache-2.0
//! Columns that stay in device memory, as data: which part of the memory is which buffer. The
//! content is what `assemble` would have fetched; the host reads none of it.

use arrow_schema::DataType;

use super::program::Program;
use super::run::{Column, Halt, Run, narrow};
use crate::abi::{Kind, WIDEN_OFFSETS, WidenArgs};
use crate::device::Ptr;
use crate::device::resident::{Part, Tree};

impl Program {
    /// Whether the device makes every column in the plan's final type.
    pub fn stays(&self) -> bool {
        self.steps.iter().all(|step| step.plain_type() == step.data_type)
    }
}

impl Run<'_> {
    /// The arrays of all columns of a batch: the children of the root, or the root itself where
    /// values are records.
    /// `counts` has the nulls of each.
    pub(super) fn trees(&mut self, columns: &[Column], counts: &[u8]) -> Result<Vec<Tree>, Halt> {
        // Offsets of arrays without values.
        let zeros = self.take(8)?;
        self.stream.fill(zeros, 0, 8)?;
        let root = &self.program.steps[0];
        let ids = if self.value_root { 0..1 } else { root.first..root.first + root.count };
        ids.map(|id| self.tree(columns, counts, zeros, id)).collect()
    }

    fn tree(
        &mut self,
        columns: &[Column],
        counts: &[u8],
        zeros: Ptr,
        id: usize,
    ) -> Result<Tree, Halt> {
        let program = self.program;
        let (step, column) = (&program.steps[id], columns[id]);
        let children = match step.kind {
            Kind::Struct => step.first..step.first + step.count,
            Kind::List | Kind::FixedList => step.first..step.first + 1,
            Kind::Map => step.first..step.first + 2,
            _ => 0..0,
        };
        let mut below = Vec::with_capacity(children.len());
        for child in children {
            below.push(self.tree(columns, counts, zeros, child)?);
        }
        let len = usize::try_from(column.len).unwrap_or(usize::MAX);
        let empty = column.len == 0;
        let null_count = if empty || !step.nullable { 0 } else { narrow(counts, id) };
        let part = |at: Ptr, bytes: u64| Part { at: if empty { zeros } else { at }, bytes };
        let offsets = |at: Ptr, width: u64| part(at, (column.len + 1) * width);
        let mut buffers = Vec::new();
        match step.kind {
            Kind::Null | Kind::Struct | Kind::FixedList => {}
            Kind::List if matches!(step.data_type, DataType::LargeList(_)) => {
                let wide = self.take((column.len + 1) * 8)?;
                if !empty {
                    let args = WidenArgs { from: column.tokens, count: column.len + 1, to: wide };
                    let blocks = self.stream.blocks(args.count);
                    WIDEN_OFFSETS.launch(self.stream, blocks, &args)?;
                }
                buffers.push(offsets(wide, 8));
            }
            Kind::List | Kind::Map => buffers.push(offsets(column.tokens, 4)),
            Kind::Utf8 | Kind::Json | Kind::Binary => {
                let large = step.is_large();
                buffers.push(match large {
                    true => offsets(column.offsets, 8),
                    false => offsets(column.narrow, 4),
                });
                buffers.push(part(column.values, column.bytes));
            }
            _ => buffers.push(part(column.values, column.bytes)),
        }
        if let DataType::Map(entries, _) = &step.data_type {
            below = vec![Tree {
                data_type: entries.data_type().clone(),
                len: below.first().map_or(0, |key| key.len),
                null_count: 0,
                valid: None,
                buffers: Vec::new(),
                children: below,
            }];
        }
        let bits = part(column.bits, column.len.div_ceil(32) * 4);
        Ok(Tree {
            data_type: step.data_type.clone(),
            len,
            // Arrow counts the nulls of null arrays by their length.
            null_count: if step.kind == Kind::Null { 0 } else { null_count },
            valid: (null_count > 0 && step.kind != Kind::Null).then_some(bits),
            buffers,
            children: below,
        })
    }
}
