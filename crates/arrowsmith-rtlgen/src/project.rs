// SPDX-License-Identifier: Apache-2.0
//! Project files for tools, for any circuit: FuseSoC, Vivado, Quartus, and a starting point for an
//! OPAE shell; the other shells are in [`crate::shell`].
//!
//! Text only; the caller supplies the sources and their order.

use std::fmt::Write as _;

use crate::library::{file_list, include_folders, is_header};
use crate::registers::systemverilog::{CTL_PORTS, logic};

/// A port: direction, bits and name.
pub(crate) type Port = (&'static str, u64, &'static str);

/// The output that is high from the end of a run to the next start, for interrupts.
pub(crate) const DONE_PORT: &str = "done_o";

/// The AXI4 port to memory that every converter has.
pub(crate) const fn memory_ports(beat_bytes: u64) -> [Port; 20] {
    [
        ("output", 1, "mem_ar_valid_o"),
        ("input", 1, "mem_ar_ready_i"),
        ("output", 64, "mem_ar_addr_o"),
        ("output", 8, "mem_ar_len_o"),
        ("input", 1, "mem_r_valid_i"),
        ("output", 1, "mem_r_ready_o"),
        ("input", 8 * beat_bytes, "mem_r_data_i"),
        ("input", 2, "mem_r_resp_i"),
        ("output", 1, "mem_aw_valid_o"),
        ("input", 1, "mem_aw_ready_i"),
        ("output", 64, "mem_aw_addr_o"),
        ("output", 8, "mem_aw_len_o"),
        ("output", 1, "mem_w_valid_o"),
        ("input", 1, "mem_w_ready_i"),
        ("output", 8 * beat_bytes, "mem_w_data_o"),
        ("output", beat_bytes, "mem_w_strb_o"),
        ("output", 1, "mem_w_last_o"),
        ("input", 1, "mem_b_valid_i"),
        ("output", 1, "mem_b_ready_o"),
        ("input", 2, "mem_b_resp_i"),
    ]
}

/// The circuit as the project files describe it.
pub(crate) struct Project<'a> {
    /// The top module.
    pub top: &'a str,
    /// Its name, a SystemVerilog identifier.
    pub name: &'a str,
    /// The format it decodes, one word.
    pub format: &'a str,
    /// A description, one line.
    pub description: &'a str,
    /// A memory port, and the number of them.
    pub memory: &'a [Port],
    pub memory_ports: usize,
    /// Headers and sources, dependencies first.
    pub paths: Vec<&'a str>,
}

impl Project<'_> {
    /// The files, path and text.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let name = self.name;
        vec![
            ("files.f".to_owned(), file_list(self.paths.iter().copied())),
            (format!("{name}.core"), self.fusesoc()),
            ("vivado.tcl".to_owned(), self.vivado()),
            ("quartus.tcl".to_owned(), self.quartus()),
            (format!("shell/{name}_opae.sv"), self.shell("OPAE", "mmio", "host_mem")),
        ]
    }

    /// A line for each source.
    fn lines(&self, before: &str) -> String {
        let sources = self.paths.iter().filter(|path| !is_header(path));
        sources.map(|path| format!("{before}{path}\n")).collect()
    }

    /// The folders of headers.
    fn folders(&self) -> Vec<&str> {
        include_folders(self.paths.iter().copied())
    }

    fn fusesoc(&self) -> String {
        let headers = self.paths.iter().filter(|path| is_header(path));
        let headers: String =
            headers.map(|path| format!("      - {path}: {{is_include_file: true}}\n")).collect();
        format!(
            "CAPI=2:\n# SPDX-License-Identifier: Apache-2.0\nname: arrowsmith:{}:{}:0.1.0\ndescription: {}\n\n\
             filesets:\n  rtl:\n    file_type: systemVerilogSource\n    files:\n{headers}{}\ntargets:\n  default: &default\n    filesets: [rtl]\n    toplevel: {}\n  \
             lint:\n    <<: *default\n    default_tool: verilator\n    tools:\n      verilator:\n        mode: lint-only\n",
            self.format,
            self.name,
            self.description,
            self.lines("      - "),
            self.top
        )
    }

    fn vivado(&self) -> String {
        let folders = self.folders().into_iter();
        let folders: String = folders.map(|folder| format!(" -include_dirs {folder}")).collect();
        format!(
            "# SPDX-License-Identifier: Apache-2.0\n# vivado -mode batch -source vivado.tcl -tclargs PART: synthesis out of context at 200 MHz.\n\
             set part [expr {{$argc > 0 ? [lindex $argv 0] : \"xcvu37p-fsvh2892-2L-e\"}}]\n{}\
             synth_design -top {} -part $part -mode out_of_context{folders}\ncreate_clock -period 5.0 [get_ports clk_i]\n\
             report_utilization -file utilization.txt\nreport_timing_summary -file timing.txt\n",
            self.lines("read_verilog -sv "),
            self.top
        )
    }

    fn quartus(&self) -> String {
        let folders = self.folders().into_iter();
        let folders: String = folders
            .map(|folder| format!("set_global_assignment -name SEARCH_PATH {folder}\n"))
            .collect();
        format!(
            "# SPDX-License-Identifier: Apache-2.0\n# quartus_sh -t quartus.tcl: a project for an Arria 10; then quartus_map.\n\
             project_new {top} -overwrite\nset_global_assignment -name DEVICE 10AX115N2F40E2LG\nset_global_assignment -name TOP_LEVEL_ENTITY {top}\n{folders}{}project_close\n",
            self.lines("set_global_assignment -name SYSTEMVERILOG_FILE "),
            top = self.top
        )
    }

    /// A wrapper with the port names of a shell, to be completed for a board.
    fn shell(&self, shell: &str, control: &str, memory: &str) -> String {
        let mut out = format!(
            "// SPDX-License-Identifier: Apache-2.0\n// Generated by arrowsmith as a starting point for {shell}: the circuit under the names of that shell.\n\
             // To be completed for a board: clock and reset of the shell, its AXI sidebands (ids, cache, protection: constants), width of its memory port.\n\
             module {}_{} (\n    input logic ap_clk,\n    input logic ap_rst_n",
            self.name,
            shell.to_lowercase()
        );
        let mut wires = String::new();
        // `ctl_aw_valid_i` is `s_axi_control_awvalid` there.
        let theirs = |prefix: &str, port: &str| {
            let channel: String = port.split('_').skip(1).collect();
            format!("{prefix}_{}", &channel[..channel.len().saturating_sub(1)])
        };
        for (way, bits, port) in CTL_PORTS {
            let shown = theirs(control, port);
            let _ = write!(out, ",\n    {way:<6} {} {shown}", logic(bits.into()));
            let _ = write!(wires, ",\n      .{port}({shown})");
        }
        // Several memory ports are concatenated in the circuit's port, the first one lowest.
        let prefixes: Vec<String> = match self.memory_ports {
            1 => vec![memory.to_owned()],
            several => (0..several).map(|number| format!("{memory}{number}")).collect(),
        };
        for (way, bits, port) in self.memory {
            let mut shown: Vec<String> =
                prefixes.iter().map(|prefix| theirs(prefix, port)).collect();
            for name in &shown {
                let _ = write!(out, ",\n    {way:<6} {} {name}", logic(*bits));
            }
            shown.reverse();
            let joined = shown.join(", ");
            let joined = if shown.len() == 1 { joined } else { format!("{{{joined}}}") };
            let _ = write!(wires, ",\n      .{port}({joined})");
        }
        let _ = write!(
            out,
            ",\n    output logic done\n);\n\n  {} i_circuit (\n      .clk_i(ap_clk),\n      .rst_ni(ap_rst_n){wires},\n      .{DONE_PORT}(done)\n  );\n\nendmodule\n",
            self.top
        );
        crate::without_implicit_nets(&out)
    }
}

/// Text for SVG.
pub(crate) fn escape(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { '.' } else { c }).collect::<String>();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
