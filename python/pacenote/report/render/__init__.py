"""Printing a report: every module here shows the same data, none adds or drops any."""
