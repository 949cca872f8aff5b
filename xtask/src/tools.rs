// SPDX-License-Identifier: Apache-2.0
//! What the tests need besides Rust: what each is, how it is found, and which command brings it. A
//! test whose tool is absent would not run, so `cargo xtask test` looks at this table first.

use crate::shell;

/// How a tool comes onto this machine.
pub enum Brings {
    /// Packages of Debian. `%` stands for the major version of the C++ compiler.
    Packages(&'static [&'static str]),
    /// A command, which needs no root.
    Command(&'static str),
    /// What a person has to do.
    Hand(&'static str),
}

/// One thing that tests need.
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// What goes unchecked without it.
    pub needed: &'static str,
    /// The areas whose tests need it; all of them if none is named.
    pub areas: &'static [&'static str],
    /// A command of the shell that ends well where it is there, and works.
    pub found: &'static str,
    /// What brings it.
    pub brings: Brings,
}

use Brings::{Command, Hand, Packages};

/// In the order in which they are brought: what others need first.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "C and C++ compilers",
        needed: "building zstd, C++ programs of tests, circuits",
        areas: &[],
        found: "cc --version && g++ --version && make --version",
        brings: Packages(&["g++", "make"]),
    },
    Tool {
        name: "rustfmt and clippy",
        needed: "formatting and lints",
        areas: &["lint", "python"],
        found: "cargo fmt --version && cargo clippy --version",
        brings: Command("rustup component add rustfmt clippy"),
    },
    Tool {
        name: "protoc",
        needed: "building the sink for Pulsar",
        areas: &[],
        found: "protoc --version",
        brings: Packages(&["protobuf-compiler"]),
    },
    Tool {
        name: "openssl",
        needed: "TLS and tokens: tests of the service, of Flight, of Pulsar",
        areas: &["ingest", "flight"],
        found: "openssl version",
        brings: Packages(&["openssl"]),
    },
    Tool {
        name: "python3 with venv",
        needed: "the Python package, tools of the hardware side, CUDA's compiler, Flight's clients",
        areas: &["lint", "ingest", "flight", "hdl", "gpu", "python"],
        found: "python3 -c 'import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 10))'",
        brings: Packages(&["python3", "python3-venv", "libpython3-dev"]),
    },
    Tool {
        name: "typos, zizmor, shellcheck, actionlint",
        needed: "spelling, workflows and scripts",
        areas: &["lint"],
        found: "tools/lint installed",
        brings: Command("tools/lint install"),
    },
    Tool {
        name: "perl",
        needed: "Verilator",
        areas: &["hdl"],
        found: "perl -v",
        brings: Packages(&["perl"]),
    },
    Tool {
        name: "corpora",
        needed: "every engine and reader on files of others",
        areas: &["json", "parquet", "hdl", "gpu", "python"],
        found: r#"test -d "$ARROWSMITH_CORPORA""#,
        brings: Hand("third-party files in ../shared/corpora, or in what ARROWSMITH_CORPORA names"),
    },
    Tool {
        name: "node and npm",
        needed: "the dashboard in a browser",
        areas: &["ingest"],
        found: "npm -v && node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)'",
        brings: Packages(&["nodejs", "npm"]),
    },
    Tool {
        name: "chromium",
        needed: "the dashboard in a browser",
        areas: &["ingest"],
        found: "chromium --version",
        brings: Packages(&["chromium"]),
    },
    Tool {
        name: "playwright-core",
        needed: "the dashboard in a browser",
        areas: &["ingest"],
        found: "tools/browser installed",
        brings: Command("tools/browser install"),
    },
    Tool {
        name: "JDK 17",
        needed: "the Java library, tests with JVMs, Pulsar",
        areas: &["jvm", "ingest", "flight"],
        found: "tools/java home 17",
        brings: Packages(&["openjdk-17-jdk-headless"]),
    },
    Tool {
        name: "Maven",
        needed: "the Java library, Pulsar, Flight's clients",
        areas: &["jvm", "ingest", "flight"],
        found: "mvn --version",
        brings: Packages(&["maven"]),
    },
    Tool {
        name: "JDK 25",
        needed: "the Java library on the JDK that it is built with",
        areas: &["jvm"],
        found: "tools/java home 25",
        brings: Command("tools/java jdk 25"),
    },
    Tool {
        name: "Pulsar",
        needed: "the sink against a real broker",
        areas: &["ingest"],
        found: "tools/pulsar installed",
        brings: Command("tools/pulsar install"),
    },
    Tool {
        name: "Clang",
        needed: "C++ object graphs with both compilers",
        areas: &["objects"],
        found: "clang++ --version",
        brings: Packages(&["clang"]),
    },
    Tool {
        name: "C++ of 32 bits",
        needed: "C++ object graphs and their circuit with the paper's word size",
        areas: &["objects", "hdl"],
        found: "tools/objects has m32",
        brings: Packages(&["g++-%-multilib"]),
    },
    Tool {
        name: "headers of aarch64",
        needed: "layouts of C++ object graphs on aarch64",
        areas: &["objects"],
        found: "test -e /usr/aarch64-linux-gnu/include/stdlib.h",
        brings: Packages(&["libc6-dev-arm64-cross"]),
    },
    Tool {
        name: "linker of aarch64",
        needed: "the NEON kernels under emulation",
        areas: &["json", "parquet"],
        found: "aarch64-linux-gnu-gcc --version",
        brings: Packages(&["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]),
    },
    Tool {
        name: "qemu-aarch64",
        needed: "the NEON kernels under emulation",
        areas: &["json", "parquet"],
        found: "qemu-aarch64 --version",
        brings: Packages(&["qemu-user"]),
    },
    Tool {
        name: "Rust for aarch64",
        needed: "the NEON kernels under emulation",
        areas: &["json", "parquet"],
        found: r#"test -d "$(rustc --print target-libdir --target aarch64-unknown-linux-gnu)""#,
        brings: Command("rustup target add aarch64-unknown-linux-gnu"),
    },
    Tool {
        name: "Verilator, cocotb, Yosys, Verible",
        needed: "the hardware library, and circuits in simulation",
        areas: &["hdl"],
        found: "tools/hdl installed",
        brings: Command("tools/hdl install"),
    },
    Tool {
        name: "CUDA's compiler",
        needed: "the kernels for three architectures, and what calls CUDA's driver",
        areas: &["gpu"],
        found: "tools/gpu installed",
        brings: Command("tools/gpu install"),
    },
    Tool {
        name: "Flight's official clients",
        needed: "the Flight service as pyarrow, ADBC, JDBC, Java, C++ and Go see it",
        areas: &["flight"],
        found: "tools/flight installed",
        brings: Command("tools/flight install"),
    },
    Tool {
        name: ".venv",
        needed: "the Python package, and readers of what the service publishes",
        areas: &["python", "ingest"],
        found: "python/setup.sh installed",
        brings: Command("python/setup.sh"),
    },
];

/// What only `full` needs.
pub const FULL: &[Tool] = &[
    Tool {
        name: "cargo-deny",
        needed: "licences and duplicates among dependencies",
        areas: &["lint"],
        found: "cargo deny --version",
        // What is compiled in a third of the time is fast enough.
        brings: Command("cargo install --quiet --locked --debug cargo-deny@0.20.2"),
    },
    Tool {
        name: "nightly compiler",
        needed: "AddressSanitizer on what is unsafe",
        areas: &["json", "parquet", "jvm"],
        found: "rustc +nightly --version",
        brings: Command("rustup toolchain install nightly --profile minimal"),
    },
    Tool {
        name: "Miri",
        needed: "undefined behaviour in what an interpreter can run",
        areas: &["json", "parquet"],
        found: "cargo +nightly miri --version && \
            test -d \"$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library\"",
        brings: Command("rustup component add --toolchain nightly miri rust-src"),
    },
    Tool {
        name: "libraries of the peers of `bench objects`",
        needed: "every peer of the benchmarks",
        areas: &[],
        found: "command -v ip capnp flatc && echo '#include <boost/archive/binary_oarchive.hpp>\n\
            #include <cereal/cereal.hpp>' | g++ -x c++ -fsyntax-only -",
        brings: Packages(&[
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
    /// Whether the tests of one of these areas need it; no area stands for all.
    fn needed_in(&self, areas: &[&str]) -> bool {
        areas.is_empty() || self.areas.is_empty() || areas.iter().any(|a| self.areas.contains(a))
    }

    /// Names of packages, as this machine has them.
    pub fn packages(&self) -> Vec<String> {
        let Packages(names) = self.brings else { return Vec::new() };
        names.iter().map(|name| name.replace('%', &compiler_major())).collect()
    }

    /// The command that brings it, for people to copy.
    fn how(&self) -> String {
        match self.brings {
            Packages(_) => format!("apt-get install {}", self.packages().join(" ")),
            Command(command) => command.to_owned(),
            Hand(what) => what.to_owned(),
        }
    }
}

/// The C++ compiler's major version; Debian 12's where there is none yet.
fn compiler_major() -> String {
    let version = shell::output("g++ -dumpversion");
    let major = version.split('.').next().unwrap_or_default();
    if major.is_empty() { "12".to_owned() } else { major.to_owned() }
}

/// What some areas need (all: none named) and is not here.
pub fn missing(areas: &[&str], full: bool) -> Vec<&'static Tool> {
    let extra = if full { FULL } else { &[] };
    let needed = TOOLS.iter().chain(extra).filter(|tool| tool.needed_in(areas));
    // All at a time: most wait for a program to start.
    std::thread::scope(|threads| {
        let found = |tool: &'static Tool| threads.spawn(move || (tool, shell::holds(tool.found)));
        let looks: Vec<_> = needed.map(found).collect();
        let absent = looks.into_iter().filter_map(|look| look.join().ok());
        absent.filter(|(_, found)| !found).map(|(tool, _)| tool).collect()
    })
}

/// Says what is missing, what needs it and what brings it.
pub fn complain(missing: &[&Tool]) {
    for tool in missing {
        eprintln!("missing: {}", tool.name);
        eprintln!("    needed for: {}", tool.needed);
        eprintln!("    brought by: {}", tool.how());
    }
    eprintln!("`cargo xtask setup` brings packages as root on Debian, and the rest as anyone.");
}
