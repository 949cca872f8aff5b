// SPDX-License-Identifier: Apache-2.0
// Every kernel of Parquet in one text, as the checks compile it ahead of time.
#include "levels.cu"
#include "values.cu"
#include "snappy.cu"
#include "zstd.cu"
