// SPDX-License-Identifier: Apache-2.0
// Small copies between the device and pinned memory of the host, which the device addresses, too.
#include "abi.cuh"

// One block per part.
KERNEL(copy_parts) {
    const CopyPart part = a.parts[blockIdx.x];
    for (u64 i = threadIdx.x; i < part.bytes; i += BLOCK) part.to[i] = part.from[i];
}
