#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every lint and test of the package. Run setup.sh first.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(cd .. && pwd)/.venv/bin

cargo fmt --check
# What maturin wrote about Python keeps cargo from compiling the bindings anew, here and next time.
config=$(find "${CARGO_TARGET_DIR:-$PWD/../target}/maturin" -name 'pyo3-config-*.txt' 2>/dev/null | head -n 1)
PYO3_BUILD_EXTENSION_MODULE=1 ${config:+env PYO3_CONFIG_FILE="$(realpath "$config")"} \
    cargo clippy --release --quiet --locked -- -D warnings
"$bin/ruff" check --quiet
"$bin/ruff" format --check --quiet
"$bin/mypy"
"$bin/python" -m mypy.stubtest --concise arrowsmith._lib
"$bin/python" -m pytest "$@"
