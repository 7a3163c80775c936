"""Official archives of engines: found, downloaded, verified, unpacked, and started with their own scripts.

addresses.py          where an archive is: a version in a repository, a URL or a file
archive_cache.py      downloads and keeps archives
archive_install.py    selects an archive and unpacks it
extraction.py         unpacks an archive
engine_tree.py        the unpacked engine, and the copy of it that a node changes
archive_program.py    how a node is configured and started
plugin_sources.py     where plugins are
plugin_installer.py   installs plugins with the engine's own tool

What differs between the archives of the engines is data in `distributions/official.py`.
"""
