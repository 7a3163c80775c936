"""From a track and a challenge to the plan that the driver runs.

`build` is the entry point: it resolves and compiles every operation (`resolve`, `pacenote.operations`),
converts target rates to intervals (`pacing`), bounds the tasks (`bounds`) and allocates clients (`allocate`).
`document` mirrors `crates/plan` and is the only module that defines the JSON of a plan. `corpora` determines
the data that a challenge needs, and `explain` describes a plan for `--dry-run`. All functions are pure: they
do not use a clock, files or the network. `race`, `lab` and `cli` call them.
"""
