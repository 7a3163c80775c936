"""Pacenote: a benchmarking lab for Elasticsearch and OpenSearch. ARCHITECTURE.md describes its parts."""
