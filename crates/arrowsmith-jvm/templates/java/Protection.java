// SPDX-License-Identifier: Apache-2.0
package bench;

import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import com.sun.management.HotSpotDiagnosticMXBean;

/**
 * The mechanism that keeps objects in place while native code reads the heap.
 *
 * <p>A local or a global reference keeps an object alive; it does not stop a collector from moving
 * it, or the objects it refers to. The mechanism that keeps all of them in place differs by
 * collector:
 *
 * <ul>
 *   <li>Epsilon never moves objects.
 *   <li>Serial and Parallel, and G1 before JDK 22: while a thread holds a critical array, no
 *       collection begins.
 *   <li>G1 from JDK 22 on pins the region of that array and collects the others. It moves objects
 *       at safepoints only, and none begins while a thread is in a critical downcall of the Foreign
 *       Function & Memory API.
 *   <li>ZGC and Shenandoah move objects while threads run, and references in the heap may be stale.
 *       Native code cannot prevent that, so they are refused.
 * </ul>
 */
enum Protection {
    /** Objects never move. */
    NONE,
    /** A critical array is held. */
    CRITICAL_ARRAY,
    /** A critical downcall is in progress. */
    CRITICAL_CALL;

    /** The newest JDK version that this was verified for. */
    private static final int FEATURE_MAX = 25;

    /** Calls native code with an object. */
    interface Call {
        long run(Object target, long count, int threads, int operation, int dwellMs) throws Throwable;
    }

    /** The collector of this VM: Serial, Parallel, G1, Z, Shenandoah, Epsilon. */
    static String collector() {
        for (String name : new String[] {"Serial", "Parallel", "G1", "Z", "Shenandoah", "Epsilon"}) {
            if (flag("Use" + name + "GC")) {
                return name;
            }
        }
        throw new UnsupportedOperationException("the collector of this VM is not known");
    }

    /** A flag of the VM; an unknown one is off. */
    static boolean flag(String name) {
        HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        if (bean == null) {
            throw new UnsupportedOperationException("this VM is not HotSpot");
        }
        try {
            return Boolean.parseBoolean(bean.getVMOption(name).getValue());
        } catch (IllegalArgumentException unknown) {
            return false;
        }
    }

    /** The protection for this VM; throws with the reason if there is none. */
    static Protection find() {
        int feature = Runtime.version().feature();
        String collector = collector();
        if (feature < 17 || feature > FEATURE_MAX) {
            throw new UnsupportedOperationException("direct access is known to be safe on JDK 17 to " + FEATURE_MAX
                    + " only, this is " + feature);
        }
        switch (collector) {
            case "Epsilon":
                return NONE;
            case "Serial":
            case "Parallel":
                return CRITICAL_ARRAY;
            case "G1":
                return feature < 22 ? CRITICAL_ARRAY : CRITICAL_CALL;
            default:
                throw new UnsupportedOperationException(collector + "GC moves objects while native code reads them; "
                        + "direct access needs Serial, Parallel, G1 or Epsilon");
        }
    }

    Call call() {
        switch (this) {
            case NONE:
                return (target, count, threads, operation, dwellMs) ->
                        Native.direct(target, count, threads, operation, dwellMs, null);
            case CRITICAL_ARRAY:
                byte[] pin = new byte[1];
                return (target, count, threads, operation, dwellMs) ->
                        Native.direct(target, count, threads, operation, dwellMs, pin);
            default:
                try {
                    return (Call) Class.forName("bench.Foreign").getDeclaredMethod("call").invoke(null);
                } catch (InvocationTargetException failure) {
                    throw new UnsupportedOperationException("" + failure.getCause(), failure.getCause());
                } catch (ReflectiveOperationException | LinkageError failure) {
                    throw new UnsupportedOperationException("a critical downcall needs JDK 22: " + failure, failure);
                }
        }
    }
}
