/** Three threads that allocate arrays, most of them outside TLABs if these are small. */
public class AllocatingThreads {
    static volatile Object sink;

    static void allocateBytes(int count) {
        for (int i = 0; i < count; i++) {
            sink = new byte[20_000];
        }
    }

    static void allocateLongs(int count) {
        for (int i = 0; i < count; i++) {
            sink = new long[3_000];
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[3];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    allocateBytes(100);
                    allocateLongs(100);
                }
            }, "worker-" + at);
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
