"""Exports races for other programs: one list of figures, written as JSON, CSV, Parquet or OpenMetrics text.

`metrics` has the table of all metrics, `figures` reads them from a race record, `document` adds what is known
of the race; `csv`, `json`, `openmetrics` and `parquet` write it, one race after the other, so that the memory
does not grow with their number.
"""
