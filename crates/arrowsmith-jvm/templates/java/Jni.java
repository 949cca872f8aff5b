// SPDX-License-Identifier: Apache-2.0
package bench;

/** Native code walks by JNI; with critical arrays, field identifiers are looked up once. */
final class Jni implements Approach {
    private final boolean critical;

    Jni(boolean critical) {
        this.critical = critical;
    }

    @Override
    public long one(@ROOT@ object) {
        return Native.jniOne(object, critical);
    }

    @Override
    public long all(@ROOT@[] objects, int threads) {
        return Native.jni(objects, threads, critical);
    }
}
