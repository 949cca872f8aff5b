# SPDX-License-Identifier: Apache-2.0
"""Compiles, in Verilator's place for OBJCACHE: its own runtime, which is the same in every bench, once for all benches of a run.

AS_ONCE is the folder of what was compiled.
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
# Benches that run beside each other wait for the first.
with kept.with_suffix(".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not kept.exists():
        code = subprocess.run(command).returncode
        if code:
            sys.exit(code)
        shutil.copy(output, kept)
shutil.copy(kept, output)
