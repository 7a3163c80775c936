"""Reads what a race and its engine leave behind: the files of race folders, GC logs and recordings."""
