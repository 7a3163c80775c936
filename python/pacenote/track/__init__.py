"""From the name of a track to its model: locate, render, parse, adapt to the request.

`prepare` is the entry point. `source` and `repository` find tracks, `includes` and `render` assemble and
render their text, `parse*` read it with all problems at once, and `filters`, `serverless`, `test_mode` and
`pacing_overrides` cut and change the result. Does not belong here: what operations mean (`operations`), the
plan, and data files. Only `source`, `repository`, `git`, `dependencies` and `summary` touch the disk. `cli`,
`race` and `lab` call it.
"""
