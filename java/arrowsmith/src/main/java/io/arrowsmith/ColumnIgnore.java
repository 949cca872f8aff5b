// SPDX-License-Identifier: Apache-2.0
package io.arrowsmith;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A field without a column, as transient fields are: {@code record Event(long id, @ColumnIgnore
 * Object context)}. Decoded objects have null, 0 or false there, or what the constructor without
 * parameters sets.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.FIELD)
public @interface ColumnIgnore {}
