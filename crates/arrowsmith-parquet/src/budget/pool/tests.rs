// SPDX-License-Identifier: Apache-2.0
//! Claims of one pool, one by one and by many threads at once.

use std::sync::atomic::AtomicU64;
use std::thread;

use arrowsmith_testkit::random::Rng;

use super::*;

#[test]
fn younger_portions_are_refused_and_the_oldest_is_not() {
    let pool = Pool::new(100);
    let (old, young) = (pool.claim(), pool.claim());
    old.set_oldest();
    assert!(young.take(60) && old.take(30));
    assert!(!young.take(11) && young.is_revoked());
    assert!(!young.take(1), "a revoked claim is given nothing more");
    assert_eq!((pool.used(), young.used(), old.used()), (90, 60, 30));
    young.give_back(60);
    assert!(old.take(170), "alone it gets what it requests");
    assert_eq!(pool.used(), 200);
    old.give_back(200);
    let next = pool.claim();
    let mut held = next.hold(80);
    assert!(!next.is_revoked());
    held.set(120);
    assert!(next.is_revoked(), "what is there is counted, but the portion has to go");
    assert_eq!(pool.used(), 120);
    drop(held);
    assert_eq!((pool.used(), next.used()), (0, 0));
}

#[test]
fn the_oldest_waits_for_what_it_presses_out_of_others() {
    let pool = Pool::new(100);
    let (old, young) = (pool.claim(), pool.claim());
    old.set_oldest();
    let held = Mutex::new(Some(young.hold(80)));
    pool.on_press({
        let young = Arc::clone(&young);
        move || {
            young.revoke();
            held.lock().unwrap().take().is_some()
        }
    });
    assert!(old.take(50));
    assert_eq!((pool.used(), young.used()), (50, 0));
}

/// Threads that process portions in order, as the schedule does: all finish, and the limit holds.
#[test]
fn many_threads_get_all_portions_done_within_the_bytes() {
    const BYTES_MAX: usize = 1000;
    const PORTIONS: usize = 400;
    let revoked = AtomicU64::new(0);
    for threads in [2, 3, 8] {
        let pool = Pool::new(BYTES_MAX);
        let first = Arc::new(Mutex::new((0_usize, Vec::<Arc<Claim>>::new())));
        pool.on_press({
            let first = Arc::clone(&first);
            move || {
                let state = first.lock().unwrap();
                let found = state.1.iter().skip(1).rev().find(|claim| !claim.is_revoked());
                found.is_some_and(|claim| claim.revoke())
            }
        });
        let (next, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // The claims in flight, in order; finishing the first one passes the turn on.
        let begin = |at: usize| loop {
            let mut state = first.lock().unwrap();
            if state.0 + state.1.len() == at {
                let claim = pool.claim();
                if state.1.is_empty() {
                    claim.set_oldest();
                }
                state.1.push(Arc::clone(&claim));
                return claim;
            }
            drop(state);
            thread::yield_now();
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::SeqCst);
                        if at >= PORTIONS {
                            return;
                        }
                        let mut claim = begin(at);
                        let mut random = Rng::new(at as u64);
                        let parts: Vec<usize> = (0..4).map(|_| random.below(250)).collect();
                        let mut taken = 0;
                        let mut part = 0;
                        while part < parts.len() {
                            if claim.take(parts[part]) {
                                taken += parts[part];
                                most.fetch_max(pool.used(), Ordering::SeqCst);
                                part += 1;
                                thread::yield_now();
                                continue;
                            }
                            claim.give_back(taken);
                            revoked.fetch_add(1, Ordering::SeqCst);
                            (taken, part) = (0, 0);
                            let mut state = first.lock().unwrap();
                            let place = at - state.0;
                            claim = pool.claim();
                            if place == 0 {
                                claim.set_oldest();
                            }
                            state.1[place] = Arc::clone(&claim);
                            drop(state);
                            thread::yield_now();
                        }
                        // In order only: until then what is done is held.
                        loop {
                            let mut state = first.lock().unwrap();
                            if state.0 == at {
                                claim.give_back(taken);
                                state.0 += 1;
                                state.1.remove(0);
                                if let Some(oldest) = state.1.first() {
                                    oldest.set_oldest();
                                }
                                break;
                            }
                            drop(state);
                            if claim.is_revoked() && taken > 0 {
                                claim.give_back(std::mem::take(&mut taken));
                            }
                            thread::yield_now();
                        }
                    }
                });
            }
        });
        assert_eq!(pool.used(), 0, "{threads} threads");
        assert!(most.load(Ordering::SeqCst) <= BYTES_MAX, "{most:?}");
    }
    assert!(revoked.load(Ordering::SeqCst) > 0, "no portion was ever short of memory");
}
