"""Renderers of reports: one module per format, all of which show the same data.

A renderer does not depend on particular rows; `report.summary` and `report.notes` determine the content. Used
only by `cli`.
"""
