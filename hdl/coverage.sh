#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Line coverage of hdl/rtl by file, in per cent: of the cocotb benches, and of the circuit tests of
# arrowsmith-engine-rtl, whose circuits are compiled again with counters. Takes an hour; fails below
# the required share.
#
#   hdl/coverage.sh [FOLDER]
#
# FOLDER keeps what the circuits covered; what is there already counts too.
#
# ARROWSMITH_SUITES is a folder with the crates' test programs, by the crates' names.
set -euo pipefail
hdl="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder="${1:-$(mktemp -d)}"
mkdir -p "$folder"
"$hdl/../tools/hdl" install
verilator="$("$hdl/../tools/hdl" verilator)"
export ARROWSMITH_VERILATOR="$verilator" ARROWSMITH_RTL_OPTIMIZE=0
ARROWSMITH_RTL_COVERAGE="$(realpath "$folder")"
export ARROWSMITH_RTL_COVERAGE
# The test program that is already built, if ARROWSMITH_SUITES is set.
if [ -n "${ARROWSMITH_SUITES:-}" ]; then
    (cd "$hdl/../crates/arrowsmith-engine-rtl" && "$ARROWSMITH_SUITES/arrowsmith-engine-rtl")
else
    (cd "$hdl/.." && cargo test --locked -p arrowsmith-engine-rtl)
fi
exec "$hdl/../tools/hdl" run python "$hdl/tb/run.py" --coverage --add "$folder" --at-least 95
