import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** Allocates, computes, waits for locks, and reads and writes files and sockets, in rounds of which it is told the number. */
public class RecordedLoad {
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile Object sink;
    static volatile double result;

    static void allocateArrays(int count, int size) {
        for (int i = 0; i < count; i++) {
            sink = new byte[size];
        }
    }

    static void concatenate(int count) {
        for (int i = 0; i < count; i++) {
            sink = "text " + i + count;
        }
    }

    static void fillList(int count) {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            list.add(i + 1000);
        }
        sink = list;
    }

    static double recurse(int depth) {
        return depth == 0 ? Math.sqrt(System.nanoTime()) : 1 + recurse(depth - 1);
    }

    static void compute(int count) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += recurse(i % 100);
        }
        result = sum;
    }

    static void blockOthers() throws InterruptedException {
        synchronized (MONITOR) {
            Thread.sleep(1);
        }
        LOCK.lock();
        try {
            Thread.sleep(1);
        } finally {
            LOCK.unlock();
        }
    }

    static void useFile(Path path) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.write(new byte[4096]);
            file.getChannel().force(true);
            file.seek(0);
            file.read(new byte[4096]);
        }
    }

    static void work(int worker, int rounds) {
        try {
            Path path = Files.createTempFile("ünicode-" + worker, ".bin");
            for (int round = 0; round < rounds; round++) {
                allocateArrays(200, 300 + 1000 * worker);
                allocateArrays(2, 600_000);
                concatenate(500);
                fillList(3000);
                compute(2000);
                blockOthers();
                useFile(path);
            }
            Files.delete(path);
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void receive(ServerSocket server) {
        try (Socket socket = server.accept()) {
            byte[] bytes = new byte[1000];
            while (socket.getInputStream().read(bytes) > 0) {
                sink = bytes;
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        List<Thread> threads = new ArrayList<>();
        try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            threads.add(new Thread(() -> receive(server), "receiver"));
            for (int i = 0; i < 3; i++) {
                int worker = i;
                threads.add(new Thread(() -> work(worker, rounds), "worker-" + worker));
            }
            for (Thread thread : threads) {
                thread.start();
            }
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                for (int round = 0; round < rounds; round++) {
                    socket.getOutputStream().write(new byte[1000]);
                    Thread.sleep(2);
                }
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.gc();
    }
}
