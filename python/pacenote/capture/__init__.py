"""Creating a track from the indices or data streams of a live cluster.

`create` runs the steps: `sources` describes what is captured, `readers` reads its documents page by page
(`limited_reader` and `time_limits` bound the time that a server can take),
`raw_documents` extracts them from a response byte for byte, `dump` writes them to data files and can resume,
and `track_files` renders the text files of the track.

Parsing and checking tracks belong to `track`. Only `cli` uses this package.
"""
