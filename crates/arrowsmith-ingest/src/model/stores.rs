// SPDX-License-Identifier: Apache-2.0
//! A store whose requests fail: before it has stored an object, or after.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::simulated::Chance;
use crate::store::Stores;

/// A store under simulation; clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct SimulatedStores(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    chance: Chance,
    /// One of this many requests fails; 0 for none.
    faults: u64,
    /// By prefix and name.
    objects: BTreeMap<(String, String), Vec<u8>>,
    /// Names of objects that were stored again with another content.
    changed: Vec<String>,
}

impl SimulatedStores {
    pub(super) fn new(chance: Chance) -> Self {
        let (objects, changed) = (BTreeMap::new(), Vec::new());
        Self(Arc::new(Mutex::new(State { chance, faults: 0, objects, changed })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which requests fail: one of this many.
    pub(super) fn set(&self, faults: u64) {
        self.state().faults = faults;
    }

    pub(super) fn changed(&self) -> Vec<String> {
        self.state().changed.clone()
    }

    /// The objects below a prefix, by name.
    pub(super) fn objects(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let ours = state.objects.iter().filter(|((of, _), _)| of == prefix);
        ours.map(|((_, name), bytes)| (name.clone(), bytes.clone())).collect()
    }
}

impl Stores for SimulatedStores {
    fn put(&self, prefix: &str, name: &str, from: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let mut state = self.state();
        let faults = state.faults;
        let fails = faults > 0 && state.chance.one_of(faults);
        if fails && state.chance.one_of(2) {
            return Err(io::Error::other("the request did not arrive"));
        }
        let before = state.objects.insert((prefix.to_owned(), name.to_owned()), bytes.clone());
        if before.is_some_and(|before| before != bytes) {
            state.changed.push(name.to_owned());
        }
        if fails { Err(io::Error::other("the answer did not arrive")) } else { Ok(()) }
    }
}
