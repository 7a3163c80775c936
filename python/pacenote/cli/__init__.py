"""The command line: one module per command, which is imported only when the command runs.

A command module has `UNAVAILABLE_OPTIONS`, `add_options` and `run`, and is listed in `main.COMMANDS`. Shared
parts: `parser` and `values` read options, `configuration` supplies their defaults, `console` is the only
place that prints, `progress` shows how a race goes, `report_output` prints a report.

What a command does belongs to the packages below; this one turns arguments into requests, and results into
text and exit codes. Only `__main__` and the installed command call it.
"""
