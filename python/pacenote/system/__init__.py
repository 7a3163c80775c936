"""What the kernel gives every part of Pacenote once: processes and their identity, locks, control groups, and
who owns a file.
"""
