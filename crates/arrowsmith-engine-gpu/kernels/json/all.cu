// SPDX-License-Identifier: Apache-2.0
// All JSON kernels, and that of copies, in one file, for ahead-of-time compilation in checks.
#include "../copy.cu"
#include "scan.cu"
#include "index.cu"
#include "walk.cu"
#include "convert.cu"
#include "strings.cu"
