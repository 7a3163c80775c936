"""Making a track from what a live cluster holds."""
