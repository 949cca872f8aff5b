# SPDX-License-Identifier: Apache-2.0
"""cocotb: as_parquet_dictionary yields the entries for the indices of several pages, numbers or
strings; a dictionary that is missing, truncated, too large or duplicate, and an index beyond it,
end with their faults."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from points import Points
from test_as_parquet_indices import encode
from window import Output, Window, reset

INDEX, DICTIONARY = 71, 72
BEAT = 64
POINTS = Points(
    *("one entry", "full dictionary", "page without indices", "second page", "stalled", "window waited"),
    *("missing refused", "second refused", "large refused", "cut refused", "index beyond refused", "index of a bad run refused"),
)
STRINGS = ("empty string", "string of a beat", "long string", "bytes waited alone", "length waited alone", "bytes full", "bytes too many", "length beyond the page")


class Bench:
    def __init__(self, dut, chance):
        self.dut, self.chance = dut, chance
        self.strings = bool(int(dut.Strings.value))
        self.entries, self.bits = int(dut.Entries.value), int(dut.Width.value)
        self.room = int(dut.EntryBytes.value)

    async def start(self, clear=0):
        self.dut.clr_i.value = clear
        await FallingEdge(self.dut.clk_i)
        self.dut.clr_i.value = 0
        self.dut.start_i.value = 1
        await FallingEdge(self.dut.clk_i)
        self.dut.start_i.value = 0
        await FallingEdge(self.dut.clk_i)

    def dictionary(self, count):
        """Entries as bytes, and as a page of PLAIN."""
        if not self.strings:
            entries = [self.chance.randbytes(self.bits // 8) for _ in range(count)]
            return entries, b"".join(entries)
        most = self.room // max(count, 1)
        entries = [self.chance.randbytes(min(most, self.chance.choice([0, 1, 7, 60, 61, BEAT, 200]))) for _ in range(count)]
        for name, length in (("empty string", 0), ("string of a beat", BEAT), ("long string", 200)):
            POINTS.hit(name, length in map(len, entries))
        return entries, b"".join(len(entry).to_bytes(4, "little") + entry for entry in entries)

    async def page(self, data, count, load, pauses=0, stalls=0):
        """The values of a page, as bytes, and the fault."""
        dut, chance = self.dut, self.chance
        dut.load_i.value, dut.look_i.value, dut.count_i.value = int(load), int(not load), count
        await FallingEdge(dut.clk_i)
        dut.load_i.value = dut.look_i.value = 0
        window, values, lengths, text = Window(chance, data, BEAT, pauses), [], [], b""
        out, out_bytes = Output(dut), Output(dut, "bytes_valid_o", "bytes_ready_i")
        for _ in range(200 + 40 * (len(data) + count)):
            if int(dut.fault_o.value) or (dut.idle_o.value and dut.empty_o.value):
                break
            ready, shown = window.show()
            dut.window_ready_i.value, dut.window_i.value, dut.left_i.value = ready, shown, window.left
            dut.ready_i.value, dut.bytes_ready_i.value = (int(chance.randrange(100) >= stalls) for _ in range(2))
            await RisingEdge(dut.clk_i)
            piece, piece_bytes = out.taken("data_o", "count_o"), out_bytes.taken("bytes_o", "bytes_count_o")
            if piece and self.strings:
                lengths.append(piece[0])
            elif piece:
                values += [(piece[0] >> self.bits * k & (1 << self.bits) - 1).to_bytes(self.bits // 8, "little") for k in range(piece[1])]
            if piece_bytes:
                assert 0 < piece_bytes[1] <= BEAT
                text += piece_bytes[0].to_bytes(BEAT, "little")[: piece_bytes[1]]
            if self.strings:
                POINTS.hit("bytes waited alone", out_bytes.waits and not out.waits)
                POINTS.hit("length waited alone", out.waits and not out_bytes.waits)
            POINTS.hit("stalled", out.waits)
            POINTS.hit("window waited", not ready)
            if dut.move_o.value and int(dut.take_o.value):
                assert ready
                window.take(int(dut.take_o.value))
            await FallingEdge(dut.clk_i)
        else:
            raise AssertionError("does not end")
        fault = int(dut.fault_o.value)
        dut.window_ready_i.value = dut.ready_i.value = dut.bytes_ready_i.value = 0
        for length in lengths:
            if length > len(text):
                # A fault withdrew the rest of it.
                assert fault
                break
            values.append(text[:length])
            text = text[length:]
        if not fault:
            assert not text and window.left == 0
        return values, fault


@cocotb.test()
async def entries_of_indices(dut):
    await reset(dut, *("clr_i", "start_i", "load_i", "look_i", "count_i", "window_ready_i", "window_i", "left_i", "ready_i", "bytes_ready_i"))
    chance = random.Random(47)
    bench = Bench(dut, chance)
    if bench.strings:
        POINTS.hits |= dict.fromkeys(STRINGS, 0)
    for index in range(40):
        await bench.start()
        count = chance.choice([1, 2, bench.entries, chance.randrange(1, bench.entries + 1)])
        entries, data = bench.dictionary(count)
        pauses, stalls = chance.choice([(0, 0), (50, 0), (0, 50), (40, 40)])
        values, fault = await bench.page(data, count, True, pauses)
        assert not fault and not values, fault
        for number in range(chance.randrange(1, 4)):
            width = max((count - 1).bit_length(), chance.choice([0, 0, 10]))
            indices = [chance.randrange(count) for _ in range(chance.choice([1, 8, chance.randrange(1, 120)]))]
            encoded = encode(indices, width, chance, 4)
            # No bytes follow a run that ends a page, or a truncated group.
            values, fault = await bench.page(encoded, len(indices), False, pauses, stalls) if width else ([entries[0]] * len(indices), 0)
            assert not fault and values == [entries[k] for k in indices], (index, fault)
            POINTS.hit("second page", number)
            POINTS.hit("page without indices", not width)
        POINTS.hit("one entry", count == 1)
        POINTS.hit("full dictionary", count == bench.entries)


@cocotb.test()
async def what_is_malformed_ends(dut):
    await reset(dut, *("clr_i", "start_i", "load_i", "look_i", "count_i", "window_ready_i", "window_i", "left_i", "ready_i", "bytes_ready_i"))
    chance = random.Random(53)
    bench = Bench(dut, chance)
    kinds = ["missing", "second", "large", "cut", "index beyond", "index of a bad run"]
    kinds += ["bytes full", "bytes too many", "length beyond the page"] * bench.strings
    for index in range(12 * len(kinds)):
        wrong = kinds[index % len(kinds)]
        await bench.start(1)
        count = chance.randrange(1, bench.entries)
        entries, data = bench.dictionary(count)
        pauses, stalls = chance.choice([0, 40]), chance.choice([0, 40])
        indices = [chance.randrange(count) for _ in range(chance.randrange(1, 60))]
        width, want = max(1, count.bit_length()), DICTIONARY
        if wrong == "missing":
            _, fault = await bench.page(encode(indices, width, chance, 4), len(indices), False)
        elif wrong == "large":
            _, fault = await bench.page(data, bench.entries + chance.randrange(1, 1 << 20), True, pauses)
        elif wrong == "cut":
            _, fault = await bench.page(data[: chance.randrange(len(data))], count, True, pauses)
        elif wrong.startswith("bytes"):
            # One entry that fills all the room, and a byte more.
            size = bench.room + (wrong == "bytes too many")
            _, fault = await bench.page(size.to_bytes(4, "little") + bytes(size), 1, True, pauses)
            want = DICTIONARY * (wrong == "bytes too many")
        elif wrong == "length beyond the page":
            size = chance.choice([1, 5, 1 << 31, (1 << 32) - 1])
            _, fault = await bench.page(size.to_bytes(4, "little") + bytes(min(size - 1, 90)), 1, True, pauses)
        else:
            _, fault = await bench.page(data, count, True, pauses)
            assert not fault
            if wrong == "second":
                _, fault = await bench.page(data, count, True)
            elif wrong == "index beyond":
                at = chance.randrange(len(indices))
                indices[at] = count
                values, fault = await bench.page(encode(indices, width, chance, 4), len(indices), False, pauses, stalls)
                want = INDEX
                assert values == [entries[k] for k in indices[: len(values)] if k < count]
            else:
                values, fault = await bench.page(bytes([width, 0]), len(indices), False, pauses, stalls)
                want = 69
        assert fault == want, (wrong, fault)
        POINTS.hit(f"{wrong} refused" if f"{wrong} refused" in POINTS.hits else wrong)
    POINTS.end()
