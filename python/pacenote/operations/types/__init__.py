"""The built-in operation types: one file per type, and nothing else.

A file is called like its type, with underscores for dashes, and holds a constant `OPERATION`, an
`OperationType` (`operations/base.py`). The registry finds it by its name: a new file is all that a new type
needs. What several types share belongs in `pacenote.operations`. Apart from types that build on another one,
only the registry imports these modules.
"""
