//! Where the files of a process's control groups are, in both versions of control groups.

use std::path::{Component, Path, PathBuf};

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
    /// The folder in which the hierarchy is mounted.
    mount: PathBuf,
}

impl GroupFolder {
    /// Returns the groups that contain this one, up to the outermost one that is visible. Their limits apply too.
    pub fn parents(&self) -> Vec<Self> {
        let above = self.path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.mount));
        above.map(|folder| Self { path: folder.to_owned(), ..self.clone() }).collect()
    }

    /// Returns its name within the hierarchy, as in `/proc/PID/cgroup`.
    pub fn name(&self) -> String {
        let relative = self.path.strip_prefix(&self.mount).unwrap_or(&self.path);
        format!("/{}", relative.display())
    }
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
        if self.mounts.iter().any(|mount| mount.controllers.as_deref().is_some_and(has)) {
            let (_, group) = self.groups.iter().find(|(controllers, _)| has(controllers))?;
            return self.find(group, |mount| mount.controllers.as_deref().is_some_and(has));
        }
        self.unified()
    }

    /// Returns the folder of the group of version 2, which has the pressure, or `None` if it is not mounted.
    pub fn unified(&self) -> Option<GroupFolder> {
        let (_, group) = self.groups.iter().find(|(controllers, _)| controllers.is_empty())?;
        self.find(group, |mount| mount.controllers.is_none())
    }

    /// Returns the folder of a group. A hierarchy may be mounted several times, as in the folders of containers.
    fn find(&self, group: &str, is_hierarchy: impl Fn(&Mount) -> bool) -> Option<GroupFolder> {
        // The group of a process outside of this container.
        if Path::new(group).components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let mounts: Vec<&Mount> = self.mounts.iter().filter(|mount| is_hierarchy(mount)).collect();
        let visible = mounts.iter().find(|mount| mount.visible_folder(group).is_some());
        let mount = visible.or(mounts.first())?;
        // A container may see only its own group, whatever its name is outside.
        let path = mount.visible_folder(group).unwrap_or_else(|| mount.folder.clone());
        Some(GroupFolder { path, is_version_1: mount.controllers.is_some(), mount: mount.folder.clone() })
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
        Some(Self { root: unescaped(first.next()?), folder: unescaped(first.next()?).into(), controllers })
    }

    /// Returns the folder of a group, or `None` if it does not exist in this mount.
    fn visible_folder(&self, group: &str) -> Option<PathBuf> {
        let relative = Path::new(group).strip_prefix(&self.root).ok();
        let relative = relative.or_else(|| Path::new(group).strip_prefix("/").ok())?;
        Some(self.folder.join(relative)).filter(|folder| folder.is_dir())
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
            assert_eq!((found.name().as_str(), found.is_version_1), ("/pod/box", false));
            let parents: Vec<String> = found.parents().iter().map(GroupFolder::name).collect();
            assert_eq!((found.path, parents), (unified.clone(), vec!["/pod".into(), "/".into()]));
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
        for (controller, path, parents) in [(Controller::Cpu, cpu, 0), (Controller::Memory, memory, 1)] {
            let found = groups.folder(controller).unwrap();
            assert_eq!((found.parents().len(), found.path, found.is_version_1), (parents, path, true));
        }
        assert_eq!(groups.unified().map(|group| group.path), Some(base));
        assert!(!groups.folder(Controller::Io).unwrap().is_version_1);
    }

    #[test]
    fn the_mount_that_shows_a_group_is_used_and_groups_of_others_are_not_guessed() {
        let root = tempfile::tempdir().unwrap();
        let (part, whole) = (root.path().join("part"), root.path().join("whole"));
        fs::create_dir_all(&part).unwrap();
        fs::create_dir_all(whole.join("pod")).unwrap();
        // Another container's view is mounted before.
        let mounts = [mount(&part, "/other", "cgroup2", "x"), mount(&whole, "/", "cgroup2", "x")].concat();
        let folder = |cgroup| ControlGroups::parse(&mounts, cgroup).unified().map(|group| group.path);
        assert_eq!(folder("0::/pod\n"), Some(whole.join("pod")));
        assert_eq!(folder("0::/../other\n"), None);
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
