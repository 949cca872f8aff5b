# SPDX-License-Identifier: Apache-2.0
"""Compiler wrapper for Verilator's OBJCACHE: compiles Verilator's runtime, which is the same for
every bench and circuit, once.

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
# The folders of a circuit's own sources have nothing of the runtime.
same = "\0".join(word for word in command if word != output and not word.startswith("-I"))
kept = pathlib.Path(os.environ["AS_ONCE"], hashlib.sha256(same.encode()).hexdigest())
# Those that run in parallel wait for the first.
with kept.with_suffix(".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not kept.exists():
        code = subprocess.run(command).returncode
        if code:
            sys.exit(code)
        shutil.copy(output, kept)
shutil.copy(kept, output)
