"""Engines on this machine: resolves, downloads, assembles, starts, supervises and stops them.

engine.py            the entry point: check a request, install an engine, start it
distributions/       the parts of each engine, as data; one file per engine
archives/            official archives: download, unpack, plugins, start
plugin_archives.py   plugins of assembled engines
cars.py              named configurations of a node
maven.py engine_lock.py published_versions.py update_lock.py    the jars of an engine
install.py assembly_steps.py java_module_descriptor.py supplied/    the folder of an engine
java.py java_copy.py java_wheel.py layout.py resources.py public_files.py cleanup.py    requirements of a node
fleet.py node_plan.py node_spec.py    the nodes of a cluster, started and stopped together
node.py node_files.py node_health.py node_logs.py process.py engine_log.py    a running node
node_trees.py        folders that a node has written: taken and given
node_registry.py node_facts.py    the nodes that run, and what is known about them
control_groups.py cpu_affinity.py data_folders.py ports.py    what a node may use
containers/          engines in containers

Clusters that Pacenote does not start belong to `cluster`. Used by `cluster`, `race` and `cli`.
"""
