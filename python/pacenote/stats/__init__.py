"""Statistics of the results of several measurements: pure functions of numbers.

`usl` fits the Universal Scalability Law to throughput by number of clients; `fit_usl` is its entry point.
Statistics of one race are computed by the Rust core, and what a report shows belongs to `report`. Only `lab`
uses this package.
"""
