//! Temporary files in the folder of the file that they become.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates a temporary file in the folder of `target`, with the permissions of a newly created file.
pub(crate) fn create_beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut prefix = target.file_name().unwrap_or_default().to_os_string();
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial").permissions(Permissions::from_mode(0o666));
    builder.tempfile_in(folder_of(target))
}

/// Returns the folder of a file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
