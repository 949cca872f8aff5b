// SPDX-License-Identifier: Apache-2.0
package bench;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** One object, one call, as JMH measures it. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Single {
    @Param("unsafe")
    public String approach;

    @Param("0")
    public long seed;

    private Approach made;
    private @ROOT@ object;

    @Setup
    public void setup() throws Throwable {
        Native.classes(Layout.CLASSES);
        @ROOT@[] objects = Run.instantiate(1, seed);
        object = objects[0];
        made = Approaches.make(approach);
        if (made.check(objects) != Run.sum(objects)) {
            throw new IllegalStateException("the sum is wrong");
        }
    }

    @Benchmark
    public long one() throws Throwable {
        return made.one(object);
    }

    @TearDown
    public void close() {
        made.close();
    }
}
