#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Creates .venv in the root of the repository, with the packages of python/requirements-dev.txt and
# an importable `arrowsmith`. Prints nothing on success.
#
#   python/setup.sh [LIBRARY]    with the module that cargo built from the crate arrowsmith-python
#                                (target/debug/lib_lib.so, or target/release/…); without LIBRARY
#                                the existing module stays
#   python/setup.sh demo LIBRARY the same, with only the packages that the demonstration needs
#   python/setup.sh engines LIBRARY
#                                .venv-engines instead, with python/requirements-engines.txt
#   python/setup.sh installed    whether the environment is installed (exit 0 or 1)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$(dirname "$here")/.venv
wanted=$here/requirements-dev.txt
if [ "${1:-}" = engines ]; then
    shift
    venv+=-engines
    wanted=$here/requirements-engines.txt
fi

installed() { cmp -s "$wanted" "$venv/$(basename "$wanted")"; }

quietly() { # prints the output of a command only if it fails
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ $status -eq 0 ] || cat "$log" >&2
    rm -f "$log"
    return $status
}

if [ "${1:-}" = installed ]; then
    installed
    exit
fi
install() { # install LIST
    [ -x "$venv/bin/python" ] || quietly "${PYTHON:-python3}" -m venv "$venv"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --require-hashes -r "$1"
}

if [ "${1:-}" = demo ]; then
    shift
    if ! "$venv/bin/python" -c 'import pyarrow' 2>/dev/null; then
        list=$(mktemp)
        # One package of the list, with its hashes; it needs no other.
        sed -n '/^pyarrow==/,/[^\\]$/p' "$wanted" >"$list"
        install "$list"
        rm -f "$list"
    fi
elif ! installed; then
    install "$wanted"
    cp "$wanted" "$venv/"
fi
# The package in place: changes take effect immediately.
packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$here/python" >"$packages/arrowsmith.pth"
if [ -n "${1:-}" ]; then
    module=$here/python/arrowsmith/_lib.abi3.so
    # Replaced atomically, for a Python process that has the previous one open.
    cmp -s "$1" "$module" || { cp "$1" "$module.new" && mv "$module.new" "$module"; }
fi
