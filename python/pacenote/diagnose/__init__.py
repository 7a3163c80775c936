"""Diagnosis: what made a race slow, from its evidence, and what to try.

`Evidence` (`facts.py`) has the figures of a race, named in the catalogue (`catalogue.py`), and what was not
observed, with the reason. Rules are TOML files in `rules/`, which `rules_file.py` reads into `Rule`
(`rule.py`); `expression.py` is their small language. `diagnose` (`answers.py`) evaluates them: each answers
that it fired, that it is ruled out, or that it is not applicable. The result is a `Diagnosis`
(`model/diagnosis.py`), which `report` renders. All of it is pure, except that rules are read from
files.
"""
