// SPDX-License-Identifier: Apache-2.0
/**
 * The implementation of the public classes: code generation, memory, the native library. Not part
 * of the API; it may change.
 */
package io.arrowsmith.internal;
