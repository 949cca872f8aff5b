// SPDX-License-Identifier: Apache-2.0
// Byte addresses of the registers that all JSON circuits have, in 32-bit words; a 64-bit value is
// two of them, the low one first. The generated document of a circuit describes them. A test keeps
// these equal to the generator's output.
#pragma once

#define AS_JSON_BLOCK_BYTES 0x20u
#define AS_JSON_IDENTITY 0x0000u
#define AS_JSON_IDENTITY_VALUE 0x4d535241ull
#define AS_JSON_VERSION 0x0004u
#define AS_JSON_VERSION_VALUE 0x2ull
#define AS_JSON_SCHEMA_HASH 0x0008u
#define AS_JSON_SHAPE 0x0010u
#define AS_JSON_COUNTS 0x0014u
#define AS_JSON_CONTROL 0x0018u
#define AS_JSON_CONTROL_START (1u << 0)
#define AS_JSON_STATUS 0x001cu
#define AS_JSON_STATUS_BUSY (1u << 0)
#define AS_JSON_STATUS_DONE (1u << 1)
#define AS_JSON_STATUS_ERROR (1u << 2)
#define AS_JSON_ERROR_CODE 0x0020u
#define AS_JSON_CYCLES 0x0048u
#define AS_JSON_STARVED 0x0050u
#define AS_JSON_BLOCKED 0x0058u
#define AS_JSON_REFUSE_UNKNOWN 0x0060u
#define AS_JSON_RECORD_BYTES_MAX 0x0064u
#define AS_JSON_DEPTH_MAX 0x0068u
#define AS_JSON_INPUT_ADDRESS 0x1000u
#define AS_JSON_INPUT_LENGTH 0x1008u
#define AS_JSON_INPUT_FAULT 0x100cu
#define AS_JSON_INPUT_POSITION 0x1010u
#define AS_JSON_INPUT_ROWS 0x1018u
#define AS_JSON_BUFFER_ADDRESS 0x2000u
#define AS_JSON_BUFFER_CAPACITY 0x2008u
