"""The cluster under test as a race sees it, and what it reports about itself.

`cluster.py` has the two kinds, an existing cluster and one that Pacenote starts; `info.py` reads name,
version and nodes. `provision` installs and starts engines. Used by `race`, `capture`
and `cli`.
"""
