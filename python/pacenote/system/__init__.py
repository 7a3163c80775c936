"""What the kernel gives every part of Pacenote once: processes and their identity, locks, control groups,
who owns a file, and folders of any depth.
"""
