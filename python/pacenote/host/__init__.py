"""The machine: reads its configuration and state as facts, and checks them for what hurts an engine.

    facts.py            collects facts, and the reasons why others could not be read
    kernel.py cpu.py disks.py network.py process.py readings.py   one area each
    machine.py          all areas together
    checks.py           what the facts mean for an engine, and what to do

Everything is read from /proc, /sys and a few system calls; nothing is changed and no program is run. Reading
never raises: a fact that cannot be read is left out, with the reason.
"""
