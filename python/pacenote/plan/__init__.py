"""From a track and a challenge to the plan that the driver runs.

`build` is the entry point: it resolves and compiles every operation (`resolve`, `pacenote.operations`), turns
target rates into intervals (`pacing`), bounds the tasks (`bounds`) and allocates clients (`allocate`).
`document` mirrors `crates/plan` and is the only place that knows the JSON of a plan. `corpora` says which
data a challenge needs, `explain` describes a plan for `--dry-run`. Everything here is pure: no clock, no
files, no network. `race`, `lab` and `cli` call it.
"""
