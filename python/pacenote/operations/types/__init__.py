"""The built-in operation types, one file per type.

A file has the name of its type, with underscores for dashes, and contains a constant `OPERATION`, an
`OperationType` (`operations/base.py`). The registry finds it by its name, so a new type needs only a new
file. Code that several modules share belongs in `pacenote.operations`: only the registry, and types that
extend another type, import these modules.
"""
