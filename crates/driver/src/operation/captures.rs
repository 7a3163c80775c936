//! Values of replies that later requests of the same operation need.

/// What was remembered since the operation began.
#[derive(Debug, Default)]
pub struct Memory {
    entries: Vec<(String, Option<String>)>,
}

/// What there is under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recalled<'a> {
    /// Nothing was to be remembered under it.
    Unknown,
    /// The reply did not have the value.
    Absent,
    /// The value.
    Value(&'a str),
}

impl Memory {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Keeps a value, or that the reply did not have it.
    pub fn put(&mut self, name: &str, value: Option<String>) {
        match self.entries.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.entries.push((name.to_owned(), value)),
        }
    }

    /// What was kept.
    pub fn get(&self, name: &str) -> Recalled<'_> {
        match self.entries.iter().find(|(known, _)| known == name) {
            None => Recalled::Unknown,
            Some((_, None)) => Recalled::Absent,
            Some((_, Some(value))) => Recalled::Value(value),
        }
    }
}
