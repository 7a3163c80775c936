"""The cluster under test as a race sees it, and what it reports about itself.

`cluster.py` has the two kinds, an existing cluster and one that Pacenote starts; `info.py` reads name,
version and nodes. How an engine is installed and started is in `provision`. Used by `race`, `capture`
and `cli`.
"""
