// SPDX-License-Identifier: Apache-2.0
// All Parquet kernels in one file, for ahead-of-time compilation in checks.
#include "levels.cu"
#include "index.cu"
#include "delta.cu"
#include "chain.cu"
#include "values.cu"
#include "snappy.cu"
#include "zstd.cu"
