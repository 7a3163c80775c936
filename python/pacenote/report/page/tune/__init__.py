"""The page of a search for better settings: `build.py` builds it, and `history.py` the chart of its races."""
