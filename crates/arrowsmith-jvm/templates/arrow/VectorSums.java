// SPDX-License-Identifier: Apache-2.0
package bench;

import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.StructVector;

/** Adds up the columns of a batch in native code. */
final class VectorSums {
    private VectorSums() {}

    static long of(VectorSchemaRoot root, long from, long to) {
        long sum = 0;
        for (FieldVector vector : root.getFieldVectors()) {
            sum += of(vector, from, to);
        }
        return sum;
    }

    private static long of(FieldVector vector, long from, long to) {
        if (from >= to) {
            return 0;
        }
        if (vector instanceof StructVector struct) {
            return struct(struct, (int) from, (int) to);
        }
        if (vector instanceof ListVector list) {
            long first = list.getOffsetBuffer().getInt(4L * from);
            long last = list.getOffsetBuffer().getInt(4L * to);
            return of(list.getDataVector(), first, last);
        }
        if (vector instanceof BaseVariableWidthVector text) {
            long first = text.getOffsetBuffer().getInt(4L * from);
            long last = text.getOffsetBuffer().getInt(4L * to);
            int kind = text instanceof VarBinaryVector ? 1 : 8;
            return Native.column(kind, text.getDataBufferAddress(), 0, first, last);
        }
        int kind =
                switch (vector.getMinorType()) {
                    case BIT -> 0;
                    case TINYINT -> 1;
                    case SMALLINT -> 2;
                    case UINT2 -> 3;
                    case INT -> 4;
                    case BIGINT -> 5;
                    case FLOAT4 -> 6;
                    case FLOAT8 -> 7;
                    default -> throw new IllegalStateException("a column of type " + vector.getMinorType());
                };
        long validity = vector.getNullCount() == 0 ? 0 : vector.getValidityBufferAddress();
        return Native.column(kind, vector.getDataBufferAddress(), validity, from, to);
    }

    /** Values of null rows are undefined: only runs of non-null ones are added. */
    private static long struct(StructVector struct, int from, int to) {
        boolean whole = struct.getNullCount() == 0;
        long sum = 0;
        while (from < to) {
            int end = to;
            if (!whole) {
                while (from < to && struct.isNull(from)) {
                    from++;
                }
                end = from;
                while (end < to && !struct.isNull(end)) {
                    end++;
                }
            }
            for (FieldVector child : struct.getChildrenFromFields()) {
                sum += of(child, from, end);
            }
            from = end;
        }
        return sum;
    }
}
