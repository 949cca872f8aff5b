#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many per cent of the lines of hdl/rtl run in tests, by file: in the cocotb benches, and in the whole circuits of the tests of
# arrowsmith-engine-rtl, which are compiled once more, to count. Takes an hour; fails below the share that is wanted.
#
#   hdl/coverage.sh [FOLDER]      keeps what circuits covered in FOLDER; what is there already counts too
set -euo pipefail
hdl="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder="${1:-$(mktemp -d)}"
mkdir -p "$folder"
"$hdl/../tools/hdl" install
verilator="$("$hdl/../tools/hdl" verilator)"
(cd "$hdl/.." && ARROWSMITH_VERILATOR="$verilator" ARROWSMITH_RTL_COVERAGE="$(realpath "$folder")" ARROWSMITH_RTL_OPTIMIZE=0 \
    cargo test --release -p arrowsmith-engine-rtl)
exec "$hdl/../tools/hdl" run python "$hdl/tb/run.py" --coverage --add "$folder" --at-least 95
