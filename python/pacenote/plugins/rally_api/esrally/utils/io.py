"""Data files under Rally's names."""

from pacenote.plugins.rally_api.files import FileSource, MmapSource, ensure_dir, normalize_path, skip_lines

__all__ = ["FileSource", "MmapSource", "ensure_dir", "normalize_path", "skip_lines"]
