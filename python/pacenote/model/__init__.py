"""Frozen values that the other packages exchange: tracks, requests, plans' work, results and race records.

Belongs here: data types with the rules that need nothing but the value (verdict, driver health, redaction),
their JSON (`codec`), and reading JSON with all problems at once (`field_reader`, `problems`). Does not belong
here: anything that reads a clock, a file, the network or the system, or that knows a command-line option.
Every package may import this one; it imports only `errors` and `units`.
"""
