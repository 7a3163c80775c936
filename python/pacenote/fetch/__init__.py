"""Downloads files from HTTP(S), S3 and Google Cloud Storage, and verifies them before giving them their final
names.

Resuming, retries, mirrors, checksums and progress are implemented only here; start with `download.py`. The
package does not depend on the purpose of a file: `race` downloads corpora and the data of plug-ins, and
`provision` downloads Maven artifacts. `disk.py` checks the free disk space for all of them.
"""
