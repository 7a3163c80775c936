//! Where the files of a process's control groups are, in both versions of control groups.

use std::path::{Path, PathBuf};

/// A file of a control group that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// CPU time and its limit.
    Cpu,
    /// Memory and its limit.
    Memory,
    /// Traffic with disks; `blkio` in version 1.
    Io,
}

impl Controller {
    /// Returns its name in version 1.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Io => "blkio",
        }
    }
}

/// A folder of a control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whether it is of version 1.
    pub is_version_1: bool,
}

/// The hierarchies of control groups of a machine, and the groups of a process.
#[derive(Debug)]
pub struct ControlGroups {
    mounts: Vec<Mount>,
    /// Controllers of a hierarchy, empty for version 2, and the group of the process in it.
    groups: Vec<(String, String)>,
}

/// A mounted hierarchy.
#[derive(Debug)]
struct Mount {
    /// The group that is mounted.
    root: String,
    folder: PathBuf,
    /// Options with the names of its controllers; `None` for version 2.
    controllers: Option<String>,
}

impl ControlGroups {
    /// Parses the text of `/proc/self/mountinfo`, and that of `/proc/PID/cgroup`.
    pub fn parse(mountinfo: &str, cgroup: &str) -> Self {
        let groups = cgroup.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
        });
        Self { mounts: mountinfo.lines().filter_map(Mount::parse).collect(), groups: groups.collect() }
    }

    /// Returns the folder in which the files of a controller are, or `None` if it is not mounted. Version 1 takes
    /// precedence: a controller is in one hierarchy only.
    pub fn folder(&self, controller: Controller) -> Option<GroupFolder> {
        let name = controller.name();
        let has = |controllers: &str| controllers.split(',').any(|own| own == name);
        let of_version_1 = self.mounts.iter().find(|mount| mount.controllers.as_deref().is_some_and(has));
        if let Some(mount) = of_version_1 {
            let (_, group) = self.groups.iter().find(|(controllers, _)| has(controllers))?;
            return Some(GroupFolder { path: mount.folder_of(group), is_version_1: true });
        }
        Some(GroupFolder { path: self.unified()?, is_version_1: false })
    }

    /// Returns the folder of the group of version 2, which has the pressure, or `None` if it is not mounted.
    pub fn unified(&self) -> Option<PathBuf> {
        let mount = self.mounts.iter().find(|mount| mount.controllers.is_none())?;
        let (_, group) = self.groups.iter().find(|(controllers, _)| controllers.is_empty())?;
        Some(mount.folder_of(group))
    }
}

impl Mount {
    /// Parses `ID PARENT DEVICE ROOT FOLDER OPTIONS [TAGS] - TYPE SOURCE OPTIONS`.
    fn parse(line: &str) -> Option<Self> {
        let (first, last) = line.split_once(" - ")?;
        let mut last = last.split(' ');
        let kind = last.next()?;
        let options = last.nth(1).unwrap_or_default();
        let controllers = match kind {
            "cgroup" => Some(options.to_owned()),
            "cgroup2" => None,
            _ => return None,
        };
        let mut first = first.split(' ').skip(3);
        Some(Self { root: first.next()?.to_owned(), folder: unescaped(first.next()?).into(), controllers })
    }

    /// Returns the folder of a group. A container may see only its own group, whatever the name of it is outside.
    fn folder_of(&self, group: &str) -> PathBuf {
        let relative = Path::new(group).strip_prefix(&self.root).ok();
        let relative = relative.or_else(|| Path::new(group).strip_prefix("/").ok());
        let folder = relative.map_or_else(|| self.folder.clone(), |relative| self.folder.join(relative));
        if folder.is_dir() { folder } else { self.folder.clone() }
    }
}

/// Returns a path with the characters that the kernel escapes in octal.
fn unescaped(text: &str) -> String {
    let mut characters = String::new();
    let mut parts = text.split('\\');
    characters.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let code = part.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok());
        match code {
            Some(code) => {
                characters.push(char::from(code));
                characters.push_str(&part[3..]);
            }
            None => characters.extend(["\\", part]),
        }
    }
    characters
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn mount(folder: &Path, root: &str, kind: &str, options: &str) -> String {
        let folder = folder.display().to_string().replace(' ', "\\040");
        format!("31 23 0:28 {root} {folder} rw,nosuid shared:9 - {kind} {kind} rw,{options}\n")
    }

    #[test]
    fn the_folders_of_both_versions_are_found() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let unified = folder("with blank/unified/pod/box");
        let base = root.path().join("with blank/unified");
        let only_unified =
            format!("27 1 254:0 / / rw - ext4 /dev/vda rw\n{}", mount(&base, "/", "cgroup2", "x"));
        let groups = ControlGroups::parse(&only_unified, "0::/pod/box\n");
        for controller in [Controller::Cpu, Controller::Memory, Controller::Io] {
            let found = groups.folder(controller).unwrap();
            assert_eq!((found.path, found.is_version_1), (unified.clone(), false));
        }
        // Both versions: controllers of version 1, pressure of version 2.
        let cpu = folder("cpu");
        let memory = folder("memory/box");
        let both = [
            only_unified,
            mount(&cpu, "/", "cgroup", "cpu,cpuacct"),
            mount(&root.path().join("memory"), "/docker", "cgroup", "memory"),
        ];
        let groups =
            ControlGroups::parse(&both.concat(), "4:memory:/docker/box\n2:cpu,cpuacct:/unseen\n0::/\n");
        assert_eq!(groups.folder(Controller::Cpu).unwrap(), GroupFolder { path: cpu, is_version_1: true });
        assert_eq!(
            groups.folder(Controller::Memory).unwrap(),
            GroupFolder { path: memory, is_version_1: true }
        );
        assert_eq!(groups.unified(), Some(base));
        assert!(!groups.folder(Controller::Io).unwrap().is_version_1);
    }

    #[test]
    fn nothing_is_found_in_other_text() {
        for (mountinfo, cgroup) in [
            ("", ""),
            ("\n - \nx y - cgroup\n1 2 3 - cgroup2 a", "::\n:::\n0::/"),
            ("31 23 0:28 / /nowhere rw - cgroup2 cgroup2 rw", "nonsense"),
        ] {
            let groups = ControlGroups::parse(mountinfo, cgroup);
            assert_eq!((groups.folder(Controller::Cpu), groups.unified()), (None, None), "{mountinfo}");
        }
        assert_eq!(unescaped(r"a\040b\9c\12"), r"a b\9c\12");
        assert_eq!(unescaped(r"\é\134"), r"\é\");
    }
}
