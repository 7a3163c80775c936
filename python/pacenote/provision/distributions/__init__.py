"""Declarative descriptions of the engines, from which Pacenote assembles and starts them.

base.py          `Distribution`, which every engine implements
parts.py         the artifacts and modules of an installation, and the folders of a node
node_config.py   texts and options that several engines have in common
registry.py      the engines by name; a new engine is added here

Every other file describes one engine: names, options and settings. Resolving, installing and starting an
engine belong to `provision`, which calls this package and defines two types that it uses: the modules of a
lock (`engine_lock.py`) and versions of Java (`java.py`). `race` and `cli` look up the default version here.
"""
