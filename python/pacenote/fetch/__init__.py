"""Bringing big files here whole: over HTTP, from S3 and from Google Cloud Storage."""
