"""What the kernel gives every part of Pacenote once: processes and their identity, locks, control groups,
who owns a file, paths and folders that others have written, and the memory of other processes.
"""
