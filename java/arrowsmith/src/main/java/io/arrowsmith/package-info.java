// SPDX-License-Identifier: Apache-2.0
/**
 * Java objects, JSON and Parquet to Apache Arrow, at the speed of the hardware.
 *
 * <p>{@link io.arrowsmith.Columns} converts objects to columns; {@link io.arrowsmith.JsonReader}
 * and {@link io.arrowsmith.ParquetReader} read files into Arrow Java, with the native engines.
 */
package io.arrowsmith;
