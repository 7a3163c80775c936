"""Builders and servers that several test packages use."""
