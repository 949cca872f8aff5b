# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_delta yields the values that a DELTA_BINARY_PACKED encoder wrote, for all
blocks, widths and memory timings; a truncated page ends with a fault; eight 64-bit values per cycle
without back-pressure."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

BEAT = 64


def varint(number):
    out = bytearray()
    while True:
        out.append((number & 0x7F) | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(out)


def zigzag(number, bits):
    number &= (1 << bits) - 1
    if number >> (bits - 1):
        number -= 1 << bits
    return varint((number << 1 if number >= 0 else (-number << 1) - 1))


def encode(values, bits, block, miniblocks, chance, wide=False, whole=True):
    """A page's bytes. `wide`: miniblocks may be wider than they need to be; not `whole`: the last
    one ends with its last value."""
    mask = (1 << bits) - 1
    out = varint(block) + varint(miniblocks) + varint(len(values)) + zigzag(values[0], bits)
    differences = [(b - a) & mask for a, b in zip(values, values[1:])]
    signed = [d - (1 << bits) if d >> (bits - 1) else d for d in differences]
    each = block // miniblocks
    for at in range(0, len(signed), block):
        part = signed[at : at + block]
        smallest = min(part)
        widths, bodies = [], []
        for begin in range(0, block, each):
            mini = [(d - smallest) & mask for d in part[begin : begin + each]]
            if not mini:
                # The width of a miniblock without values is ignored.
                widths.append(0)
                continue
            width = max(d.bit_length() for d in mini)
            if wide:
                width = chance.randrange(width, bits + 1)
            widths.append(width)
            packed = sum(d << (width * k) for k, d in enumerate(mini))
            last = at + block >= len(signed) and begin + each >= len(part)
            count = len(mini) if last and not whole else each
            bodies.append(packed.to_bytes((width * count + 7) // 8, "little"))
        out += zigzag(smallest, bits) + bytes(widths) + b"".join(bodies)
    return out


async def reset(dut):
    for name in ("clr_i", "start_i", "beat_valid_i", "ready_i", "offset_i", "length_i", "count_i", "beat_i"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 10, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


async def decode(dut, chance, data, count, offset=0, gaps=0, stalls=0):
    """Values, the fault, cycles from the first value to the last, and bytes that were not taken."""
    bits = dut.Width.value.to_unsigned() if hasattr(dut.Width.value, "to_unsigned") else int(dut.Width.value)
    dut.clr_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.clr_i.value = 0
    await FallingEdge(dut.clk_i)
    memory = bytes([0xFF]) * offset + data
    memory += bytes([0xFF]) * (-len(memory) % BEAT)
    beats = [int.from_bytes(memory[at : at + BEAT], "little") for at in range(0, len(memory), BEAT)] if data else []
    dut.start_i.value = 1
    dut.offset_i.value = offset
    dut.length_i.value = len(data)
    dut.count_i.value = count
    await FallingEdge(dut.clk_i)
    dut.start_i.value = 0
    values, sent, first, last = [], 0, None, 0
    for cycle in range(1000 + 20 * (len(data) + count)):
        dut.beat_valid_i.value = int(sent < len(beats) and chance.randrange(100) >= gaps)
        if sent < len(beats):
            dut.beat_i.value = beats[sent]
        dut.ready_i.value = int(chance.randrange(100) >= stalls)
        await RisingEdge(dut.clk_i)
        if dut.valid_o.value and dut.ready_i.value:
            piece = int(dut.data_o.value)
            number = int(dut.count_o.value)
            values += [piece >> (bits * k) & ((1 << bits) - 1) for k in range(number)]
            first, last = cycle if first is None else first, cycle
        sent += int(bool(dut.beat_valid_i.value) and bool(dut.beat_ready_o.value))
        await FallingEdge(dut.clk_i)
        if int(dut.fault_o.value) or (cycle > 4 and dut.idle_o.value and dut.empty_o.value):
            break
    else:
        assert False, "hangs"
    dut.beat_valid_i.value = 0
    return values, int(dut.fault_o.value), last - (first or 0) + 1, int(dut.left_o.value)


def numbers(chance, bits, count):
    spread = chance.choice([0, 1, 5, bits // 3, bits // 2, bits - 2, bits])
    base = chance.getrandbits(bits)
    return [(base + (chance.getrandbits(spread) if spread else 0)) & ((1 << bits) - 1) for _ in range(count)]


@cocotb.test()
async def pages_of_all_kinds(dut):
    await reset(dut)
    bits = int(dut.Width.value)
    chance = random.Random(7)
    for index in range(120):
        count = chance.choice([1, 2, 9, 128, 129, 130, chance.randrange(1, 900)])
        values = numbers(chance, bits, count)
        miniblocks = chance.choice([1, 2, 4, 8])
        block = 128 * (2 if miniblocks == 8 else chance.choice([1, 1, 2, 4]))
        whole = index % 3 != 0
        data = encode(values, bits, block, miniblocks, chance, wide=index % 4 == 0, whole=whole)
        # The bytes after a page's values are not the decoder's, if the last miniblock is complete.
        more = bytes(chance.randrange(256) for _ in range(chance.randrange(100))) if whole and chance.randrange(2) else b""
        found, fault, _, left = await decode(
            dut, chance, data + more, count, chance.randrange(BEAT), chance.choice([0, 0, 50]), chance.choice([0, 0, 50])
        )
        assert fault == 0, f"fault {fault} in page {index}"
        assert found == values, f"page {index}: {count} values, block {block}, {miniblocks} miniblocks"
        assert left == len(more)


@cocotb.test()
async def cut_pages_end(dut):
    await reset(dut)
    bits = int(dut.Width.value)
    chance = random.Random(8)
    for _ in range(60):
        count = chance.randrange(2, 500)
        # The highest bit is set in every miniblock: all bytes are needed.
        values = [chance.getrandbits(bits) for _ in range(count)]
        data = encode(values, bits, 128, 4, chance, whole=False)
        _, fault, _, _ = await decode(dut, chance, data[: chance.randrange(len(data))], count, 0, chance.choice([0, 50]))
        assert fault != 0


@cocotb.test()
async def a_wrong_byte_ends_too(dut):
    await reset(dut)
    bits = int(dut.Width.value)
    chance = random.Random(9)
    for _ in range(60):
        count = chance.randrange(2, 300)
        data = bytearray(encode(numbers(chance, bits, count), bits, 128, 4, chance))
        data[chance.randrange(min(len(data), 30))] ^= 1 << chance.randrange(8)
        await decode(dut, chance, bytes(data), count, 0, 0, chance.choice([0, 50]))


@cocotb.test()
async def headers_of_blocks_cost_nothing(dut):
    await reset(dut)
    bits = int(dut.Width.value)
    lanes = 512 // bits
    chance = random.Random(10)
    # Groups of 55 bytes, less the difference of two numbers that is one bit wider.
    for width in (1, 8, 20, 55 * 8 // lanes - 1):
        count = 4097
        values = [chance.getrandbits(width) for _ in range(count)]
        data = encode(values, bits, 128, 4, chance)
        found, fault, cycles, _ = await decode(dut, chance, data, count)
        assert fault == 0 and found == values
        # The first value comes alone, and the first block's header is not visible ahead. A first
        # group of more than 46 bytes waits for its header.
        waits = 0 if (width + 1) * lanes // 8 <= 46 else count // 128
        dut._log.info(f"{width} bits: {count} values in {cycles} cycles")
        assert cycles <= count // lanes + waits + 8, f"{width} bits: {cycles} cycles"
