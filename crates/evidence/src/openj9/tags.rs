//! Finds the tags of an XML stream, without building a tree.
//!
//! A verbose GC log is often not well-formed: a running JVM has not closed the root element, a killed one leaves half a
//! tag, and a log on standard error is mixed with other output. An XML parser stops there; this scanner skips what is
//! not a tag and continues. It keeps at most one incomplete tag in memory, has no stack that nested elements could fill,
//! and neither reads declarations of entities nor expands references to them.

use memchr::memchr;
use memchr::memmem::Finder;

/// Longest tag that is read, in bytes. The longest that a JVM writes holds one of its options.
pub(super) const MAX_TAG: usize = 64 * 1024;
/// Start of a CDATA section, the longest of the markup that is skipped.
const CDATA: &[u8] = b"<![CDATA[";

/// The form of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagForm {
    /// `<name …>`
    Start,
    /// `<name … />`
    Empty,
    /// `</name>`
    End,
}

/// A tag, borrowed from the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag<'a> {
    /// Whether the tag starts, ends, or is an element.
    pub form: TagForm,
    /// Name of the element.
    pub name: &'a [u8],
    attributes: &'a [u8],
}

impl<'a> Tag<'a> {
    /// Splits the text between `<` and `>`. Returns `None` if it does not begin with a name.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let (text, is_end) = match text.strip_prefix(b"/") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (text, is_empty) = match text.strip_suffix(b"/") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let length = text.iter().take_while(|byte| is_name_byte(**byte)).count();
        if !text.first()?.is_ascii_alphabetic() {
            return None;
        }
        let form = match (is_end, is_empty) {
            (true, _) => TagForm::End,
            (false, true) => TagForm::Empty,
            (false, false) => TagForm::Start,
        };
        Some(Self { form, name: &text[..length], attributes: &text[length..] })
    }

    /// Returns the attributes in their order; ends at the first that is malformed.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes { rest: self.attributes }
    }

    /// Returns the value of an attribute.
    pub fn value(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.attributes().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':')
}

/// The attributes of a tag: names, and values without their quotes. References in values are not replaced.
#[derive(Debug, Clone)]
pub(super) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.trim_ascii_start();
        let equals = memchr(b'=', text)?;
        let name = text[..equals].trim_ascii_end();
        let quoted = text[equals + 1..].trim_ascii_start();
        let quote = *quoted.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let length = memchr(quote, &quoted[1..])?;
        self.rest = &quoted[length + 2..];
        Some((name, &quoted[1..=length]))
    }
}

/// What the scanner is inside of.
#[derive(Debug)]
enum Markup {
    /// Text between tags.
    Text,
    /// A comment, processing instruction or CDATA section, which ends with these bytes.
    Skipped(&'static [u8]),
    /// A document type declaration.
    Declaration { quote: Option<u8>, in_subset: bool },
}

/// What begins at a `<`.
enum Begin<'a> {
    /// A tag, and its length in bytes.
    Tag(Tag<'a>, usize),
    /// Markup to skip, and the length of its start in bytes.
    Skipped(Markup, usize),
    /// Text: this many bytes to skip.
    NoTag(usize),
    /// A tag that is cut or too long: this many bytes to skip.
    Cut(usize),
    /// More input is needed.
    Incomplete,
}

/// Finds tags in a stream of bytes.
#[derive(Debug)]
pub(super) struct TagScanner {
    incomplete: Vec<u8>,
    markup: Markup,
    cut_tags: u64,
    has_declaration: bool,
}

impl TagScanner {
    /// Creates a scanner at the beginning of a file.
    pub fn new() -> Self {
        Self { incomplete: Vec::new(), markup: Markup::Text, cut_tags: 0, has_declaration: false }
    }

    /// Reads the next bytes of the stream and passes each tag that is complete to `sink`.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(Tag<'_>)) {
        if self.incomplete.is_empty() {
            let used = self.scan(bytes, sink);
            self.incomplete.extend_from_slice(&bytes[used..]);
        } else {
            let mut joined = std::mem::take(&mut self.incomplete);
            joined.extend_from_slice(bytes);
            let used = self.scan(&joined, sink);
            joined.drain(..used);
            self.incomplete = joined;
        }
    }

    /// Ends the file. Returns whether it ends within a tag or other markup.
    pub fn end_file(&mut self) -> bool {
        let is_cut = !self.incomplete.is_empty() || !matches!(self.markup, Markup::Text);
        self.incomplete.clear();
        self.markup = Markup::Text;
        is_cut
    }

    /// Returns the number of tags that are cut or longer than [`MAX_TAG`], except at the end of a file.
    pub fn cut_tags(&self) -> u64 {
        self.cut_tags
    }

    /// Returns whether the stream has a document type declaration, which a JVM does not write.
    pub fn has_declaration(&self) -> bool {
        self.has_declaration
    }

    /// Returns the number of bytes that need not be read again.
    fn scan(&mut self, bytes: &[u8], sink: &mut impl FnMut(Tag<'_>)) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.markup {
                Markup::Text => {
                    let Some(offset) = memchr(b'<', rest) else { return bytes.len() };
                    at += offset;
                    match begin(&bytes[at..]) {
                        Begin::Tag(tag, length) => {
                            sink(tag);
                            at += length;
                        }
                        Begin::Skipped(markup, length) => {
                            self.has_declaration |= matches!(markup, Markup::Declaration { .. });
                            self.markup = markup;
                            at += length;
                        }
                        Begin::NoTag(length) => at += length,
                        Begin::Cut(length) => {
                            self.cut_tags += 1;
                            at += length;
                        }
                        Begin::Incomplete => return at,
                    }
                }
                Markup::Skipped(end) => {
                    let Some(offset) = Finder::new(end).find(rest) else {
                        return bytes.len() - (end.len() - 1).min(rest.len());
                    };
                    at += offset + end.len();
                    self.markup = Markup::Text;
                }
                Markup::Declaration { quote, in_subset } => match skip_declaration(rest, quote, in_subset) {
                    Some(length) => {
                        at += length;
                        self.markup = Markup::Text;
                    }
                    None => return bytes.len(),
                },
            }
        }
        at
    }
}

/// Returns the length of the rest of a document type declaration, or `None` if it does not end here.
fn skip_declaration(bytes: &[u8], quote: &mut Option<u8>, in_subset: &mut bool) -> Option<usize> {
    for (index, byte) in bytes.iter().enumerate() {
        match (*quote, byte) {
            (Some(open), byte) if open == *byte => *quote = None,
            (None, b'"' | b'\'') => *quote = Some(*byte),
            (None, b'[') => *in_subset = true,
            (None, b']') => *in_subset = false,
            (None, b'>') if !*in_subset => return Some(index + 1),
            _ => {}
        }
    }
    None
}

/// Determines what begins at the start of `bytes`, which is a `<`.
fn begin(bytes: &[u8]) -> Begin<'_> {
    match bytes.get(1) {
        None => Begin::Incomplete,
        Some(b'?') => Begin::Skipped(Markup::Skipped(b"?>"), 2),
        Some(b'!') => begin_declaration(bytes),
        Some(byte) if byte.is_ascii_alphabetic() || *byte == b'/' => begin_tag(bytes),
        Some(_) => Begin::NoTag(1),
    }
}

fn begin_declaration(bytes: &[u8]) -> Begin<'_> {
    if bytes.starts_with(b"<!--") {
        Begin::Skipped(Markup::Skipped(b"-->"), 4)
    } else if bytes.starts_with(CDATA) {
        Begin::Skipped(Markup::Skipped(b"]]>"), CDATA.len())
    } else if b"<!--".starts_with(bytes) || CDATA.starts_with(bytes) {
        Begin::Incomplete
    } else {
        Begin::Skipped(Markup::Declaration { quote: None, in_subset: false }, 2)
    }
}

/// Finds the end of a tag. A `>` in a quoted value does not end it. Another `<` does, unless it is in a quoted value and
/// not the first of its line: the rest of the tag is missing.
fn begin_tag(bytes: &[u8]) -> Begin<'_> {
    let window = &bytes[..bytes.len().min(MAX_TAG)];
    if let Some(end) = memchr(b'>', window)
        && is_complete(&window[1..end])
    {
        return end_tag(window, end);
    }
    let mut quote = None;
    for (index, byte) in window.iter().enumerate().skip(1) {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), b'<') if is_first_of_line(&window[..index]) => return Begin::Cut(index),
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'<') => return Begin::Cut(index),
            (None, b'>') => return end_tag(window, index),
            _ => {}
        }
    }
    if bytes.len() < MAX_TAG { Begin::Incomplete } else { Begin::Cut(MAX_TAG) }
}

/// Returns whether all quotes are closed and no character needs a closer look, which is the case for nearly all tags.
fn is_complete(text: &[u8]) -> bool {
    let (mut is_quoted, mut needs_look) = (false, false);
    for byte in text {
        is_quoted ^= *byte == b'"';
        needs_look |= matches!(byte, b'<' | b'\'');
    }
    !is_quoted && !needs_look
}

/// Returns the tag that ends with the `>` at `end`.
fn end_tag(window: &[u8], end: usize) -> Begin<'_> {
    Tag::parse(&window[1..end]).map_or(Begin::NoTag(end + 1), |tag| Begin::Tag(tag, end + 1))
}

/// Returns whether only blanks separate the end of `before` from a line break.
fn is_first_of_line(before: &[u8]) -> bool {
    let blanks = &before[before.trim_ascii_end().len()..];
    blanks.contains(&b'\n')
}

/// Replaces the references to predefined entities and characters in an attribute value. Others remain as they are.
pub(super) fn unescape(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(start) = rest.find('&') {
        unescaped.push_str(&rest[..start]);
        rest = &rest[start..];
        let reference = rest.find(';').and_then(|end| Some((referenced(&rest[1..end])?, end + 1)));
        let (character, length) = reference.unwrap_or(('&', 1));
        unescaped.push(character);
        rest = &rest[length..];
    }
    unescaped.push_str(rest);
    unescaped
}

fn referenced(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(parts: &[&[u8]]) -> (Vec<String>, TagScanner) {
        let mut scanner = TagScanner::new();
        let mut found = Vec::new();
        for part in parts {
            scanner.feed(part, &mut |tag| {
                let attributes: Vec<_> = tag
                    .attributes()
                    .map(|(name, value)| format!("{}={}", String::from_utf8_lossy(name), unescape(value)))
                    .collect();
                let name = String::from_utf8_lossy(tag.name);
                found.push(format!("{:?} {name} {}", tag.form, attributes.join("|")));
            });
        }
        (found, scanner)
    }

    const LOG: &str = r#"<?xml version="1.0" ?>
<!DOCTYPE v [<!ENTITY a "]>"> <!ENTITY b "&a;&a;">]>
<!-- <gc-op type="scavenge"> --><![CDATA[<no-tag>]]>
<a x="1" y = 'a > b' z="&lt;&#65;&#x42;&unknown;&amp;"><b/></a> 1 < 2 <3> text
<c threads="<main>" />"#;

    #[test]
    fn tags_are_the_same_for_all_splits() {
        let expected =
            ["Start a x=1|y=a > b|z=<AB&unknown;&", "Empty b ", "End a ", "Empty c threads=<main>"];
        let bytes = LOG.as_bytes();
        assert_eq!(scan(&[bytes]).0, expected);
        for split in 0..bytes.len() {
            let (found, mut scanner) = scan(&[&bytes[..split], &bytes[split..]]);
            assert_eq!(found, expected, "split at {split}");
            assert!(scanner.has_declaration());
            assert!(!scanner.end_file());
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(scan(&single).0, expected);
    }

    #[test]
    fn a_cut_tag_does_not_swallow_the_next_one() {
        for cut in ["<a x=\"1\" ", "<a x=\"1", "<a x=", "<a", "</a"] {
            let text = format!("{cut}\n  <b y=\"2\" />\n");
            let (found, scanner) = scan(&[text.as_bytes()]);
            assert_eq!(found, ["Empty b y=2"], "{cut}");
            assert_eq!(scanner.cut_tags(), 1);
        }
        let (found, mut scanner) = scan(&[b"<b/><a x=\"1"]);
        assert_eq!(found, ["Empty b "]);
        assert!(scanner.end_file());
        scanner.feed(b"2\"/><c/>", &mut |tag| assert_eq!(tag.name, b"c"));
    }

    #[test]
    fn memory_is_bounded() {
        let mut scanner = TagScanner::new();
        let mut count = 0;
        for text in ["<a x=\"", "<!--", "<?", "<![CDATA[", "<!DOCTYPE a [", "</", "<"] {
            scanner.feed(text.as_bytes(), &mut |_| {});
            for _ in 0..64 {
                scanner.feed(&[b'"', b'a', b' ', b'a'].repeat(1024), &mut |_| {});
                assert!(scanner.incomplete.len() < 2 * MAX_TAG, "{text}");
            }
            scanner.end_file();
            scanner.feed(b"<ok/>", &mut |_| count += 1);
        }
        assert_eq!(count, 7);
        let deep = "<a>".repeat(100_000);
        scanner.feed(deep.as_bytes(), &mut |_| count += 1);
        assert_eq!((count, scanner.incomplete.capacity() < 2 * MAX_TAG), (100_007, true));
    }

    #[test]
    fn malformed_attributes_end_the_list() {
        let (found, _) = scan(&[b"<a x=\"1\" y z=2 w=\"3\"><b =\"1\"><c x=1><d x><e \"a\">"]);
        assert_eq!(found, ["Start a x=1", "Start b =1", "Start c ", "Start d ", "Start e "]);
    }
}
