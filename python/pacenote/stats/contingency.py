"""Whether two shares differ by more than chance, exactly for any number of cases.

Source: R. A. Fisher, "Statistical Methods for Research Workers", section 21.02, 1934.
"""

from __future__ import annotations

from math import comb


def probability_of_chance(first: int, of_first: int, second: int, of_second: int) -> float:
    """Returns the probability that shares which are the same in truth differ at least as much as `first` of
    `of_first` cases and `second` of `of_second`, in either direction.
    """
    events = first + second
    ways = [comb(of_first, number) * comb(of_second, events - number) for number in range(events + 1)]
    return sum(way for way in ways if way <= ways[first]) / sum(ways)
