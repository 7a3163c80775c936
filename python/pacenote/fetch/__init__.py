"""The downloader: one file or many, from HTTP(S), S3 or Google Cloud Storage, whole and verified.

Resume, retries, mirrors, checksums and progress are implemented here and nowhere else. What a file is for
(a corpus, a jar) is the caller's business: `race` downloads corpora, `provision` Maven artifacts.
"""
