"""Converts the name of a track to its model: locates, renders, parses and adapts the track.

`prepare` is the entry point. `source` and `repository` find tracks, `includes` and `render` assemble and
render their text, `parse*` read it and collect all problems, and `filters`, `serverless`, `test_mode` and
`pacing_overrides` filter and adapt the result. The meaning of operations (`operations`), the plan and data
files do not belong in this package. Only `source`, `load`, `render`, `params`, `dependencies` and `summary`
access the disk. Used by `cli` and `race`.
"""
