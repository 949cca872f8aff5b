// SPDX-License-Identifier: Apache-2.0
// Every kernel in one text, as the checks compile it ahead of time.
#include "scan.cu"
#include "index.cu"
#include "walk.cu"
#include "convert.cu"
#include "strings.cu"
