"""Pacenote: a benchmarking lab for Elasticsearch and OpenSearch. See ARCHITECTURE.md for the map."""
