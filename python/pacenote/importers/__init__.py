"""Reads the results of other tools: the documents, summaries and comparisons of Rally and of OpenSearch
Benchmark.

`files` finds and reads files. A file is JSON (`documents`), or text, perhaps HTML, with tables:
`tables` finds them, `headers` reads the text before them, `table_races` makes races of both. `metrics` gives
figures the names and units of Rally's current report, and `records` makes records for the store. All but
`files` are pure.
"""
