// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The name of a field's column, where it is not that of the field: {@code record
 * Trip(@ColumnName("trip id") long id)}.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.FIELD)
public @interface ColumnName {
  /**
   * The name.
   *
   * @return the name of the column
   */
  String value();
}
