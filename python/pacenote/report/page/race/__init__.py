"""The page of a race: `build.py` builds it from the record and what was observed beside it; each other module
builds a part of it.
"""
