# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m arrowsmith`, and the `arrowsmith` that pip installs."""

import signal
import sys

from arrowsmith import _lib


def main() -> int:
    """Run the command with the arguments of the process, and return its exit status."""
    # Python's own handler would run only after the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _lib.main(["arrowsmith", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
