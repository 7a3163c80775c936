"""Frozen values that the other packages exchange: tracks, requests, plans' work, results and race records.

This package contains data types with the rules that depend only on their values (such as redaction), their
JSON form (`codec`), and the reading of JSON that collects all problems (`field_reader`,
`problems`). It does not read a clock, a file, the network or the system, and has no command-line options.
Every package may import this one; it imports only `errors` and `units`.
"""
