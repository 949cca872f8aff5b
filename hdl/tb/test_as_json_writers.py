# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_json_writers turns the steps of each parser into the beats of its own buffers, alone
or round-robin, under back-pressure, until after the flush."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

# The fields of op_t, highest bits first.
FIELDS = [("has_data", 1), ("data_buffer", 8), ("bytes", 8), ("has_flag", 1), ("flag", 1), ("flag_buffer", 8), ("has_valid", 1), ("valid", 1)]
FIELDS += [("valid_buffer", 8), ("count", 8), ("has_outer", 1), ("outer", 1), ("outer_buffer", 8), ("outer_count", 8), ("adds", 1), ("closes", 1)]
FIELDS += [("counter", 8), ("add", 8)]
OP_BITS = sum(bits for _, bits in FIELDS)
# For each kind of buffer: the bits of an element, the flag that a step has some, and the buffer's
# number.
BITS = (8, 32, 1, 1, 1)
HAS = ("has_data", "closes", "has_valid", "has_outer", "has_flag")
BUFFERS = ("data_buffer", "counter", "valid_buffer", "outer_buffer", "flag_buffer")


def number_of(op):
    value = 0
    for name, bits in FIELDS:
        value = value << bits | op[name]
    return value


class Parser:
    """A parser's steps, and the expected elements, by kind and buffer."""

    def __init__(self, chance, rows, lanes):
        self.expected = [[[] for _ in range(count)] for count in rows]
        self.steps = []
        sums = [0] * rows[1]
        for _ in range(chance.randrange(0, 100)):
            op = {name: chance.getrandbits(1) if bits == 1 else 0 for name, bits in FIELDS}
            for name, count in zip(BUFFERS, rows):
                op[name] = chance.randrange(count)
            values = [chance.randrange(256) for _ in range(chance.randrange(1, lanes * 8 + 1))]
            op["bytes"], op["add"] = len(values), chance.randrange(256)
            op["count"] = 1 if op["has_flag"] and op["flag"] else chance.randrange(1, lanes + 1)
            op["outer_count"] = chance.randrange(1, lanes + 1)
            # Fields that a step does not use are random.
            self.steps.append((number_of(op), sum(value << (8 * at) for at, value in enumerate(values))))
            if op["adds"]:
                sums[op["counter"]] += op["add"]
            pieces = (values, [sums[op["counter"]]], [op["valid"]] * op["count"], [op["outer"]] * op["outer_count"], [op["flag"]] * op["count"])
            for kind, (has, buffer) in enumerate(zip(HAS, BUFFERS)):
                if op[has]:
                    own = self.expected[kind][op[buffer]]
                    own += ([0] if kind == 1 and not own else []) + pieces[kind]


async def round_(dut, chance, rows, lanes, size, first, pauses):
    parsers = [Parser(chance, rows, lanes) for _ in first]
    got = {}
    at = [0] * len(parsers)
    offered = [False] * len(parsers)
    for _ in range(100 * sum(len(parser.steps) for parser in parsers) + 2000):
        ops = data = valid = 0
        for p, parser in enumerate(parsers):
            # An offered step stays until it is taken.
            offered[p] = at[p] < len(parser.steps) and (offered[p] or chance.randrange(100) >= pauses)
            if offered[p]:
                op, piece = parser.steps[at[p]]
                valid |= 1 << p
                ops |= op << (OP_BITS * p)
                data |= piece << (lanes * 64 * p)
        dut.op_valid_i.value, dut.op_i.value, dut.op_data_i.value = valid, ops, data
        done = all(at[p] == len(parser.steps) for p, parser in enumerate(parsers))
        dut.flush_i.value = int(done)
        dut.beat_ready_i.value = sum((chance.randrange(100) >= pauses) << s for s in range(5))
        await RisingEdge(dut.clk_i)
        taken, beats = int(dut.op_ready_o.value) & valid, int(dut.beat_valid_o.value) & int(dut.beat_ready_i.value)
        flushed = done and int(dut.flushed_o.value)
        for p in range(len(parsers)):
            if taken >> p & 1:
                at[p], offered[p] = at[p] + 1, False
        for s in range(5):
            if beats >> s & 1:
                buffer = int(dut.beat_buffer_o.value) >> (8 * s) & 255
                number = int(dut.beat_number_o.value) >> (32 * s) & 0xFFFFFFFF
                content = int(dut.beat_data_o.value) >> (8 * size * s) & ((1 << (8 * size)) - 1)
                own = got.setdefault((s, buffer), [])
                assert number == len(own) * BITS[s] // (8 * size)
                own += [content >> (BITS[s] * slot) & ((1 << BITS[s]) - 1) for slot in range(8 * size // BITS[s])]
        await FallingEdge(dut.clk_i)
        if flushed:
            break
    else:
        raise AssertionError("does not come to an end")
    for p, parser in enumerate(parsers):
        for kind, buffers in enumerate(parser.expected):
            for row, wanted in enumerate(buffers):
                own = got.pop((kind, first[p][kind] + row), [])
                assert own[: len(wanted)] == wanted
                assert not any(own[len(wanted) :]) and len(own) - len(wanted) < 8 * size // BITS[kind]
    assert not got


@cocotb.test()
async def steps_of_parsers(dut):
    for name in ("clr_i", "op_valid_i", "op_i", "op_data_i", "flush_i", "beat_ready_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    chance = random.Random(12)
    rows = [int(getattr(dut, name).value) for name in ("DataBuffers", "Counters", "ValidBuffers", "OuterBuffers", "FlagBuffers")]
    packed = int(dut.First.value)
    first = [[packed >> (8 * (5 * p + kind)) & 255 for kind in range(5)] for p in range(int(dut.Parsers.value))]
    for _ in range(40):
        await round_(dut, chance, rows, int(dut.L.value), int(dut.Bytes.value), first, chance.choice([0, 30, 70]))
        dut.flush_i.value = 0
        dut.clr_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clr_i.value = 0
