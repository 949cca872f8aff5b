// SPDX-License-Identifier: Apache-2.0
//! The tables of a plan in device memory. Decoders of one plan share them: those of the last plan
//! are kept, as a reader makes a decoder for each of its threads.

use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith_core::Result;

use super::program::{self, Program};
use super::run::{Halt, Tables};
use crate::abi::{Power, bytes_of};
use crate::device::memory::Arena;
use crate::device::{Device, Ptr, Stream, failure};

/// Tables in device memory, which never change.
#[derive(Debug)]
pub(crate) struct Resident {
    /// Their addresses.
    pub at: Tables,
    content: program::Tables,
    _memory: Arena,
}

/// The tables of the last plan.
#[derive(Debug, Default)]
pub(crate) struct LastTables(Mutex<Option<Arc<Resident>>>);

impl LastTables {
    /// The tables of a plan, on this device, complete.
    pub fn of(
        &self,
        program: &Program,
        device: &Arc<dyn Device>,
        stream: &mut dyn Stream,
    ) -> Result<Arc<Resident>> {
        let content = program.tables();
        // Held for so long that others who want the same wait for it.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last.as_ref().filter(|last| last.content == content) {
            return Ok(Arc::clone(same));
        }
        let mut memory = Arena::new(Arc::clone(device), u64::MAX);
        let at = upload(&content, &mut memory, stream)?;
        // Other decoders use other streams.
        stream.fetch(&[])?;
        let made = Arc::new(Resident { at, content, _memory: memory });
        *last = Some(Arc::clone(&made));
        Ok(made)
    }
}

fn upload(
    content: &program::Tables,
    memory: &mut Arena,
    stream: &mut dyn Stream,
) -> Result<Tables> {
    let mut put = |bytes: &[u8]| -> Result<Ptr> {
        let at = memory.take(bytes.len() as u64).map_err(|refused| match Halt::from(refused) {
            Halt::Failed(error) => error,
            Halt::TooLarge => failure("gpu: no memory for the plan"),
        })?;
        memory.fence(stream, at, bytes.len() as u64)?;
        stream.copy_in(at, bytes)?;
        Ok(at)
    };
    let powers: Vec<Power> = arrowsmith_number::powers_of_five()
        .iter()
        .map(|&(high, low)| Power { high, low })
        .collect();
    Ok(Tables {
        nodes: put(&content.nodes)?,
        unders: put(&content.unders)?,
        keys: put(&content.keys)?,
        key_text: put(&content.key_text)?,
        tables: put(&content.tables)?,
        powers: put(&bytes_of(&powers))?,
    })
}
