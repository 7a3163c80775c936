"""The search for better settings: candidates race in blocks, and the best one is confirmed afterwards.

`knob_file` reads what may be changed. `progress` is the state that the journal describes, `steps` decides
from it what comes next, `suggest` proposes candidates, and `run` does it. `evaluate` is the result.
"""
