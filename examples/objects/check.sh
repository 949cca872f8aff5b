#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and attacks the examples with every installed compiler and word size: layouts are read from
# their object files, C++ is generated, the programs write, read, use and refuse; then the results
# of the Rust reader are compared with those of C++.
#
#   examples/objects/check.sh [MESSAGES]      hostile messages per program (20000)
#
# ARROWSMITH_TOOLS names the folder of the examples of crates/arrowsmith-graph, if they are built
# already. With ARROWSMITH_STRICT=1 a missing compiler is a failure.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
messages=${1:-20000}
target=${CARGO_TARGET_DIR:-$root/target}
tool=${ARROWSMITH_TOOLS:-$target/debug/examples}
[ -n "${ARROWSMITH_TOOLS:-}" ] || (cd "$root" && cargo build --locked --quiet -p arrowsmith-graph --examples)
for part in m32 clang aarch64; do
    "$root/tools/objects" has $part || {
        echo "examples/objects: without $part; cargo xtask setup objects brings it" >&2
        [ "${ARROWSMITH_STRICT:-0}" = 0 ] || exit 1
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One example with one compiler: NAME CLASS NAMESPACE TAG COMPILER FLAGS...
try() {
    local name=$1 class=$2 space=$3 tag=$4 compiler=$5 out=$work/$1-$4
    shift 5
    mkdir -p "$out"
    "$compiler" "$@" -g -std=c++17 -Wall -Wextra -Werror -c "$name/$name.cpp" -o "$out/$name.o"
    "$tool/generate" "$out/$name.o" "$class" "$space" "$out" "$name.hpp"
    "$compiler" "$@" -std=c++17 -Wall -Wextra -Werror \
        -I"$root/cpp/include" -I"$out" -I"$name" "$name/main.cpp" "$out/$space.cpp" "$out/$name.o" -o "$out/run"
    echo "-- $name, $tag"
    "$out/run" "$messages" "$out/cases"
    "$tool/verify" "$out/$space.layout.json" "$out/cases"
}

# A layout only: no program is run. NAME CLASS TAG COMPILER FLAGS...
layout() {
    local name=$1 class=$2 tag=$3 compiler=$4
    shift 4
    "$compiler" "$@" -g -std=c++17 -c "$name/$name.cpp" -o "$work/$name-$tag.o"
    "$tool/layout" "$work/$name-$tag.o" "$class" json >"$work/$name-$tag.json"
}

examples=("expression Node expr" "scene Scene scenes" "catalog Catalog catalogs")
for example in "${examples[@]}"; do
    try $example gcc g++ -O2
    # Of what has vectors, texts; programs of 32 bits have none either.
    [ "${example%% *}" != scene ] || try $example gcc-no-vectors g++ -O2 -DARROWSMITH_GRAPH_NO_VECTORS
    try $example gcc-sanitized g++ -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
    if "$root/tools/objects" has clang; then
        try $example clang clang++ -O2 -fstandalone-debug
    fi
    if "$root/tools/objects" has m32; then
        # Without the package that links asm/ for 32-bit programs.
        try $example gcc-i386 g++ -O2 -m32 -idirafter /usr/include/x86_64-linux-gnu
    fi
done

# The layouts in the repository are those that the compiler gives.
sed 's/"compiler": .*/"compiler": ""/' "$work/expression-gcc/expr.layout.json" >"$work/now"
sed 's/"compiler": .*/"compiler": ""/' expression/layout-x86_64.json | diff - "$work/now"
sed 's/"compiler": .*/"compiler": ""/' "$work/catalog-gcc/catalogs.layout.json" >"$work/now"
sed 's/"compiler": .*/"compiler": ""/' catalog/layout-x86_64.json | diff - "$work/now"
if "$root/tools/objects" has m32; then
    sed 's/"compiler": .*/"compiler": ""/' "$work/expression-gcc-i386/expr.layout.json" >"$work/now"
    sed 's/"compiler": .*/"compiler": ""/' expression/layout-i386.json | diff - "$work/now"
fi
# GCC and Clang agree on every byte of the examples, in memory and on the wire; they spell the
# arguments of templates differently, which name alternatives.
if "$root/tools/objects" has clang; then
    for pair in expression/expr scene/scenes catalog/catalogs; do
        for compiler in gcc clang; do
            sed 's/"compiler": .*/"compiler": ""/; /"name": "std::/d' "$work/${pair%/*}-$compiler/${pair#*/}.layout.json" >"$work/$compiler.json"
        done
        diff "$work/gcc.json" "$work/clang.json"
    done
fi
# aarch64 lays these classes out as x86-64 does.
if "$root/tools/objects" has aarch64; then
    layout expression Node aarch64 clang++ --target=aarch64-linux-gnu -fstandalone-debug
    sed 's/"compiler": .*/"compiler": ""/; s/aarch64/x86_64/' "$work/expression-aarch64.json" >"$work/now"
    sed 's/"compiler": .*/"compiler": ""/' expression/layout-x86_64.json | diff - "$work/now"
fi
# Linked programs and libraries give the same layout as the object file.
for flags in "-shared -fPIC" "-no-pie" "-pie -fPIE"; do
    tag=${flags%% *}
    g++ $flags -g -O2 -std=c++17 scene/scene.cpp -x c++ - -o "$work/linked$tag" <<<'int main() {}'
    "$tool/layout" "$work/linked$tag" Scene json | diff - "$work/scene-gcc/scenes.layout.json"
done
echo "layouts agree"
