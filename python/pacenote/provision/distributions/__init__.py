"""The description of each engine, from which Pacenote assembles and starts it, as data.

base.py         `Distribution`, which every engine implements
registry.py     the engines by name; a new engine is added here
opensearch.py elasticsearch.py    one file per engine

A distribution has names, options and settings. Resolving, installing and starting an engine belong to
`provision`, which calls this package; `cli` asks the registry for the default version.
"""
