"""The command line: one module per command, which is imported only when the command runs.

A command module has `UNAVAILABLE_OPTIONS`, `add_options` and `run`, and is listed in `main.COMMANDS`.
`parser` reads options, `console` is the only module that prints. What commands share is in folders:
`options`, `output` (progress, reports, pages, files), `gates`, `lists`, `lab` (experiments, searches,
saturations), `metrics_store`.

The work of a command belongs to other packages; this one converts arguments to requests, and results to text
and exit codes. Used only by `__main__` and the installed command.
"""
