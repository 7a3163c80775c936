"""The page of an experiment: `build.py` builds it, and `designs.py` the charts of each design."""
