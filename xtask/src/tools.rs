// SPDX-License-Identifier: Apache-2.0
//! The tools that tests need besides Rust: how each is detected, and which command installs it. A
//! test whose tool is missing would not run, so `cargo xtask test` checks this table first.

use crate::shell;

/// How a tool is installed.
pub enum Install {
    /// Debian packages. `%` stands for the major version of the C++ compiler.
    Packages(&'static [&'static str]),
    /// A command, which needs no root.
    Command(&'static str),
    /// A manual step.
    Manual(&'static str),
}

/// A tool that tests need.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The tests that need it.
    pub needed: &'static str,
    /// The areas whose tests need it; empty means all.
    pub areas: &'static [&'static str],
    /// A shell command that succeeds if the tool is installed and works.
    pub found: &'static str,
    /// How it is installed.
    pub install: Install,
}

use Install::{Command, Manual, Packages};

/// In installation order: tools that others need come first.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "C and C++ compilers",
        needed: "building zstd, C++ programs of tests, circuits",
        areas: &[],
        found: "cc --version && g++ --version && make --version",
        install: Packages(&["g++", "make"]),
    },
    Tool {
        name: "rustfmt and clippy",
        needed: "formatting and lints",
        areas: &[],
        found: "cargo fmt --version && cargo clippy --version",
        install: Command("rustup component add rustfmt clippy"),
    },
    Tool {
        name: "protoc",
        needed: "building the sink for Pulsar",
        areas: &[],
        found: "protoc --version",
        install: Packages(&["protobuf-compiler"]),
    },
    Tool {
        name: "openssl",
        needed: "TLS and tokens: tests of the service, of Flight, of Pulsar",
        areas: &["ingest", "flight"],
        found: "openssl version",
        install: Packages(&["openssl"]),
    },
    Tool {
        name: "python3 with venv",
        needed: "the Python package, tools of the hardware side, CUDA's compiler, Flight's clients",
        areas: &["lint", "ingest", "flight", "hdl", "gpu", "python"],
        found: "python3 -c 'import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 10))'",
        install: Packages(&["python3", "python3-venv", "libpython3-dev"]),
    },
    Tool {
        name: "typos, zizmor, shellcheck, actionlint",
        needed: "spelling, workflows and scripts",
        areas: &["lint"],
        found: "tools/lint installed",
        install: Command("tools/lint install"),
    },
    Tool {
        name: "perl",
        needed: "Verilator",
        areas: &["hdl"],
        found: "perl -v",
        install: Packages(&["perl"]),
    },
    Tool {
        name: "corpora",
        needed: "every engine and reader on files of others",
        areas: &["json", "parquet", "hdl", "gpu", "python"],
        found: r#"test -d "$ARROWSMITH_CORPORA""#,
        install: Manual(
            "third-party files in ../shared/corpora, or in what ARROWSMITH_CORPORA names",
        ),
    },
    Tool {
        name: "node and npm",
        needed: "the dashboard in a browser",
        areas: &["ingest"],
        found: "npm -v && node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)'",
        install: Packages(&["nodejs", "npm"]),
    },
    Tool {
        name: "Icarus Verilog",
        needed: "the second simulator of the hardware library",
        areas: &["hdl"],
        found: "iverilog -V",
        install: Packages(&["iverilog"]),
    },
    Tool {
        name: "chromium",
        needed: "the dashboard in a browser",
        areas: &["ingest"],
        found: "chromium --version",
        install: Packages(&["chromium"]),
    },
    Tool {
        name: "playwright-core",
        needed: "the dashboard in a browser",
        areas: &["ingest"],
        found: "tools/browser installed",
        install: Command("tools/browser install"),
    },
    Tool {
        name: "JDK 17",
        needed: "the Java library, tests with JVMs, Pulsar",
        areas: &["jvm", "ingest", "flight"],
        found: "tools/java home 17",
        install: Packages(&["openjdk-17-jdk-headless"]),
    },
    Tool {
        name: "Maven",
        needed: "the Java library, Pulsar, Flight's clients",
        areas: &["jvm", "ingest", "flight"],
        found: "mvn --version",
        install: Packages(&["maven"]),
    },
    Tool {
        name: "JDK 25",
        needed: "the Java library on the JDK that it is built with",
        areas: &["jvm"],
        found: "tools/java home 25",
        install: Command("tools/java jdk 25"),
    },
    Tool {
        name: "Pulsar",
        needed: "the sink against a real broker",
        areas: &["ingest"],
        found: "tools/pulsar installed",
        install: Command("tools/pulsar install"),
    },
    Tool {
        name: "Clang",
        needed: "C++ object graphs with both compilers",
        areas: &["objects"],
        found: "clang++ --version",
        install: Packages(&["clang"]),
    },
    Tool {
        name: "C++ of 32 bits",
        needed: "C++ object graphs and their circuit with the paper's word size",
        areas: &["objects", "hdl"],
        found: "tools/objects has m32",
        install: Packages(&["g++-%-multilib"]),
    },
    Tool {
        name: "headers of aarch64",
        needed: "layouts of C++ object graphs on aarch64",
        areas: &["objects"],
        found: "test -e /usr/aarch64-linux-gnu/include/stdlib.h",
        install: Packages(&["libc6-dev-arm64-cross"]),
    },
    Tool {
        name: "linker of aarch64",
        needed: "the NEON kernels under emulation",
        areas: &["json", "parquet"],
        found: "aarch64-linux-gnu-gcc --version",
        install: Packages(&["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]),
    },
    Tool {
        name: "qemu-aarch64",
        needed: "the NEON kernels under emulation",
        areas: &["json", "parquet"],
        found: "qemu-aarch64 --version",
        install: Packages(&["qemu-user"]),
    },
    Tool {
        name: "Rust for aarch64",
        needed: "the NEON kernels under emulation",
        areas: &["json", "parquet"],
        found: r#"test -d "$(rustc --print target-libdir --target aarch64-unknown-linux-gnu)""#,
        install: Command("rustup target add aarch64-unknown-linux-gnu"),
    },
    Tool {
        name: "Verilator, cocotb, Yosys, Verible",
        needed: "the hardware library, and circuits in simulation",
        areas: &["hdl"],
        found: "tools/hdl installed",
        install: Command("tools/hdl install"),
    },
    Tool {
        name: "headers of XRT",
        needed: "the host's program of circuits that are kernels of Vitis",
        areas: &["hdl"],
        found: "test -e /usr/include/xrt/xrt/xrt_kernel.h",
        install: Packages(&["libxrt-dev"]),
    },
    Tool {
        name: "CUDA's compiler",
        needed: "the kernels for three architectures, and what calls CUDA's driver",
        areas: &["gpu"],
        found: "tools/gpu installed",
        install: Command("tools/gpu install"),
    },
    Tool {
        name: "Flight's official clients",
        needed: "the Flight service as pyarrow, ADBC, JDBC, Java, C++ and Go see it",
        areas: &["flight"],
        found: "tools/flight installed",
        install: Command("tools/flight install"),
    },
    Tool {
        name: ".venv",
        needed: "the Python package, and readers of what the service publishes",
        areas: &["python", "ingest"],
        found: "python/setup.sh installed",
        install: Command("python/setup.sh"),
    },
];

/// The tools that only `full` needs.
pub const FULL: &[Tool] = &[
    Tool {
        name: "cargo-deny",
        needed: "licences and duplicates among dependencies",
        areas: &["lint"],
        found: "cargo deny --version",
        // A debug build takes a third of the compile time, and is fast enough.
        install: Command("cargo install --quiet --locked --debug cargo-deny@0.20.2"),
    },
    Tool {
        name: "nightly compiler",
        needed: "the sanitizers on what is unsafe or has threads",
        areas: &["json", "parquet", "ingest", "jvm"],
        found: "rustc +nightly --version",
        install: Command("rustup toolchain install nightly --profile minimal"),
    },
    Tool {
        name: "Miri, sources of the standard library",
        needed: "undefined behaviour in what an interpreter can run, ThreadSanitizer",
        areas: &["json", "parquet", "ingest", "jvm"],
        found: "cargo +nightly miri --version && \
            test -d \"$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library\"",
        install: Command("rustup component add --toolchain nightly miri rust-src"),
    },
    Tool {
        name: "libraries of the peers of `bench objects`",
        needed: "every peer of the benchmarks",
        areas: &[],
        found: "command -v ip capnp flatc && echo '#include <boost/archive/binary_oarchive.hpp>\n\
            #include <cereal/cereal.hpp>' | g++ -x c++ -fsyntax-only -",
        install: Packages(&[
            "iproute2",
            "libboost-serialization-dev",
            "libcereal-dev",
            "libprotobuf-dev",
            "libflatbuffers-dev",
            "flatbuffers-compiler",
            "libcapnp-dev",
            "capnproto",
        ]),
    },
];

impl Tool {
    /// Whether the tests of one of these areas need it; no area means all.
    fn needed_in(&self, areas: &[&str]) -> bool {
        areas.is_empty() || self.areas.is_empty() || areas.iter().any(|a| self.areas.contains(a))
    }

    /// Whether the build needs it, or installing it changes what compiles.
    pub fn builds(&self) -> bool {
        let rustup = matches!(self.install, Command(command) if command.starts_with("rustup "));
        self.areas.is_empty() || rustup
    }

    /// The names of its packages on this machine.
    pub fn packages(&self) -> Vec<String> {
        let Packages(names) = self.install else { return Vec::new() };
        names.iter().map(|name| name.replace('%', &compiler_major())).collect()
    }

    /// The command that installs it, to be copied by the user.
    fn how(&self) -> String {
        match self.install {
            Packages(_) => format!("apt-get install {}", self.packages().join(" ")),
            Command(command) => command.to_owned(),
            Manual(what) => what.to_owned(),
        }
    }
}

/// The major version of the C++ compiler; that of Debian 12 if none is installed yet.
fn compiler_major() -> String {
    let version = shell::output("g++ -dumpversion");
    let major = version.split('.').next().unwrap_or_default();
    if major.is_empty() { "12".to_owned() } else { major.to_owned() }
}

/// The missing tools of some areas; no area means all.
pub fn missing(areas: &[&str], full: bool) -> Vec<&'static Tool> {
    let extra = if full { FULL } else { &[] };
    let needed = TOOLS.iter().chain(extra).filter(|tool| tool.needed_in(areas));
    // All in parallel: most of the time is spent starting programs.
    std::thread::scope(|threads| {
        let found =
            |tool: &'static Tool| threads.spawn(move || (tool, shell::succeeds(tool.found)));
        let looks: Vec<_> = needed.map(found).collect();
        let absent = looks.into_iter().filter_map(|look| look.join().ok());
        absent.filter(|(_, found)| !found).map(|(tool, _)| tool).collect()
    })
}

/// Prints what is missing, what needs it, and how to install it.
pub fn report_missing(missing: &[&Tool]) {
    for tool in missing {
        eprintln!("missing: {}", tool.name);
        eprintln!("    needed for: {}", tool.needed);
        eprintln!("    install: {}", tool.how());
    }
    eprintln!("`cargo xtask setup` installs packages as root on Debian, and the rest as any user.");
}
