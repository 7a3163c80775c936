"""Rally's plug-in API: the modules that tracks import as `esrally`, and the classes behind them.

Names, signatures and messages here follow Rally, so some repeat names that the rest of Pacenote uses for
something else. Only what public tracks use is provided. Called by `plugins` and `python_tasks`.
"""
