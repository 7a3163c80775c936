//! The names that occur in a log, each stored once.

/// Number of different names that are kept; a log has a few dozen.
const MOST: usize = 1000;
/// Longest name that is kept, in bytes.
const LONGEST: usize = 100;
/// The name of all further names.
const OTHER: &str = "other";

/// A name in [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameId(u16);

impl NameId {
    /// Returns its position among all names.
    #[must_use]
    pub fn position(self) -> usize {
        usize::from(self.0)
    }
}

/// Kinds of pauses, causes and names of safepoints.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
}

impl Names {
    /// Returns the id of a name, which is added if it is new. Names beyond the thousandth are called "other".
    pub fn id(&mut self, name: &[u8]) -> NameId {
        let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST)]);
        if let Some(id) = self.find(&name) {
            return id;
        }
        if self.names.len() >= MOST && name != OTHER {
            return self.id(OTHER.as_bytes());
        }
        self.names.push(name.into_owned());
        NameId(u16::try_from(self.names.len() - 1).unwrap_or(u16::MAX))
    }

    /// Returns the id of a name that occurs.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NameId> {
        let found = self.names.iter().position(|known| known == name)?;
        u16::try_from(found).ok().map(NameId)
    }

    /// Returns the texts of all names.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns the text of a name.
    #[must_use]
    pub fn text(&self, id: NameId) -> &str {
        self.names.get(usize::from(id.0)).map_or(OTHER, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_once_and_their_number_is_limited() {
        let mut names = Names::default();
        let full = names.id(b"Full");
        assert_eq!((names.id(b"Full"), names.text(full)), (full, "Full"));
        for number in 0..2 * MOST {
            names.id(number.to_string().as_bytes());
        }
        let last = names.id(b"one more");
        assert_eq!((names.text(last), names.names.len()), (OTHER, MOST + 1));
        let long = Names::default().id(&[0xff; 500]);
        assert_eq!(long, NameId(0));
    }
}
