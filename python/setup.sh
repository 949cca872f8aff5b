#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv at the top of the repository, with what python/requirements-dev.txt names, and builds
# the package into it, with what cargo is told besides: --features shim for all tests of the GPU engine. Says nothing when
# there is nothing to say.
set -euo pipefail
cd "$(dirname "$0")"
venv=$(cd .. && pwd)/.venv
log=$(mktemp)
trap 'rm -f "$log"' EXIT

quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }; }

[ -x "$venv/bin/python" ] || quietly "${PYTHON:-python3}" -m venv "$venv"
if ! cmp -s requirements-dev.txt "$venv/requirements-dev.txt"; then
    quietly "$venv/bin/python" -m pip install --require-hashes -r requirements-dev.txt
    cp requirements-dev.txt "$venv/requirements-dev.txt"
fi
VIRTUAL_ENV=$venv quietly "$venv/bin/maturin" develop --release "$@"
