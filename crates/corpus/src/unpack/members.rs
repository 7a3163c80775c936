//! Archives with several members: selects the data file, and rejects members that do not belong in an archive of data.

/// The kind of a member of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberKind {
    File,
    Folder,
    Link,
    /// A device or a pipe.
    Special,
    /// A kind defined by the tool that created the archive.
    Unknown,
}

/// A member that prevents an archive from being unpacked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RefusedMember {
    /// Name of the member, escaped for a message.
    pub(crate) name: String,
    /// What is wrong with the member.
    pub(crate) reason: &'static str,
}

/// Selects the data file in one pass over the members: the only file with the expected name, or otherwise the only
/// file.
#[derive(Debug)]
pub(super) struct MemberSelector<'a> {
    wanted: &'a str,
    /// Number of files with the expected name so far.
    named_count: u32,
    /// Number of other files so far.
    other_count: u32,
}

impl<'a> MemberSelector<'a> {
    pub(super) fn new(wanted: &'a str) -> Self {
        Self { wanted, named_count: 0, other_count: 0 }
    }

    /// Selects this member if it is the best so far, instead of the one selected before. Returns whether it is now
    /// selected.
    ///
    /// Only the selected member is ever written, under a name that Pacenote chooses, so no member can do harm. An
    /// archive with a suspicious member is rejected nevertheless.
    pub(super) fn try_select(&mut self, name: &str, kind: MemberKind) -> Result<bool, RefusedMember> {
        if let Some(reason) = refusal_reason(name, kind) {
            return Err(RefusedMember { name: name.escape_debug().collect(), reason });
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        // macOS adds a resource fork for every file.
        let resource_fork = base.starts_with("._") || name.starts_with("__MACOSX/");
        if kind == MemberKind::Folder || resource_fork {
            return Ok(false);
        }
        let count = if base == self.wanted { &mut self.named_count } else { &mut self.other_count };
        *count += 1;
        Ok(*count == 1 && (base == self.wanted || self.named_count == 0))
    }

    /// Returns an error with the reason if there is no unambiguous data file.
    pub(super) fn finish(&self) -> Result<(), String> {
        let wanted = self.wanted;
        match (self.named_count, self.other_count) {
            (1, _) | (0, 1) => Ok(()),
            (0, 0) => Err("it contains no file".to_owned()),
            (0, others) => Err(format!("it contains {others} files, none of them named {wanted}")),
            (named, _) => Err(format!("it contains {named} files named {wanted}")),
        }
    }
}

fn refusal_reason(name: &str, kind: MemberKind) -> Option<&'static str> {
    let drive = name.as_bytes().get(1) == Some(&b':');
    match kind {
        _ if name.split(['/', '\\']).any(|part| part == "..") => Some("points outside the folder"),
        _ if name.starts_with(['/', '\\']) || drive => Some("has an absolute path"),
        MemberKind::Link => Some("is a link"),
        MemberKind::Special => Some("is a device or a pipe"),
        MemberKind::Unknown => Some("is of a kind that Pacenote does not unpack"),
        MemberKind::File | MemberKind::Folder => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the selected members in order, and the final result.
    fn chosen<'a>(names: &[&'a str]) -> (Vec<&'a str>, Result<(), String>) {
        let mut selector = MemberSelector::new("data.json");
        let taken = names
            .iter()
            .copied()
            .filter(|name| selector.try_select(name, MemberKind::File).unwrap())
            .collect();
        (taken, selector.finish())
    }

    #[test]
    fn the_named_file_or_the_only_one_is_selected() {
        assert_eq!(chosen(&["a.json"]), (vec!["a.json"], Ok(())));
        assert_eq!(chosen(&["./x/data.json", "a", "b"]), (vec!["./x/data.json"], Ok(())));
        assert_eq!(chosen(&["a", "b", "data.json"]), (vec!["a", "data.json"], Ok(())));
        assert_eq!(chosen(&["__MACOSX/x", "._data.json", "d/._x", "data.json"]), (vec!["data.json"], Ok(())));
        let several = Err("it contains 2 files, none of them named data.json".to_owned());
        assert_eq!(chosen(&["a", "b"]), (vec!["a"], several));
        let twice = Err("it contains 2 files named data.json".to_owned());
        assert_eq!(chosen(&["a/data.json", "b/data.json"]).1, twice);
        assert_eq!(chosen(&[]).1, Err("it contains no file".to_owned()));
    }

    #[test]
    fn members_that_do_not_belong_in_an_archive_of_data_are_rejected() {
        for (name, kind, reason) in [
            ("../data.json", MemberKind::File, "points outside the folder"),
            ("a/../../data.json", MemberKind::File, "points outside the folder"),
            ("a\\..\\data.json", MemberKind::File, "points outside the folder"),
            ("..", MemberKind::Folder, "points outside the folder"),
            ("/etc/data.json", MemberKind::File, "has an absolute path"),
            ("C:\\data.json", MemberKind::File, "has an absolute path"),
            ("data.json", MemberKind::Link, "is a link"),
            ("data.json", MemberKind::Special, "is a device or a pipe"),
            ("da\nta", MemberKind::Unknown, "is of a kind that Pacenote does not unpack"),
        ] {
            let refused = MemberSelector::new("data.json").try_select(name, kind);
            assert_eq!(refused, Err(RefusedMember { name: name.escape_debug().to_string(), reason }));
        }
        assert_eq!(MemberSelector::new("x").try_select("..data/x..", MemberKind::File), Ok(true));
    }
}
