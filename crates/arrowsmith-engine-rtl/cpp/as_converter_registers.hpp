// SPDX-License-Identifier: Apache-2.0
// Byte addresses of the registers that all converters have, in words of 32 bits; a value of 64 bits is two of them, the low one first. What
// they mean is in the generated document of a circuit. A test keeps these equal to what the generator writes.
#pragma once

#define AS_CONVERTER_BLOCK_BYTES 0x20u
#define AS_CONVERTER_IDENTITY 0x0000u
#define AS_CONVERTER_IDENTITY_VALUE 0x4d535241ull
#define AS_CONVERTER_VERSION 0x0004u
#define AS_CONVERTER_VERSION_VALUE 0x1ull
#define AS_CONVERTER_SCHEMA_HASH 0x0008u
#define AS_CONVERTER_SHAPE 0x0010u
#define AS_CONVERTER_COUNTS 0x0014u
#define AS_CONVERTER_CONTROL 0x0018u
#define AS_CONVERTER_CONTROL_START (1u << 0)
#define AS_CONVERTER_CONTROL_ABORT (1u << 1)
#define AS_CONVERTER_STATUS 0x001cu
#define AS_CONVERTER_STATUS_BUSY (1u << 0)
#define AS_CONVERTER_STATUS_DONE (1u << 1)
#define AS_CONVERTER_STATUS_ERROR (1u << 2)
#define AS_CONVERTER_ERROR_CODE 0x0020u
#define AS_CONVERTER_ERROR_UNIT 0x0024u
#define AS_CONVERTER_ERROR_POSITION 0x0028u
#define AS_CONVERTER_ROWS 0x0040u
#define AS_CONVERTER_CYCLES 0x0048u
#define AS_CONVERTER_STALL_INPUT 0x0050u
#define AS_CONVERTER_STALL_OUTPUT 0x0058u
#define AS_CONVERTER_INPUT_ADDRESS 0x1000u
#define AS_CONVERTER_INPUT_LENGTH 0x1008u
#define AS_CONVERTER_INPUT_ITEMS 0x1010u
#define AS_CONVERTER_INPUT_ROWS 0x1018u
#define AS_CONVERTER_BUFFER_ADDRESS 0x2000u
#define AS_CONVERTER_BUFFER_CAPACITY 0x2008u
#define AS_CONVERTER_BUFFER_LENGTH 0x2010u
