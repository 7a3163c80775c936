package supplied;

import java.lang.instrument.Instrumentation;

/** The Java agent that the server attaches to itself; it hands the instrumentation to the server's own checks. */
public final class EntitlementAgent {
    private EntitlementAgent() {}

    /** Called by the JVM when the server attaches this agent; {@code initializer} is a class of the server. */
    public static void agentmain(String initializer, Instrumentation instrumentation) throws ReflectiveOperationException {
        Class<?> type = Class.forName(initializer, true, ClassLoader.getSystemClassLoader());
        type.getMethod("initialize", Instrumentation.class).invoke(null, instrumentation);
    }
}
