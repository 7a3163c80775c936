"""Repositories in git: `git_repository` clones and updates them, and checks out a revision for an engine."""
