//! Request bodies with gaps that are filled before each request.

use std::ops::Range;

use crate::response::json_scan as scan;

/// The value that fills a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GapValue {
    /// A captured value, within a string.
    Captured,
    /// The key of the next page, as JSON.
    PageKey,
    /// The point in time that the last response returned, as JSON.
    PointInTime,
}

/// The values for the gaps. If a value is empty, its gap keeps the text of the template.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values<'a> {
    /// A captured value.
    pub captured: &'a str,
    /// The key of the next page, as JSON.
    pub page_key: &'a [u8],
    /// The point in time that the last response returned, as JSON.
    pub point_in_time: &'a [u8],
}

/// A JSON text with gaps.
#[derive(Debug, Default)]
pub struct BodyTemplate {
    text: Vec<u8>,
    /// Gaps sorted by position, without overlap.
    gaps: Vec<Gap>,
    filled: Vec<u8>,
}

#[derive(Debug)]
struct Gap {
    /// The text that the value replaces.
    range: Range<usize>,
    value: GapValue,
    /// Text that is written before the value.
    prefix: String,
    /// Text that is written after the value.
    suffix: &'static str,
}

impl AsRef<[u8]> for BodyTemplate {
    /// Returns the bytes to send.
    fn as_ref(&self) -> &[u8] {
        if self.gaps.is_empty() { &self.text } else { &self.filled }
    }
}

impl BodyTemplate {
    /// Creates a template without gaps.
    pub fn new(text: String) -> Self {
        Self { text: text.into_bytes(), ..Self::default() }
    }

    /// Creates a template with a gap for the key of the next page between two texts.
    pub fn around_page_key(before: &str, after: &str) -> Self {
        let mut template = Self::new(format!("{before}{after}"));
        template.add(before.len()..before.len(), GapValue::PageKey);
        template
    }

    /// Adds a gap for a captured value wherever the text contains `marker`.
    pub fn add_captured(&mut self, marker: &str) {
        let starts: Vec<usize> = memchr::memmem::find_iter(&self.text, marker).collect();
        for start in starts {
            self.add(start..start + marker.len(), GapValue::Captured);
        }
    }

    /// Adds a gap for the sort values after which a search continues, and a gap for the id of its point in time.
    ///
    /// # Errors
    ///
    /// If the text is not a JSON object.
    pub fn add_search_after(&mut self) -> Result<(), String> {
        let root = self.root()?;
        self.add_key(root, "search_after");
        let id = scan::value_at_path(&self.text, "pit.id").map(|value| self.range_of(value));
        // A captured point in time is renewed by capturing it again.
        if let Some(range) = id.filter(|range| !self.gaps.iter().any(|gap| overlap(&gap.range, range))) {
            self.add(range, GapValue::PointInTime);
        }
        Ok(())
    }

    /// Adds a gap for the key after which a composite aggregation continues.
    ///
    /// # Errors
    ///
    /// If the text is not a JSON object or has no such aggregation.
    pub fn add_after_key(&mut self, path: &[String]) -> Result<(), String> {
        let root = self.root()?;
        let step = |object, name: &String| {
            let inner = scan::field(object, "aggs").or_else(|| scan::field(object, "aggregations"))?;
            scan::field(inner, name)
        };
        let aggregation = path.iter().try_fold(&self.text[root..], step);
        let composite = aggregation.and_then(|aggregation| scan::field(aggregation, "composite"));
        let Some(composite) = composite.filter(|composite| composite.starts_with(b"{")) else {
            return Err(format!("the body has no composite aggregation {}", path.join(" > ")));
        };
        let start = self.range_of(composite).start;
        self.add_key(start, "after");
        Ok(())
    }

    /// Fills the gaps.
    pub fn fill(&mut self, values: Values<'_>) {
        self.filled.clear();
        let mut copied = 0;
        for gap in &self.gaps {
            let value = match gap.value {
                GapValue::Captured => values.captured.as_bytes(),
                GapValue::PageKey => values.page_key,
                GapValue::PointInTime => values.point_in_time,
            };
            if value.is_empty() {
                continue;
            }
            self.filled.extend_from_slice(&self.text[copied..gap.range.start]);
            self.filled.extend_from_slice(gap.prefix.as_bytes());
            match gap.value {
                GapValue::Captured => escape(values.captured, &mut self.filled),
                GapValue::PageKey | GapValue::PointInTime => self.filled.extend_from_slice(value),
            }
            self.filled.extend_from_slice(gap.suffix.as_bytes());
            copied = gap.range.end;
        }
        self.filled.extend_from_slice(&self.text[copied..]);
    }

    /// Returns whether the body is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether the body changes from request to request.
    pub fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Returns the position of the object in the text.
    fn root(&self) -> Result<usize, String> {
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&self.text).is_ok();
        let begin = self.text.trim_ascii_start();
        (is_json && begin.starts_with(b"{"))
            .then_some(self.text.len() - begin.len())
            .ok_or_else(|| "the next page can only be requested if the body is a JSON object".to_owned())
    }

    /// Adds a gap for the value of a key in the object that starts at `object`, whether or not the object has the key.
    fn add_key(&mut self, object: usize, key: &str) {
        if let Some(range) = scan::field(&self.text[object..], key).map(|value| self.range_of(value)) {
            self.add(range, GapValue::PageKey);
            return;
        }
        let empty = self.text[object + 1..].trim_ascii_start().starts_with(b"}");
        self.insert(Gap {
            range: object + 1..object + 1,
            value: GapValue::PageKey,
            prefix: format!("\"{key}\":"),
            suffix: if empty { "" } else { "," },
        });
    }

    /// Returns the range of the value at the start of `rest`, which is a suffix of the text.
    fn range_of(&self, rest: &[u8]) -> Range<usize> {
        let start = self.text.len() - rest.len();
        start..start + scan::first_value(rest).len()
    }

    fn add(&mut self, range: Range<usize>, value: GapValue) {
        self.insert(Gap { range, value, prefix: String::new(), suffix: "" });
    }

    fn insert(&mut self, gap: Gap) {
        self.gaps.retain(|known| !overlap(&known.range, &gap.range));
        self.gaps.push(gap);
        self.gaps.sort_by_key(|gap| gap.range.start);
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Appends a text, escaped for use in a JSON string.
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

    fn filled(template: &mut BodyTemplate, values: Values<'_>) -> String {
        template.fill(values);
        String::from_utf8(template.as_ref().to_vec()).unwrap()
    }

    #[test]
    fn the_next_search_is_the_first_one_with_the_sort_values_of_the_last_hit() {
        let mut search = BodyTemplate::new(r#"{"size": 2, "pit": {"id": "old"}}"#.into());
        search.add_search_after().unwrap();
        assert_eq!(filled(&mut search, Values::default()), r#"{"size": 2, "pit": {"id": "old"}}"#);
        let values = Values { page_key: b"[1,\"a\"]", point_in_time: b"\"new\"", ..Values::default() };
        assert_eq!(
            filled(&mut search, values),
            r#"{"search_after":[1,"a"],"size": 2, "pit": {"id": "new"}}"#
        );
        let mut own = BodyTemplate::new(r#" {"search_after": [0], "size": 2}"#.into());
        own.add_search_after().unwrap();
        assert_eq!(filled(&mut own, Values::default()), r#" {"search_after": [0], "size": 2}"#);
        assert_eq!(filled(&mut own, values), r#" {"search_after": [1,"a"], "size": 2}"#);
        let mut all = BodyTemplate::new("{}".into());
        all.add_search_after().unwrap();
        assert_eq!(filled(&mut all, values), r#"{"search_after":[1,"a"]}"#);
        for text in ["", "[1]", "{\"a\": 1", "null"] {
            assert!(BodyTemplate::new(text.into()).add_search_after().is_err(), "{text}");
        }
    }

    #[test]
    fn a_captured_point_in_time_is_inserted_as_text() {
        let mut search = BodyTemplate::new(r#"{"pit":{"id":"@P@","keep_alive":"1m"}}"#.into());
        search.add_captured("@P@");
        search.add_captured("@Q@");
        search.add_search_after().unwrap();
        let values = Values { captured: "a\"b", page_key: b"[1]", point_in_time: b"\"never\"" };
        assert_eq!(
            filled(&mut search, values),
            r#"{"search_after":[1],"pit":{"id":"a\"b","keep_alive":"1m"}}"#
        );
    }

    #[test]
    fn a_composite_aggregation_is_found_in_either_spelling() {
        let body = r#"{"aggs":{"f":{"filter":{},"aggregations":{"a\u00e9":{"composite":{"size":2}}}}}}"#;
        let mut search = BodyTemplate::new(body.into());
        search.add_after_key(&["f".into(), "aé".into()]).unwrap();
        assert_eq!(filled(&mut search, Values::default()), body);
        let values = Values { page_key: br#"{"k":1}"#, ..Values::default() };
        assert_eq!(
            filled(&mut search, values),
            body.replace(r#"{"size":2}"#, r#"{"after":{"k":1},"size":2}"#)
        );
        let error = BodyTemplate::new(body.into()).add_after_key(&["f".into(), "b".into()]).unwrap_err();
        assert_eq!(error, "the body has no composite aggregation f > b");
    }
}
