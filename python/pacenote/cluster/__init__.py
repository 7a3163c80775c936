"""Engines: found running or provisioned, started, watched and always stopped.

cluster.py        the door: existing_cluster, embedded_cluster, install_engine
cars.py           named set-ups of a node
hosts.py rest.py wire.py info.py         talking to a cluster
distribution.py opensearch.py            what an engine is, as knowledge
maven.py lock.py relock.py install.py    getting and assembling it
java.py place.py resources.py            what it needs here
node.py process.py registry.py engine_log.py    running it
leftovers.py         what killed starts left half done
"""
