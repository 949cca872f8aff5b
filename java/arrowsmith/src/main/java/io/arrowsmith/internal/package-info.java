// SPDX-License-Identifier: Apache-2.0
/** What the public classes stand on: code generation, memory, the native library. No interface of the library; it may change. */
package io.arrowsmith.internal;
