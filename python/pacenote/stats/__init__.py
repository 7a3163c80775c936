"""Statistics over several measurements: pure functions of numbers.

`usl` fits the Universal Scalability Law to throughput by number of clients; `fit_usl` is its entry point. The
Rust core computes the statistics of a single race, and `report` determines what a report shows. Only `lab`
uses this package.
"""
