# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb benches of the components, each at several widths, under Verilator.

    tools/hdl run python hdl/tb/run.py [MODULE...]
"""

import pathlib
import sys
import tempfile

from cocotb_tools.runner import get_results, get_runner

HERE = pathlib.Path(__file__).parent
RTL = HERE.parent / "rtl"
BENCHES = [
    ("as_skid_buffer", "prim/as_skid_buffer.sv", "test_queues", [{"Width": 8}, {"Width": 40}]),
    ("as_fifo", "prim/as_fifo.sv", "test_queues", [{"Width": 8, "Depth": 4}, {"Width": 33, "Depth": 16}]),
    ("as_fifo_block", ["prim/as_ram.sv", "prim/as_fifo_block.sv"], "test_queues", [{"Width": 33, "Depth": 16}]),
    ("as_stream_window", "stream/as_stream_window.sv", "test_window", [{"Bytes": 8}, {"Bytes": 16}]),
    ("as_stream_packer", "stream/as_stream_packer.sv", "test_packer", [{"Bytes": 16}, {"Bytes": 32}]),
    (
        "as_arrow_values",
        ["arrow/as_arrow_pack.sv", "arrow/as_arrow_values.sv"],
        "test_arrow",
        [{"ElementBits": 1, "Lanes": 8, "Bytes": 16}, {"ElementBits": 16, "Lanes": 4, "Bytes": 16}],
    ),
    ("as_json_scan", "json/as_json_scan.sv", "test_json_scan", [{"W": 8}, {"W": 32}]),
    ("as_json_integer", ["json/as_json_pkg.sv", "json/as_json_integer.sv"], "test_json_integer", [{}]),
    (
        "as_json_pack",
        "json/as_json_pack.sv",
        "test_json_pack",
        [{"Bytes": 16, "Buffers": 5}, {"Bytes": 16, "GranuleBits": 32, "PieceGranules": 1, "Buffers": 3, "Lead": 1}],
    ),
]


def main():
    failed = passed = 0
    sys.path.insert(0, str(HERE))
    for module, source, bench, sizes in BENCHES:
        if sys.argv[1:] and module not in sys.argv[1:]:
            continue
        files = [source] if isinstance(source, str) else source
        for parameters in sizes:
            with tempfile.TemporaryDirectory() as folder:
                runner = get_runner("verilator")
                try:
                    runner.build(
                        sources=[RTL / "stream/as_stream_pkg.sv"] + [RTL / file for file in files],
                        hdl_toplevel=module,
                        parameters=parameters,
                        build_dir=folder,
                        always=True,
                        build_args=["--output-split", "0"],
                        log_file=f"{folder}/build.log",
                    )
                except RuntimeError:
                    print(pathlib.Path(f"{folder}/build.log").read_text()[-4000:])
                    raise
                results = runner.test(
                    hdl_toplevel=module,
                    test_module=bench,
                    test_dir=str(HERE),
                    build_dir=folder,
                    results_xml=f"{folder}/results.xml",
                    log_file=f"{folder}/test.log",
                )
                tests, failures = get_results(results)
                passed += tests - failures
                failed += failures
                print(f"{module} {parameters}: {tests - failures} passed, {failures} failed")
                if failures:
                    print(pathlib.Path(f"{folder}/test.log").read_text()[-4000:])
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
