"""Operations: from the parameters of a track to the work that the driver does.

One file per operation type in `operations/types`; `registry` finds them, `base` says what a type offers and
what it may know, `compile` applies the rules of a type. The other modules are what several types share:
request parameters, searches, templates, named resources, runners, and operations that a parameter source
supplies. Nothing here sends a request or starts a thread. `track`, `plan`, `plugins`, `python_tasks` and
`race` call it.
"""
