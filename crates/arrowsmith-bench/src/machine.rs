// SPDX-License-Identifier: Apache-2.0
//! The machine of a measurement, and this process's memory use.
//!
//! Reads what Linux reports; elsewhere the fields are "unknown", and memory is 0.

use std::fs;
use std::process::Command;

use crate::result::Machine;

/// This machine.
pub(crate) fn describe() -> Machine {
    let cpu = proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let memory_kib = proc_field("/proc/meminfo", "MemTotal").and_then(|text| kib(&text));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        cpu,
        cores: cores(),
        memory_mb: memory_kib.map_or(0, |kib| kib * 1024 / 1_000_000),
        isa: isa(),
        os: format!("{} {} {}", std::env::consts::OS, std::env::consts::ARCH, kernel.trim()),
    }
}

/// Processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Powers of two below the number of processors, and that number.
pub(crate) fn thread_counts() -> Vec<usize> {
    let cores = cores();
    let below = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < cores);
    below.chain([cores]).collect()
}

/// The vector instruction sets that a CPU engine could use here.
#[cfg(target_arch = "x86_64")]
fn isa() -> String {
    let features = [
        ("avx512vbmi2", std::is_x86_feature_detected!("avx512vbmi2")),
        ("avx512vbmi", std::is_x86_feature_detected!("avx512vbmi")),
        ("avx512bw", std::is_x86_feature_detected!("avx512bw")),
        ("gfni", std::is_x86_feature_detected!("gfni")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
    ];
    let names: Vec<&str> = features.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    if names.is_empty() { "sse2".to_owned() } else { names.join(" ") }
}

#[cfg(not(target_arch = "x86_64"))]
fn isa() -> String {
    if cfg!(target_arch = "aarch64") { "neon".to_owned() } else { "unknown".to_owned() }
}

/// The commit that this command was built from, marked if the tree has changes.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let root = env!("CARGO_MANIFEST_DIR");
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        let text = output.status.success().then_some(output.stdout)?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let clean =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| s.is_empty());
    if clean { commit } else { format!("{commit} with changes") }
}

/// Resets the peak of memory use, if the kernel supports it.
pub(crate) fn reset_peak_rss() {
    // A failure leaves the peak of the whole process, which is larger, never smaller, than ours.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The highest resident memory since the last reset, in 10^6 bytes.
pub(crate) fn peak_rss_mb() -> f64 {
    let peak = proc_field("/proc/self/status", "VmHWM").and_then(|text| kib(&text));
    peak.and_then(|kib| u32::try_from(kib).ok()).map_or(0.0, |kib| f64::from(kib) * 1024.0 / 1e6)
}

/// Processor time of the calling thread, if the system reports it.
pub(crate) fn thread_cpu_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

fn proc_field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn kib(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_known() {
        let machine = describe();
        assert!(machine.cores > 0 && machine.memory_mb > 100);
        assert!(machine.os.starts_with("linux "));
        assert!(!machine.isa.is_empty() && !machine.cpu.is_empty());
    }

    #[test]
    fn time_of_a_thread_does_not_pass_while_it_sleeps() {
        let before = thread_cpu_s().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let slept = thread_cpu_s().unwrap();
        assert!(slept - before < 0.1, "{before} {slept}");
        std::hint::black_box((0..3_000_000_u64).fold(0, |sum: u64, n| sum.wrapping_mul(3) ^ n));
        assert!(thread_cpu_s().unwrap() > slept);
    }

    #[test]
    fn the_peak_follows_what_is_touched() {
        reset_peak_rss();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let peak = peak_rss_mb();
        // The peak is of the whole process: memory that other tests free meanwhile does not reduce
        // it.
        assert!(peak * 1e6 > 67e6, "{peak} {}", block.len());
    }
}
