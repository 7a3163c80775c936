"""Rally's plug-in API: the modules that tracks import as `esrally`, and the classes behind them.

Names, signatures and messages follow Rally, so some names have another meaning than in the rest of Pacenote.
Only what public tracks use is provided. `plugins` and `python_tasks` use this package.
"""
