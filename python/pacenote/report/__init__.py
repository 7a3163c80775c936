"""Reports: what a stored race is shown as.

`summary` and `notes` turn a race record into a `Report` (`model`), which is data; the modules of `render`
print it as a table, Markdown, CSV or JSON without knowing any row. A new row belongs into `summary`, a new
sentence into `notes`. `saturation` renders the result of a saturation.

Nothing here reads files or computes statistics (`stats` does) or decides a verdict (`model.verdict` does).
Only `cli` calls it.
"""
