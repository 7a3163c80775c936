"""Operations: from the parameters of a track to the work that the driver does.

`operations/types` has one file per operation type; `registry` finds them, `base` defines their interface and
context, and `compile` applies the rules of a type. The other modules are shared by several types: request
parameters, searches, templates, named resources, runners, and operations that a parameter source supplies.
This package sends no requests and starts no threads. `track`, `plan`, `plugins`, `python_tasks` and `race`
use it.
"""
