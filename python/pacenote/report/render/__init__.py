"""Printing a report: one module per format, all of which show the same data.

A renderer knows rows, notes and marks, but no particular row; what is shown is decided in `report.summary`
and `report.notes`. Only `cli` calls them.
"""
