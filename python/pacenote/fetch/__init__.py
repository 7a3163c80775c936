"""The downloader: files from HTTP(S), S3 and Google Cloud Storage, verified before they get their names.

Resuming, retries, mirrors, checksums and progress are implemented only here; start with `download.py`. The
package does not depend on the purpose of a file: `race` downloads corpora and data of plug-ins, `provision`
downloads Maven artifacts. `disk.py` checks the free disk space for all of them.
"""
