"""The screen with which a race ends on a terminal: verdict and reasons first, one line per task, then where
the results are.

`build` converts a race record to a `Screen` (`screen`), which is only data; `layout` arranges it for a width
as lines of styled text (`text`). The full report, of which the screen is a selection, is `report.summary`.
"""
