"""The command line: one module per command, which is imported only when the command runs.

A command module has `UNAVAILABLE_OPTIONS`, `add_options` and `run`, and is listed in `main.COMMANDS`. Shared
parts: `parser` and `values` read options, `configuration` supplies their defaults, `console` is the only
module that prints, `progress` shows the progress of a race, `report_output` prints a report.

The work of a command belongs to other packages; this one converts arguments to requests, and results to text
and exit codes. Used only by `__main__` and the installed command.
"""
