// SPDX-License-Identifier: Apache-2.0
// All kernels in one file, for ahead-of-time compilation in checks.
#include "scan.cu"
#include "index.cu"
#include "walk.cu"
#include "convert.cu"
#include "strings.cu"
