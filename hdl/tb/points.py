# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: counts how often a bench reaches each of its declared points. run.py prints
how many of all were hit; a bench that misses one fails."""

import json
import pathlib

# Next to the results of the run.
WRITTEN = pathlib.Path("points.json")


class Points:
    """The points of a bench, by name."""

    def __init__(self, *names):
        self.hits = dict.fromkeys(names, 0)

    def hit(self, name, happened=True):
        self.hits[name] += bool(happened)

    def end(self):
        """Writes the counts; fails if a point was never hit."""
        WRITTEN.write_text(json.dumps(self.hits))
        missed = [name for name, times in self.hits.items() if not times]
        assert not missed, f"never seen: {', '.join(missed)}"
