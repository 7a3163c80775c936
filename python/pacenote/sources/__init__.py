"""Builds an engine from its sources: revision → checkout → archive of the engine, kept for later races.

revisions.py    the value of `--revision`
checkout.py     the sources at a revision: a local checkout as it is, or a clone
recipes.py      the commands that build an engine, and where its archive is then
build.py        runs the build, and keeps archives by revision
build_java.py   the JDK that runs the build
"""
