"""Reports as pages: what a page shows, independent of HTML.

`page.py` is what every page has. Charts are drawn here (`drawing.py`) or, over time, by the script of the
page (`time_charts.py`). `race` builds the page of a race. `report/render/page.py` renders any page.
"""
