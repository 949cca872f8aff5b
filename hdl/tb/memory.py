# SPDX-License-Identifier: Apache-2.0
"""A memory at the write channel of an AXI port, strict about its rules."""

PAGE = 4096


class Memory:
    """Responses in order, each after the burst's last beat; with `refuse`, some are errors. It hits
    the points of a bench that are about bursts."""

    def __init__(self, chance, width, most, points, refuse):
        self.chance, self.width, self.most, self.points, self.refuse = chance, width, most, points, refuse
        self.bytes, self.bursts, self.at, self.due, self.refused = {}, 0, 0, 0, False
        self.open, self.held, self.answer = [], {"aw": None, "w": None}, None

    def address(self, address, beats):
        assert beats <= self.most and address % self.width == 0
        assert address // PAGE == (address + beats * self.width - 1) // PAGE, "crosses 4 KiB"
        self.points.hit("border of 4 KiB", (address + beats * self.width) % PAGE == 0)
        self.points.hit("short burst", beats < self.most)
        self.points.hit("full burst", beats == self.most)
        self.open.append((address, beats))
        self.bursts += 1
        self.points.hit("several outstanding", len(self.open) + self.due > 2)

    def beat(self, data, strobe, last):
        address, beats = self.open[0]
        for byte in range(self.width):
            if strobe >> byte & 1:
                place = address + self.at * self.width + byte
                assert place not in self.bytes, "written twice"
                self.bytes[place] = data >> 8 * byte & 0xFF
        self.at += 1
        assert last == (self.at == beats)
        if last:
            self.open.pop(0)
            self.at, self.due = 0, self.due + 1

    def drive(self, dut, stalls):
        """What it offers in this cycle, of which `stalls` per cent pause."""
        address = self.chance.randrange(100) >= stalls
        dut.aw_ready_i.value = int(address)
        # A beat is taken with its address, or later.
        begun = self.open or (address and dut.aw_valid_o.value)
        dut.w_ready_i.value = int(bool(begun) and self.chance.randrange(100) >= stalls)
        self.answer = None
        if self.due > 0 and self.chance.randrange(100) >= stalls:
            self.answer = 2 if self.refuse and self.chance.randrange(4) == 0 else 0
        dut.b_valid_i.value, dut.b_resp_i.value = int(self.answer is not None), self.answer or 0

    def sample(self, dut):
        """Takes what it was offered, after the clock's edge."""
        for name, payload in (("aw", ("aw_addr_o", "aw_len_o")), ("w", ("w_data_o", "w_strb_o", "w_last_o"))):
            if not getattr(dut, f"{name}_valid_o").value:
                assert self.held[name] is None, "what was offered is gone"
                continue
            now = [int(getattr(dut, port).value) for port in payload]
            assert self.held[name] in (None, now), "what waited has changed"
            taken = getattr(dut, f"{name}_ready_i").value
            self.held[name] = None if taken else now
            self.points.hit({"aw": "address waited", "w": "beat waited"}[name], not taken)
            if taken and name == "aw":
                self.address(now[0], now[1] + 1)
            elif taken:
                self.beat(*now)
        if self.answer is not None:
            self.due -= 1
            self.refused |= self.answer != 0

    def end(self):
        assert not self.open and self.due == 0, "a burst is open"
        self.points.hit("refused", self.refused)
