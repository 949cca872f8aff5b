# SPDX-License-Identifier: Apache-2.0
"""Compiler wrapper for Verilator's OBJCACHE: compiles Verilator's runtime, which is the same for
every bench, once for all benches of a run.

AS_ONCE is the folder of compiled objects.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

command = sys.argv[1:]
source, output = command[-1], command[command.index("-o") + 1]
runtime = pathlib.Path(os.environ["VERILATOR_ROOT"], "include")
if pathlib.Path(source).parent != runtime:
    sys.exit(subprocess.run(command).returncode)
kept = pathlib.Path(os.environ["AS_ONCE"], hashlib.sha256("\0".join(command).encode()).hexdigest())
# Benches that run in parallel wait for the first.
with kept.with_suffix(".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not kept.exists():
        code = subprocess.run(command).returncode
        if code:
            sys.exit(code)
        shutil.copy(output, kept)
shutil.copy(kept, output)
