"""A metrics store: races, their results and samples as Rally's documents in Elasticsearch or OpenSearch.

settings.py           the connection, from Rally's keys of `[reporting]`
client.py             requests with retries, and errors that name the store
templates.py          templates of indices and data streams, and what the store supports
race_documents.py     the documents about a race and its results
metrics_documents.py  the documents about samples, throughput, the engine and telemetry
samples.py            the samples in a race folder
bulk.py               writes documents in bulk requests
store.py              stores, finds and deletes races
store_annotations.py  the annotations in the store
"""
