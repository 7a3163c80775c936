"""Experiments: several measurements, chosen one after another, that answer one question.

`saturate` finds the highest rate that an engine sustains: `rate_search` chooses rates, `probe` decides
whether the engine kept up with one. An experiment races through `race.run.run_stages` and stores its own
document next to the race record; statistics of its results belong to `stats`, their presentation to `report`.

Used only by `cli`.
"""
