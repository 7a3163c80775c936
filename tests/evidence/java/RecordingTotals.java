import java.nio.charset.StandardCharsets;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Reads a recording with the JDK's own consumer API. Prints one line per group: the type of the events, what they are
 * about, the thread and the stack, and count, sum, smallest and largest value, separated by tabs. Pauses, collections and
 * readings have a line each.
 */
public class RecordingTotals {
    static final class Values {
        long count;
        long total;
        long min = Long.MAX_VALUE;
        long max = Long.MIN_VALUE;
        long bytes;

        void add(long value, long moreBytes) {
            count++;
            total += value;
            min = Math.min(min, value);
            max = Math.max(max, value);
            bytes += moreBytes;
        }
    }

    static final Map<String, Values> GROUPS = new TreeMap<>();

    static String plainName(String name) {
        int dimensions = 0;
        while (dimensions < name.length() && name.charAt(dimensions) == '[') {
            dimensions++;
        }
        if (dimensions == 0) {
            return name;
        }
        String element = name.substring(dimensions);
        String plain = switch (element.charAt(0)) {
            case 'Z' -> "boolean";
            case 'B' -> "byte";
            case 'C' -> "char";
            case 'S' -> "short";
            case 'I' -> "int";
            case 'J' -> "long";
            case 'F' -> "float";
            case 'D' -> "double";
            default -> element.substring(1, element.length() - 1);
        };
        return plain + "[]".repeat(dimensions);
    }

    static String className(RecordedEvent event, String field) {
        RecordedClass type = event.getClass(field);
        return type == null ? "-" : plainName(type.getName());
    }

    static String thread(RecordedThread thread) {
        if (thread == null) {
            return "-";
        }
        boolean isJava = thread.getJavaName() != null;
        String name = isJava ? thread.getJavaName() : thread.getOSName();
        return name + "/" + (isJava ? thread.getJavaThreadId() : "-") + "/" + thread.getOSThreadId();
    }

    static String stack(RecordedStackTrace stack) {
        if (stack == null) {
            return "-";
        }
        StringJoiner frames = new StringJoiner(";");
        for (RecordedFrame frame : stack.getFrames()) {
            String method = plainName(frame.getMethod().getType().getName()) + "." + frame.getMethod().getName();
            frames.add(method + ":" + (frame.getLineNumber() > 0 ? frame.getLineNumber() : "-") + ":" + frame.getType());
        }
        return frames + (stack.isTruncated() ? ";…" : "");
    }

    static void add(RecordedEvent event, String subject, RecordedThread thread, long value, long bytes) {
        String key = String.join("\t", event.getEventType().getName(), subject, thread(thread), stack(event.getStackTrace()));
        GROUPS.computeIfAbsent(key, each -> new Values()).add(value, bytes);
    }

    static long nanos(Instant time) {
        return time.getEpochSecond() * 1_000_000_000L + time.getNano();
    }

    static void single(RecordedEvent event, String subject, long... values) {
        StringJoiner text = new StringJoiner("\t");
        text.add(event.getEventType().getName()).add(subject).add(Long.toString(event.getLong("gcId")));
        text.add(Long.toString(nanos(event.getStartTime()))).add(Long.toString(event.getDuration().toNanos()));
        for (long value : values) {
            text.add(Long.toString(value));
        }
        GROUPS.computeIfAbsent(text.toString(), each -> new Values()).add(0, 0);
    }

    static void reading(RecordedEvent event, String subject, Object... values) {
        StringJoiner text = new StringJoiner("\t");
        text.add(event.getEventType().getName()).add(subject).add(Long.toString(nanos(event.getStartTime())));
        for (Object value : values) {
            text.add(value.toString());
        }
        GROUPS.computeIfAbsent(text.toString(), each -> new Values()).add(0, 0);
    }

    static String peer(RecordedEvent event) {
        String host = event.getString("host");
        String name = host == null || host.isEmpty() ? event.getString("address") : host;
        return name + ":" + event.getInt("port");
    }

    static void read(RecordedEvent event) {
        String name = event.getEventType().getName();
        long duration = event.getDuration().toNanos();
        switch (name.substring(name.lastIndexOf('.') + 1)) {
            case "ObjectAllocationInNewTLAB" ->
                add(event, className(event, "objectClass"), event.getThread(), event.getLong("tlabSize"), 0);
            case "ObjectAllocationOutsideTLAB" ->
                add(event, className(event, "objectClass"), event.getThread(), event.getLong("allocationSize"), 0);
            case "ObjectAllocationSample" ->
                add(event, className(event, "objectClass"), event.getThread(), event.getLong("weight"), 0);
            case "ExecutionSample", "NativeMethodSample" -> add(event, "-", event.getThread("sampledThread"), 1, 0);
            case "CPUTimeSample" -> add(event, "-", event.getThread(), 1, 0);
            case "JavaMonitorEnter", "JavaMonitorWait" ->
                add(event, className(event, "monitorClass"), event.getThread(), duration, 0);
            case "ThreadPark" -> add(event, className(event, "parkedClass"), event.getThread(), duration, 0);
            case "FileRead" -> add(event, event.getString("path"), event.getThread(), duration, event.getLong("bytesRead"));
            case "FileWrite" ->
                add(event, event.getString("path"), event.getThread(), duration, event.getLong("bytesWritten"));
            case "FileForce" -> add(event, event.getString("path"), event.getThread(), duration, 0);
            case "SocketRead" -> add(event, peer(event), event.getThread(), duration, event.getLong("bytesRead"));
            case "SocketWrite" -> add(event, peer(event), event.getThread(), duration, event.getLong("bytesWritten"));
            case "GCPhasePause" -> single(event, event.getString("name"));
            case "GarbageCollection" -> single(
                event,
                event.getString("name") + "/" + event.getString("cause"),
                event.getDuration("sumOfPauses").toNanos(),
                event.getDuration("longestPause").toNanos());
            case "ExecuteVMOperation" -> {
                String key = name + "\t" + event.getString("operation") + "/" + event.getBoolean("safepoint") + "\t-\t-";
                GROUPS.computeIfAbsent(key, each -> new Values()).add(duration, 0);
            }
            case "CPULoad" -> reading(
                event, "-", event.getFloat("jvmUser"), event.getFloat("jvmSystem"), event.getFloat("machineTotal"));
            case "ThreadCPULoad" -> reading(
                event, thread(event.getThread()), event.getFloat("user"), event.getFloat("system"));
            case "GCHeapSummary" -> reading(
                event,
                event.getString("when"),
                event.getLong("heapUsed"),
                event.getLong("heapSpace.committedSize"),
                event.getLong("gcId"));
            case "ThreadAllocationStatistics" ->
                reading(event, thread(event.getThread("thread")), event.getLong("allocated"));
            default -> { }
        }
    }

    public static void main(String[] args) throws Exception {
        long events = 0;
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                events++;
                read(file.readEvent());
            }
        }
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        out.println("events\t" + events);
        GROUPS.forEach((key, each) ->
            out.println(String.join("\t", key, each.count + "", each.total + "", each.min + "", each.max + "", each.bytes + "")));
        out.flush();
    }
}
