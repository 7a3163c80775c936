//! The space on the file systems of data paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfs, fstatvfs, openat2, statvfs};
use rustix::io::Errno;

use crate::kernel_file::{Number, SeriesNumbers, SweepValues};
use crate::reading::Field;

static SIZE: Field = Field::gauge("", "path.size").with_unit("B");
static AVAILABLE: Field = Field::gauge("", "path.available").with_unit("B");

/// A folder in which a node stores data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPath {
    /// Name of the node.
    pub node: String,
    /// The folder. It must not be on a remote file system: the kernel would wait for its server.
    pub path: PathBuf,
}

/// The space on the file system of a folder.
#[derive(Debug)]
pub struct PathSpace {
    path: PathBuf,
    series: SeriesNumbers,
}

impl PathSpace {
    /// Creates the space of a data path.
    ///
    /// # Errors
    ///
    /// An error if the folder does not exist, or if a link leads through `/proc` into the mounts of another process.
    pub fn open(data: &DataPath) -> Result<Self, Errno> {
        space(&data.path)?;
        let labels = BTreeMap::from([
            ("process".to_owned(), data.node.clone()),
            ("path".to_owned(), data.path.display().to_string()),
        ]);
        Ok(Self { path: data.path.clone(), series: SeriesNumbers::new(labels) })
    }

    /// Adds the size of the file system, and the space that is left for users other than root; gaps if the folder does
    /// not exist any more.
    pub fn read(&mut self, number: Number<'_>, values: &mut SweepValues) {
        let Ok(found) = space(&self.path) else {
            self.series.add_gaps(values);
            return;
        };
        self.series.begin();
        for (field, blocks) in [(&SIZE, found.f_blocks), (&AVAILABLE, found.f_bavail)] {
            let bytes = blocks as f64 * found.f_frsize as f64;
            values.extend(self.series.value(&field.reading(None, bytes), number));
        }
    }
}

/// Returns the space on the file system of a folder. A server reports the folder, and its user can replace it: in the
/// mounts of another process, the kernel could wait without end for a program of that user.
fn space(path: &Path) -> Result<StatVfs, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
        Ok(folder) => fstatvfs(&folder),
        // Linux before 5.6, and filters of system calls that do not know it.
        Err(Errno::NOSYS | Errno::PERM) => statvfs(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use pacenote_record::{SeriesNumber, TelemetrySeries};

    use super::*;

    #[test]
    fn a_link_into_the_mounts_of_a_process_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        std::os::unix::fs::symlink(format!("/proc/self/root{}", folder.path().display()), &path).unwrap();
        let data = |path: &Path| DataPath { node: "node-0".into(), path: path.to_owned() };
        assert_eq!(PathSpace::open(&data(&path)).err(), Some(Errno::LOOP));
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(folder.path(), &path).unwrap();
        assert!(PathSpace::open(&data(&path)).is_ok());
    }

    #[test]
    fn a_path_has_space_until_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataPath { node: "node-0".into(), path: folder.path().join("data") };
        assert!(PathSpace::open(&data).is_err());
        std::fs::create_dir(&data.path).unwrap();
        let mut space = PathSpace::open(&data).unwrap();
        let number = |series: &TelemetrySeries| {
            assert_eq!(series.labels["process"], "node-0");
            SeriesNumber(u32::from(series.name == "path.available"))
        };
        let mut read = |values: &mut SweepValues| space.read(&number, values);
        let mut values = Vec::new();
        read(&mut values);
        let [(_, Some(size)), (_, Some(available))] = values[..] else { panic!("{values:?}") };
        assert!(size > 0.0 && (0.0..=size).contains(&available), "{size} {available}");
        std::fs::remove_dir(&data.path).unwrap();
        values.clear();
        read(&mut values);
        assert_eq!(values, [(SeriesNumber(0), None), (SeriesNumber(1), None)]);
    }
}
