"""Reports of stored races.

`summary` and `notes` convert a race record to a `Report` (`rows`), which is only data; the modules of
`render` print it as a table, Markdown, CSV or JSON and do not depend on particular rows. New rows belong in
`summary`, new messages in `notes`. `saturation` renders the result of a saturation.

Nothing here reads files, computes statistics (`stats` does) or determines a verdict (`verdict` does).
Only `cli` uses this package.
"""
