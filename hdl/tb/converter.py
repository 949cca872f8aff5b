# SPDX-License-Identifier: Apache-2.0
"""Drives the JSON converters, which take a text per cycle and answer some cycles later: texts at
the end of a window, one each cycle."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

# LongLatency of as_json_pkg.
LATENCY = 13


async def convert(dut, cases, inputs, check):
    """Sends each case's window of text and other inputs, and calls `check` with the case and its
    output, or None if `ok_o` was low."""
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    waiting = []
    window = len(dut.text_i) // 8
    for case in cases:
        text, others = inputs(case)
        assert len(text) <= window
        # The bytes before the text are random.
        dut.text_i.value = int.from_bytes(text.rjust(window, b"7"), "little")
        for name, value in others.items():
            getattr(dut, name).value = value
        waiting.append(case)
        await FallingEdge(dut.clk_i)
        if len(waiting) >= LATENCY:
            check(waiting.pop(0), int(dut.value_o.value) if dut.ok_o.value else None)
