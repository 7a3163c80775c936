"""The downloader: files from HTTP(S), S3 and Google Cloud Storage, verified before they get their names.

Resuming, retries, mirrors, checksums and progress are implemented here and nowhere else; start with
`download.py`. The purpose of a file is known to the caller only: `race` downloads corpora and data of
plugins, `provision` downloads Maven artifacts. Free disk space is checked here for all of them (`disk.py`).
"""
