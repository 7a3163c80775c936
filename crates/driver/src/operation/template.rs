//! Texts with gaps that are filled request by request.

use std::ops::Range;

use crate::response::json_scan as scan;

/// What goes into a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A remembered value, within a string.
    Recalled,
    /// The key of the next page, as JSON.
    Key,
    /// The point in time as the last reply renewed it, as JSON.
    Pit,
}

/// What there is to fill in; empty values leave their gaps as the text has them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values<'a> {
    /// For [`Slot::Recalled`].
    pub recalled: &'a str,
    /// For [`Slot::Key`].
    pub key: &'a [u8],
    /// For [`Slot::Pit`].
    pub pit: &'a [u8],
}

/// A JSON text with gaps.
#[derive(Debug, Default)]
pub struct Template {
    text: Vec<u8>,
    /// In the order of the text, none within another.
    gaps: Vec<Gap>,
    filled: Vec<u8>,
}

#[derive(Debug)]
struct Gap {
    place: Range<usize>,
    slot: Slot,
    /// Put before and after the value.
    around: (String, &'static str),
}

impl Template {
    /// A text without gaps.
    pub fn new(text: String) -> Self {
        Self { text: text.into_bytes(), ..Self::default() }
    }

    /// A text around the key of the next page.
    pub fn around_key(before: &str, after: &str) -> Self {
        let mut template = Self::new(format!("{before}{after}"));
        template.add(before.len()..before.len(), Slot::Key);
        template
    }

    /// Makes gaps wherever the text says `marker`; tells whether it does.
    pub fn recall(&mut self, marker: &str) -> bool {
        let places: Vec<usize> = memchr::memmem::find_iter(&self.text, marker).collect();
        for at in &places {
            self.add(*at..at + marker.len(), Slot::Recalled);
        }
        !places.is_empty()
    }

    /// Makes a gap for the sort values after which a search goes on, and for the id of its point in time.
    ///
    /// # Errors
    ///
    /// When the text is no JSON object.
    pub fn search_after(&mut self) -> Result<(), String> {
        let root = self.root()?;
        self.key_of(root, "search_after");
        let pit = scan::find(&self.text, "pit.id").map(|value| self.place(value));
        // A point in time that was remembered is renewed where it is remembered.
        if let Some(place) = pit.filter(|place| !self.gaps.iter().any(|gap| overlap(&gap.place, place))) {
            self.add(place, Slot::Pit);
        }
        Ok(())
    }

    /// Makes a gap for the key after which a composite aggregation goes on.
    ///
    /// # Errors
    ///
    /// When the text is no JSON object or has no such aggregation.
    pub fn after_key(&mut self, path: &[String]) -> Result<(), String> {
        let root = self.root()?;
        let step = |object, name: &String| {
            let inner = scan::value(object, "aggs").or_else(|| scan::value(object, "aggregations"))?;
            scan::value(inner, name)
        };
        let aggregation = path.iter().try_fold(&self.text[root..], step);
        let composite = aggregation.and_then(|aggregation| scan::value(aggregation, "composite"));
        let Some(composite) = composite.filter(|composite| composite.starts_with(b"{")) else {
            return Err(format!("the body has no composite aggregation {}", path.join(" > ")));
        };
        let start = self.place(composite).start;
        self.key_of(start, "after");
        Ok(())
    }

    /// The text with its gaps filled.
    pub fn fill(&mut self, values: Values<'_>) {
        self.filled.clear();
        let mut from = 0;
        for gap in &self.gaps {
            let value = match gap.slot {
                Slot::Recalled => values.recalled.as_bytes(),
                Slot::Key => values.key,
                Slot::Pit => values.pit,
            };
            if value.is_empty() {
                continue;
            }
            self.filled.extend_from_slice(&self.text[from..gap.place.start]);
            self.filled.extend_from_slice(gap.around.0.as_bytes());
            match gap.slot {
                Slot::Recalled => escape(values.recalled, &mut self.filled),
                Slot::Key | Slot::Pit => self.filled.extend_from_slice(value),
            }
            self.filled.extend_from_slice(gap.around.1.as_bytes());
            from = gap.place.end;
        }
        self.filled.extend_from_slice(&self.text[from..]);
    }

    /// What is to be sent.
    pub fn text(&self) -> &[u8] {
        if self.gaps.is_empty() { &self.text } else { &self.filled }
    }

    /// Whether there is nothing to be sent.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether what is to be sent changes from request to request.
    pub fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Where the object begins that the whole text is.
    fn root(&self) -> Result<usize, String> {
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&self.text).is_ok();
        let begin = self.text.trim_ascii_start();
        (is_json && begin.starts_with(b"{"))
            .then_some(self.text.len() - begin.len())
            .ok_or_else(|| "the next page can only be asked for if the body is a JSON object".to_owned())
    }

    /// Makes a gap for the value of a key of the object that begins at `object`, whether it has the key or not.
    fn key_of(&mut self, object: usize, key: &str) {
        if let Some(place) = scan::value(&self.text[object..], key).map(|value| self.place(value)) {
            self.add(place, Slot::Key);
            return;
        }
        let empty = self.text[object + 1..].trim_ascii_start().starts_with(b"}");
        let around = (format!("\"{key}\":"), if empty { "" } else { "," });
        self.insert(Gap { place: object + 1..object + 1, slot: Slot::Key, around });
    }

    /// Where a value is: it begins a rest of the text.
    fn place(&self, value: &[u8]) -> Range<usize> {
        let start = self.text.len() - value.len();
        start..start + scan::whole(value).len()
    }

    fn add(&mut self, place: Range<usize>, slot: Slot) {
        self.insert(Gap { place, slot, around: (String::new(), "") });
    }

    fn insert(&mut self, gap: Gap) {
        self.gaps.retain(|known| !overlap(&known.place, &gap.place));
        self.gaps.push(gap);
        self.gaps.sort_by_key(|gap| gap.place.start);
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Writes a text as the inside of a JSON string.
fn escape(text: &str, out: &mut Vec<u8>) {
    let begin = out.len();
    if serde_json::to_writer(&mut *out, text).is_ok() {
        out.pop();
        out.remove(begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &mut Template, values: Values<'_>) -> String {
        template.fill(values);
        String::from_utf8(template.text().to_vec()).unwrap()
    }

    #[test]
    fn the_next_search_is_the_first_with_the_sort_values_of_the_last_hit() {
        let mut search = Template::new(r#"{"size": 2, "pit": {"id": "old"}}"#.into());
        search.search_after().unwrap();
        assert_eq!(filled(&mut search, Values::default()), r#"{"size": 2, "pit": {"id": "old"}}"#);
        let values = Values { key: b"[1,\"a\"]", pit: b"\"new\"", ..Values::default() };
        assert_eq!(
            filled(&mut search, values),
            r#"{"search_after":[1,"a"],"size": 2, "pit": {"id": "new"}}"#
        );
        let mut own = Template::new(r#" {"search_after": [0], "size": 2}"#.into());
        own.search_after().unwrap();
        assert_eq!(filled(&mut own, Values::default()), r#" {"search_after": [0], "size": 2}"#);
        assert_eq!(filled(&mut own, values), r#" {"search_after": [1,"a"], "size": 2}"#);
        let mut all = Template::new("{}".into());
        all.search_after().unwrap();
        assert_eq!(filled(&mut all, values), r#"{"search_after":[1,"a"]}"#);
        for text in ["", "[1]", "{\"a\": 1", "null"] {
            assert!(Template::new(text.into()).search_after().is_err(), "{text}");
        }
    }

    #[test]
    fn a_remembered_point_in_time_is_filled_in_as_text() {
        let mut search = Template::new(r#"{"pit":{"id":"@P@","keep_alive":"1m"}}"#.into());
        assert!(search.recall("@P@") && !search.recall("@Q@"));
        search.search_after().unwrap();
        let values = Values { recalled: "a\"b", key: b"[1]", pit: b"\"never\"" };
        assert_eq!(
            filled(&mut search, values),
            r#"{"search_after":[1],"pit":{"id":"a\"b","keep_alive":"1m"}}"#
        );
    }

    #[test]
    fn a_composite_aggregation_is_found_however_it_is_spelt() {
        let body = r#"{"aggs":{"f":{"filter":{},"aggregations":{"a\u00e9":{"composite":{"size":2}}}}}}"#;
        let mut search = Template::new(body.into());
        search.after_key(&["f".into(), "aé".into()]).unwrap();
        assert_eq!(filled(&mut search, Values::default()), body);
        let values = Values { key: br#"{"k":1}"#, ..Values::default() };
        assert_eq!(
            filled(&mut search, values),
            body.replace(r#"{"size":2}"#, r#"{"after":{"k":1},"size":2}"#)
        );
        let error = Template::new(body.into()).after_key(&["f".into(), "b".into()]).unwrap_err();
        assert_eq!(error, "the body has no composite aggregation f > b");
    }
}
