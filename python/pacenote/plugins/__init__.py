"""Python code that comes with a track: loaded, registered, and applied to the track and its data.

`rally_api` holds everything that has Rally's names and shape. What runs while the race is measured belongs to
`python_tasks`. Called by `race` and `python_tasks`.
"""
