"""Python code that comes with a track: loaded, registered, and applied to the track and its data.

`rally_api` contains everything with Rally's names and signatures. Code that runs during the measurement
belongs to `python_tasks`. `race` and `python_tasks` use this package.
"""
