// SPDX-License-Identifier: Apache-2.0
//! Accounting of memory whose size the input determines: a budget, and an error instead of an
//! abort.
//!
//! A failed allocation aborts the process, and no `catch_unwind` of a host (Python, a JVM, a
//! server) catches that. So allocations of input-controlled size are checked here first.
//! [`Budget::run`] sets a budget for the current thread during a piece of work. Buffers [`charge`]
//! it when they grow, once per growth and not per value. When it is exhausted, or the system has no
//! more memory, the work unwinds silently with a [`Refused`] to the nearest [`Budget::run`], which
//! returns it as an error. A vector whose size is read from the input is made by
//! [`vec_with_capacity`], which returns the refusal directly.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{Error, FileErrorKind};

/// An allocation that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The limit's name in [`Limits`](crate::Limits); empty if the system had no more memory.
    pub limit: &'static str,
    /// Its value, in bytes.
    pub limit_bytes: usize,
    /// Bytes held already; [`Refused::asked_bytes`] were requested on top of them.
    pub held_bytes: usize,
    /// Bytes requested.
    pub asked_bytes: usize,
}

impl Refused {
    /// The refusal of the system to allocate this many bytes.
    pub fn by_system(asked_bytes: usize) -> Self {
        Self { limit: "", limit_bytes: 0, held_bytes: 0, asked_bytes }
    }

    /// Extracts the refusal from a panic payload; any other payload is returned as the error.
    ///
    /// # Errors
    /// The payload of another panic.
    pub fn caught(payload: Box<dyn Any + Send>) -> Result<Self, Box<dyn Any + Send>> {
        payload.downcast::<Self>().map(|refused| *refused)
    }

    /// Unwinds to [`Budget::run`], without a message and without calling the panic hook.
    #[cold]
    pub fn unwind(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, limit_bytes, held_bytes, asked_bytes } = self;
        if limit.is_empty() {
            return write!(f, "the system has no {asked_bytes} bytes of memory");
        }
        write!(f, "{asked_bytes} bytes beyond {held_bytes} are more than {limit}, {limit_bytes}")
    }
}

impl std::error::Error for Refused {}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Self::file(FileErrorKind::Limit, refused.to_string())
    }
}

/// The memory that a piece of work may hold, and how much it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    limit: &'static str,
    limit_bytes: usize,
    held_bytes: usize,
}

impl Budget {
    /// A budget without a limit.
    pub const UNBOUNDED: Self = Self::new("", usize::MAX);

    /// A budget of this many bytes, with the name of its limit.
    pub const fn new(limit: &'static str, limit_bytes: usize) -> Self {
        Self { limit, limit_bytes, held_bytes: 0 }
    }

    /// Sets another limit; the bytes held stay.
    #[must_use]
    pub fn with_limit_bytes(self, limit_bytes: usize) -> Self {
        Self { limit_bytes, ..self }
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Releases all bytes held, as their memory now has another owner.
    pub fn hand_over(&mut self) {
        self.held_bytes = 0;
    }

    /// Runs `work` with this budget on the current thread. The memory it holds at the end stays
    /// charged.
    ///
    /// # Errors
    /// [`Refused`] if the work needed more; its data is in the state of that moment.
    pub fn run<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, Refused> {
        /// Restores the thread's previous budget, also on unwinding.
        struct Outer<'a>(&'a mut Budget, Budget);
        impl Drop for Outer<'_> {
            fn drop(&mut self) {
                self.0.held_bytes = CURRENT.replace(self.1).held_bytes;
            }
        }
        let before = CURRENT.replace(*self);
        let outer = Outer(self, before);
        let result = catch_unwind(AssertUnwindSafe(work));
        drop(outer);
        result.map_err(|payload| match Refused::caught(payload) {
            Ok(refused) => refused,
            Err(other) => resume_unwind(other),
        })
    }
}

thread_local! {
    static CURRENT: Cell<Budget> = const { Cell::new(Budget::UNBOUNDED) };
}

/// Charges `bytes` to the thread's budget.
///
/// # Errors
/// If that is more than is left.
pub fn charge(bytes: usize) -> Result<(), Refused> {
    let Budget { limit, limit_bytes, held_bytes } = CURRENT.get();
    let held = held_bytes.saturating_add(bytes);
    if held > limit_bytes {
        return Err(Refused { limit, limit_bytes, held_bytes, asked_bytes: bytes });
    }
    CURRENT.set(Budget { limit, limit_bytes, held_bytes: held });
    Ok(())
}

/// Returns `bytes` to the thread's budget. Bytes charged to another budget are harmless: the count
/// does not go below zero.
pub fn release(bytes: usize) {
    // The thread-local is gone while a thread exits.
    let _ = CURRENT.try_with(|current| {
        let budget = current.get();
        let held_bytes = budget.held_bytes.saturating_sub(bytes);
        current.set(Budget { held_bytes, ..budget });
    });
}

/// An empty vector with room for `count` values, where the input determines `count`. It must fit
/// into the rest of the thread's budget, but is not charged to it.
///
/// # Errors
/// If it is more than is left, or more than the system has.
pub fn vec_with_capacity<T>(count: usize) -> Result<Vec<T>, Refused> {
    let bytes = count.saturating_mul(size_of::<T>());
    charge(bytes)?;
    release(bytes);
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| Refused::by_system(bytes))?;
    Ok(vec)
}

/// As [`vec_with_capacity`], filled with `count` times `value`.
///
/// # Errors
/// As [`vec_with_capacity`].
pub fn vec_of<T: Clone>(value: T, count: usize) -> Result<Vec<T>, Refused> {
    let mut vec = vec_with_capacity(count)?;
    // Bounded: the capacity was reserved above.
    vec.resize(count, value);
    Ok(vec)
}

/// Resizes a vector of bytes that are read, not decoded, and therefore not charged to a budget.
///
/// # Errors
/// If the system has no memory for them; the vector is then unchanged.
pub fn resize(vec: &mut Vec<u8>, len: usize) -> Result<(), Refused> {
    let more = len.saturating_sub(vec.len());
    vec.try_reserve(more).map_err(|_| Refused::by_system(more))?;
    // Bounded: the capacity was reserved above.
    vec.resize(len, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_is_bounded_and_given_back() {
        let mut budget = Budget::new("batch_bytes_max", 100);
        assert_eq!(budget.run(|| charge(60).and_then(|()| charge(40))), Ok(Ok(())));
        assert_eq!(budget.held_bytes(), 100);
        let refused =
            Refused { limit: "batch_bytes_max", limit_bytes: 100, held_bytes: 70, asked_bytes: 31 };
        let work = || {
            release(30);
            charge(31).unwrap_or_else(|refused| refused.unwind());
        };
        assert_eq!(budget.run(work), Err(refused));
        assert_eq!(budget.held_bytes(), 70);
        budget.hand_over();
        assert_eq!(budget.held_bytes(), 0);
        assert_eq!(refused.to_string(), "31 bytes beyond 70 are more than batch_bytes_max, 100");
        assert_eq!(charge(usize::MAX), Ok(()), "outside nothing is bounded");
        release(usize::MAX);
    }

    #[test]
    fn budgets_nest_and_other_panics_pass() {
        let mut outer = Budget::new("memory_bytes_max", 10);
        let mut inner = Budget::new("page_bytes_max", 1000);
        let held = outer.run(|| {
            assert_eq!(inner.run(|| charge(500)), Ok(Ok(())));
            charge(7)
        });
        assert_eq!((held, outer.held_bytes(), inner.held_bytes()), (Ok(Ok(())), 7, 500));
        let passed = catch_unwind(AssertUnwindSafe(|| outer.run(|| resume_unwind(Box::new(5_u8)))));
        assert_eq!(passed.unwrap_err().downcast_ref(), Some(&5_u8));
        assert_eq!(charge(11), Ok(()), "the budget is off the thread again");
        release(11);
    }

    #[test]
    fn sizes_that_an_input_says_are_no_abort() {
        let huge = vec_with_capacity::<u64>(usize::MAX / 2).unwrap_err();
        assert_eq!(huge.limit, "");
        let mut text = vec![1, 2];
        assert_eq!(resize(&mut text, usize::MAX).unwrap_err().asked_bytes, usize::MAX - 2);
        resize(&mut text, 4).unwrap();
        assert_eq!(text, [1, 2, 0, 0]);
        let mut budget = Budget::new("memory_bytes_max", 64);
        assert_eq!(budget.run(|| vec_of(7_u32, 3)), Ok(Ok(vec![7; 3])));
        let refused = budget.run(|| vec_of(7_u32, 17)).unwrap().unwrap_err();
        assert_eq!((refused.limit, refused.asked_bytes), ("memory_bytes_max", 68));
    }
}
