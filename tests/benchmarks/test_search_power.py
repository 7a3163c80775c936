"""The simulation of searches: probes that are planned find an answer, shorter ones do not."""

import random

from search_power import PLANNINGS, Case, search


def test_planned_probes_find_the_limit():
    shares, case = {}, Case(99.0, 300.0)
    for planning in PLANNINGS:
        generator = random.Random(3)
        answers = [search(case, planning, generator) for _ in range(60)]
        found = [one.low is not None and one.contains(case.limit) for one in answers]
        shares[planning.name] = sum(found) / len(found)
    assert shares["planned"] > 0.95
    assert shares["just enough for a bound"] < 0.25
