"""Statistics over several measurements: pure functions of numbers.

For comparisons (docs/comparing.md), `effect` and `absolute_effect` estimate a change with its interval,
`rank_effect` does so in a way that outliers hardly change, and `words` says what an interval shows.
`multiplicity` and `sequential` keep the share of false alarms with several metrics and looks. `order` draws
the order of races, `blocks` plans their number, and `noise_floor` has the noise to plan with. `sweep` and
`screening` compare more than two variants, `percentile_change` one race with another, and `contingency` two
shares.

`usl` fits the Universal Scalability Law to throughput by number of clients; `fit_usl` is its entry point. The
Rust core computes the statistics of a single race, and `report` determines what a report shows.
"""
