# SPDX-License-Identifier: Apache-2.0
"""The longest path between registers of a mapped netlist, in levels of look-up tables and in
nanoseconds of a model.

Reads the output of Yosys's `write_json`. The model knows cells, not placement: every delay includes
a typical net after the cell, so a real tool may be faster or slower. It does not look at what a
path computes: a false path counts as any other.
"""

# Nanoseconds of a cell and the net after it, UltraScale+ of speed grade -2: a LUT takes about 0.1
# and its net about 0.3. Adjacent cells (multiplexers of a slice, a carry chain) have a negligible
# net. Start and end: clock to output, setup, clock uncertainty.
MODEL = {
    "begin_and_end_ns": 0.30,
    "lut_ns": 0.40,
    "mux_ns": 0.10,
    "carry_ns": 0.06,
    "lutram_ns": 0.50,
    "block_ram_ns": 1.10,
    "dsp_ns": 1.50,
}

# Slowest paths to print, each into another instance.
SHOWN = 10

# Cells that end a path and begin the next. The registers inside a DSP block are not known here: it
# does both.
SEQUENTIAL = ("FD", "LD", "SRL", "RAMB", "URAM", "DSP48", "TRELLIS_FF", "DP16KD")
CLOCKED_LATE = {"RAMB": "block_ram_ns", "URAM": "block_ram_ns", "DSP48": "dsp_ns"}


def delay(kind):
    """Nanoseconds from an input of a cell to the cell that its output drives."""
    if kind.startswith(("MUXF", "PFUMX", "L6MUX")):
        return MODEL["mux_ns"]
    if kind.startswith(("CARRY", "CCU2", "XORCY", "MUXCY")):
        return MODEL["carry_ns"]
    if kind.startswith("RAM"):
        return MODEL["lutram_ns"]
    if kind.startswith(("INV", "BUF")):
        return 0.0
    return MODEL["lut_ns"]


def level(kind):
    """1 for cells that count as a look-up table in a path."""
    return 0 if kind.startswith(("MUXF", "CARRY", "PFUMX", "L6MUX", "CCU2", "INV", "BUF", "XORCY", "MUXCY")) else 1


def reads(kind, port):
    """Whether an input of a cell reaches its output within the cycle: of a RAM of LUTs only the
    address of a read does."""
    if not kind.startswith("RAM"):
        return True
    if kind in ("RAM32M16", "RAM64M8"):
        return port.startswith("ADDR") and port != "ADDRH"
    if kind in ("RAM32M", "RAM64M"):
        return port.startswith("ADDR") and port != "ADDRD"
    return port.startswith("DPRA" if "X1D" in kind else ("A", "RAD"))


def outputs(cell):
    """The nets that a cell drives."""
    return [
        bit
        for port, bits in cell["connections"].items()
        if cell["port_directions"].get(port) == "output"
        for bit in bits
        if isinstance(bit, int)
    ]


def inputs(cell):
    """The nets that reach a cell, each with whether it reaches the cell's output."""
    return [
        (bit, reads(cell["type"], port))
        for port, bits in cell["connections"].items()
        if cell["port_directions"].get(port) != "output"
        for bit in bits
        if isinstance(bit, int)
    ]


def longest(module, outside=()):
    """The slowest path with its start and end, the most levels of any, how many cells are in loops,
    and the slowest paths into other instances. Cells of the types in `outside` are external: a path
    begins and ends at them."""
    cells = module["cells"]
    time, levels, before, ends = {}, {}, {}, []
    begins, inner = set(), {}
    for name, cell in cells.items():
        kind = cell["type"]
        sequential = kind.startswith(SEQUENTIAL) or kind in outside
        through = [bit for bit, passes in inputs(cell) if passes and not sequential]
        ends += [(bit, name) for bit, passes in inputs(cell) if sequential or not passes]
        if sequential:
            late = [MODEL[what] for start, what in CLOCKED_LATE.items() if kind.startswith(start)]
            for bit in outputs(cell):
                begins.add(bit)
                time[bit] = late[0] if late else 0.0
        else:
            inner[name] = through

    driven = {bit for name in inner for bit in outputs(cells[name])}
    users, waiting = {}, {}
    for name, through in inner.items():
        wanted = driven.intersection(through)
        waiting[name] = len(wanted)
        for bit in wanted:
            users.setdefault(bit, []).append(name)
    ready = [name for name, count in waiting.items() if count == 0]
    done = 0
    while ready:
        name = ready.pop()
        done += 1
        kind, through = cells[name]["type"], inner[name]
        last = max(through, key=lambda bit: time.get(bit, 0.0), default=None)
        at = time.get(last, 0.0) + delay(kind)
        most = max((levels.get(bit, 0) for bit in through), default=0) + level(kind)
        for bit in outputs(cells[name]):
            time[bit], levels[bit], before[bit] = at, most, (last, kind)
            for user in users.get(bit, []):
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)

    names = {}
    for name, net in module["netnames"].items():
        for index, bit in enumerate(net["bits"]):
            # The shortest name that was given in the source.
            if isinstance(bit, int) and (bit not in names or (net["hide_name"], len(name)) < names[bit][:2]):
                names[bit] = (net["hide_name"], len(name), f"{name}[{index}]")

    def told(bit):
        return names[bit][2] if bit in names else "?"

    def target(name):
        return told(next(iter(outputs(cells[name])), None))

    def path(bit, name):
        kinds, begin = [], bit
        while begin in before:
            kinds.append(before[begin][1])
            begin = before[begin][0]
        return {
            "levels": levels.get(bit, 0),
            "ns": round(time.get(bit, 0.0) + MODEL["begin_and_end_ns"], 2),
            "from": told(begin),
            "to": target(name),
            "through": kinds[::-1],
        }

    # The slowest path into each instance of the design, worst first.
    worst = {}
    for bit, name in ends:
        instance = target(name).rpartition(".")[0]
        if time.get(bit, 0.0) > time.get(worst.get(instance, (None,))[0], -1.0):
            worst[instance] = (bit, name)
    slowest = sorted(worst.values(), key=lambda pair: -time.get(pair[0], 0.0))
    found = [path(*pair) for pair in slowest[:SHOWN]]
    nothing = {"levels": 0, "ns": MODEL["begin_and_end_ns"], "from": "?", "to": "?", "through": []}
    return {
        **(found[0] if found else nothing),
        "levels": max((levels.get(bit, 0) for bit, _ in ends), default=0),
        "in_loops": len(inner) - done,
        "others": found[1:],
    }
