"""The page of a comparison: `build.py` builds it; the other modules build its parts, which the page of an
experiment has, too.
"""
