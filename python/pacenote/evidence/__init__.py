"""Reads what an engine leaves behind while it runs, such as GC logs."""
