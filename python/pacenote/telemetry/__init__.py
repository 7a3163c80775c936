"""What is observed beside a race: the engine's own counters and the driver's host."""
