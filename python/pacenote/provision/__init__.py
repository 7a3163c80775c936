"""Engines on this machine: resolves, downloads, assembles, starts, supervises and stops them.

engine.py            the entry point: check a request, install an engine, start it
distributions/       the parts of each engine, as data; one file per engine
cars.py              named configurations of a node
maven.py engine_lock.py update_lock.py install.py    the jars of an engine and its folder
java.py java_wheel.py layout.py resources.py public_files.py cleanup.py    requirements of a node
node.py process.py node_registry.py engine_log.py    the running node

Clusters that Pacenote does not start belong to `cluster`. Used by `cluster`, `race` and `cli`.
"""
