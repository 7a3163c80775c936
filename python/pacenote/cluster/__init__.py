"""The cluster under test as a race uses it, and the information that it reports.

`cluster.py` defines both kinds, an existing cluster and one that Pacenote starts; `info.py` reads the name,
version and nodes. `provision` installs and starts engines. Used by `race`, `capture` and `cli`.
"""
