"""Reports of stored races.

`summary` and `notes` turn a race record into a `Report` (`rows`), which is data; the modules of `render`
print it as a table, Markdown, CSV or JSON and do not depend on particular rows. A new row belongs in
`summary`, a new sentence in `notes`. `saturation` renders the result of a saturation.

Nothing here reads files or computes statistics (`stats` does) or decides a verdict (`model.verdict` does).
Only `cli` calls it.
"""
