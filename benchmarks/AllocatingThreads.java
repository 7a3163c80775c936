/** Three threads that allocate arrays, most of them outside TLABs if these are small, at the end of deep or flat stacks. */
public class AllocatingThreads {
    static final int PATHS = 2048;
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

    static void allocate(int count) {
        allocateBytes(count);
        allocateLongs(count);
    }

    static void left(int depth, int path, int count) {
        descend(depth - 1, path, count);
    }

    static void right(int depth, int path, int count) {
        descend(depth - 1, path, count);
    }

    /** Allocates below `2 * depth` callers, which the bits of `path` determine. */
    static void descend(int depth, int path, int count) {
        if (depth == 0) {
            allocate(count);
        } else if ((path >> depth % 11 & 1) == 0) {
            left(depth, path, count);
        } else {
            right(depth, path, count);
        }
    }

    /** Takes the number of rounds, and half the depth of the stacks, which is 0 for flat stacks. */
    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        int depth = Integer.parseInt(args[1]);
        int count = depth == 0 ? 100 : 4;
        Thread[] threads = new Thread[3];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    descend(depth, round % PATHS, count);
                }
            }, "worker-" + at);
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
