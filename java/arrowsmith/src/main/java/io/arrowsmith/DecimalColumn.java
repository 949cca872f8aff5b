// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The digits of a {@link java.math.BigDecimal}: {@code record Item(@DecimalColumn(precision = 10,
 * scale = 2) BigDecimal price)}. It counts for all of them in the type of the field, such as {@code
 * List<BigDecimal>}. A value that does not fit exactly is an error, never rounded.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.FIELD)
public @interface DecimalColumn {
  /**
   * Digits in all.
   *
   * @return the most digits of a value, from 1 to 38
   */
  int precision();

  /**
   * Digits after the point.
   *
   * @return the digits after the point of all values, from 0 to the precision
   */
  int scale();
}
