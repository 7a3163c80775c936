"""The report of a race as a page: what it shows, independent of HTML.

`build.py` builds a page from the record of a race and what was observed beside it; each other module builds a
part of it. `report/render/race_page.py` renders it.
"""
