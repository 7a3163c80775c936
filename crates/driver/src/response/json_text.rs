//! Decodes the texts of a response, of which long ones are cut off: a reply may have half a gigabyte in one of them.

/// Length of the longest scalar that is decoded whole, in bytes with its escapes: names and messages show much less, and
/// no number is as long. Of a longer text, the beginning is decoded.
pub const MAX_SCALAR_BYTES: usize = 64 << 10;

/// Returns the content of a string, such as a key, with its escapes resolved.
#[must_use]
pub fn unescape(content: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", content, b"\""].concat()).ok()
}

/// Returns the content of a string, as [`unescape`] does, or the beginning of one that is too long, before an ellipsis.
#[must_use]
pub fn beginning(content: &[u8]) -> Option<String> {
    if content.len() <= MAX_SCALAR_BYTES {
        return unescape(content);
    }
    let mut end = MAX_SCALAR_BYTES;
    let mut from = 0;
    while let Some(escape) = memchr::memchr(b'\\', &content[from..MAX_SCALAR_BYTES]).map(|at| from + at) {
        let length = match content[escape + 1..] {
            // The first half of a pair of surrogates, which the second one follows.
            [b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..] => 12,
            [b'u', ..] => 6,
            _ => 2,
        };
        from = escape + length;
        if from >= MAX_SCALAR_BYTES {
            end = if from == MAX_SCALAR_BYTES { from } else { escape };
            break;
        }
    }
    // A character has at most four bytes, of which all but the first have these values.
    while matches!(content[end], 0x80..0xC0) && end > MAX_SCALAR_BYTES - 16 {
        end -= 1;
    }
    unescape(&content[..end]).map(|text| text + "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_off_between_characters_and_escapes() {
        for unit in ["a", "é", "😀", r"\n", r"\\", r#"\""#, r"\u00e9", r"\ud83d\ude00", r"\/é\u00e9"] {
            for shift in 0..13 {
                let content = format!("{}{}", "x".repeat(shift), unit.repeat(MAX_SCALAR_BYTES + 1));
                let whole = unescape(&content.as_bytes()[..shift + unit.len() * 40_000]).unwrap();
                let beginning = beginning(content.as_bytes()).unwrap();
                let text = beginning.strip_suffix('…').unwrap();
                assert!(whole.starts_with(text) || text.starts_with(&whole), "{unit} {shift}");
                let raw = (text.chars().count() - shift) / unescape(unit.as_bytes()).unwrap().chars().count();
                assert!(raw * unit.len() + shift + 24 > MAX_SCALAR_BYTES, "{unit} {shift}: {raw}");
            }
        }
    }

    #[test]
    fn other_texts_are_decoded_whole() {
        let longest = "a".repeat(MAX_SCALAR_BYTES);
        assert_eq!(beginning(longest.as_bytes()), Some(longest));
        assert_eq!((beginning(br"\u00e9").as_deref(), beginning(br"\x")), (Some("é"), None));
        for invalid in [&b"\x01"[..], b"\xff", br"\ud83d\u0041", br"\ud83dabcdef"] {
            assert_eq!(beginning(&invalid.repeat(MAX_SCALAR_BYTES)), None);
        }
    }
}
