//! Archives of several members: which of them is the data file, and which no archive of ours may have.

/// What a member of an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    /// A device, a pipe.
    Special,
    /// What only the tool that packed it understands.
    Unknown,
}

/// Why an archive is not unpacked: the member, escaped for a message, and what about it.
pub(super) type Refusal = (String, &'static str);

/// Chooses the data file while the members pass by: the one file with the wanted name, else the only file.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    wanted: &'a str,
    named: u32,
    others: u32,
}

impl<'a> Choice<'a> {
    pub(super) fn new(wanted: &'a str) -> Self {
        Self { wanted, named: 0, others: 0 }
    }

    /// Whether this member is the best so far and replaces what was taken before.
    ///
    /// Only the wanted one is ever written, under a name of ours, so no member could do harm; but an archive with
    /// one that tries to has not been made for this.
    pub(super) fn takes(&mut self, name: &str, kind: Kind) -> Result<bool, Refusal> {
        if let Some(reason) = fault(name, kind) {
            return Err((name.escape_debug().collect(), reason));
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        // What macOS packs beside every file.
        let shadow = base.starts_with("._") || name.starts_with("__MACOSX/");
        if kind == Kind::Folder || shadow {
            return Ok(false);
        }
        let count = if base == self.wanted { &mut self.named } else { &mut self.others };
        *count += 1;
        Ok(*count == 1 && (base == self.wanted || self.named == 0))
    }

    /// Whether one of the members was the data file; else what is wrong.
    pub(super) fn settle(&self) -> Result<(), String> {
        let wanted = self.wanted;
        match (self.named, self.others) {
            (1, _) | (0, 1) => Ok(()),
            (0, 0) => Err("it holds no file".to_owned()),
            (0, others) => Err(format!("it holds {others} files, and none is named {wanted}")),
            (named, _) => Err(format!("it holds {named} files named {wanted}")),
        }
    }
}

fn fault(name: &str, kind: Kind) -> Option<&'static str> {
    let drive = name.as_bytes().get(1) == Some(&b':');
    match kind {
        _ if name.split(['/', '\\']).any(|part| part == "..") => Some("leads out of the folder"),
        _ if name.starts_with(['/', '\\']) || drive => Some("has an absolute path"),
        Kind::Link => Some("is a link"),
        Kind::Special => Some("is a device or a pipe"),
        Kind::Unknown => Some("is of a kind that is not unpacked here"),
        Kind::File | Kind::Folder => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken, in order, and how it ends.
    fn chosen<'a>(names: &[&'a str]) -> (Vec<&'a str>, Result<(), String>) {
        let mut choice = Choice::new("data.json");
        let taken = names.iter().copied().filter(|name| choice.takes(name, Kind::File).unwrap()).collect();
        (taken, choice.settle())
    }

    #[test]
    fn the_named_file_or_the_only_one() {
        assert_eq!(chosen(&["a.json"]), (vec!["a.json"], Ok(())));
        assert_eq!(chosen(&["./x/data.json", "a", "b"]), (vec!["./x/data.json"], Ok(())));
        assert_eq!(chosen(&["a", "b", "data.json"]), (vec!["a", "data.json"], Ok(())));
        assert_eq!(chosen(&["__MACOSX/x", "._data.json", "d/._x", "data.json"]), (vec!["data.json"], Ok(())));
        let several = Err("it holds 2 files, and none is named data.json".to_owned());
        assert_eq!(chosen(&["a", "b"]), (vec!["a"], several));
        let twice = Err("it holds 2 files named data.json".to_owned());
        assert_eq!(chosen(&["a/data.json", "b/data.json"]).1, twice);
        assert_eq!(chosen(&[]).1, Err("it holds no file".to_owned()));
    }

    #[test]
    fn members_that_no_data_archive_has_are_refused() {
        for (name, kind, reason) in [
            ("../data.json", Kind::File, "leads out of the folder"),
            ("a/../../data.json", Kind::File, "leads out of the folder"),
            ("a\\..\\data.json", Kind::File, "leads out of the folder"),
            ("..", Kind::Folder, "leads out of the folder"),
            ("/etc/data.json", Kind::File, "has an absolute path"),
            ("C:\\data.json", Kind::File, "has an absolute path"),
            ("data.json", Kind::Link, "is a link"),
            ("data.json", Kind::Special, "is a device or a pipe"),
            ("da\nta", Kind::Unknown, "is of a kind that is not unpacked here"),
        ] {
            let refused = Choice::new("data.json").takes(name, kind);
            assert_eq!(refused, Err((name.escape_debug().to_string(), reason)));
        }
        assert_eq!(Choice::new("x").takes("..data/x..", Kind::File), Ok(true));
    }
}
