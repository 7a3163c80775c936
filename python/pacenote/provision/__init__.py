"""Engines on this machine: resolved, downloaded, assembled, started as a node, supervised and stopped.

engine.py            the entry point: check a request, install an engine, start it
distribution.py distributions.py opensearch.py elasticsearch.py    what an engine is made of, as data
cars.py              named configurations of a node
maven.py engine_lock.py update_lock.py install.py    the jars of an engine and its folder
java.py java_wheel.py layout.py resources.py files.py cleanup.py    what a node needs on this machine
node.py process.py registry.py engine_log.py    the running node

A new engine is one file beside opensearch.py, and an entry in distributions.py. Clusters that Pacenote does
not start belong to `cluster`. Used by `cluster`, `race`, `lab` and `cli`.
"""
