//! Converts UTF-16, as `>` of Windows PowerShell writes, to UTF-8.

/// A converter, which gets its text in parts of any size.
#[derive(Debug)]
pub(super) struct Utf16 {
    is_big_endian: bool,
    /// The first byte of a unit whose second one has not come yet.
    odd: Option<u8>,
    /// The first unit of a character that has two.
    high: Option<u16>,
}

impl Utf16 {
    /// Returns the converter of a text that begins with these bytes, if they are the byte order mark of UTF-16.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let is_big_endian = match head {
            [0xff, 0xfe, ..] => false,
            [0xfe, 0xff, ..] => true,
            _ => return None,
        };
        Some(Self { is_big_endian, odd: None, high: None })
    }

    /// Appends the text of the next bytes. What is not a character becomes U+FFFD.
    pub(super) fn convert(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        for byte in bytes {
            let Some(first) = self.odd.take() else {
                self.odd = Some(*byte);
                continue;
            };
            let pair = [first, *byte];
            self.push(
                if self.is_big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) },
                text,
            );
        }
    }

    fn push(&mut self, unit: u16, text: &mut Vec<u8>) {
        let is_low = (0xdc00..0xe000).contains(&unit);
        if let Some(high) = self.high.take() {
            if is_low {
                append(text, 0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00));
                return;
            }
            append(text, u32::from(high));
        }
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
        } else {
            append(text, u32::from(unit));
        }
    }
}

fn append(text: &mut Vec<u8>, code: u32) {
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_converted_in_parts_of_any_size() {
        let text = "[0.1s] ä → 😀\r\n";
        for is_big_endian in [false, true] {
            let bytes: Vec<u8> = text
                .encode_utf16()
                .flat_map(|unit| if is_big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect();
            for size in 1..bytes.len() {
                let mut converter = Utf16 { is_big_endian, odd: None, high: None };
                let mut found = Vec::new();
                bytes.chunks(size).for_each(|part| converter.convert(part, &mut found));
                assert_eq!(String::from_utf8(found).unwrap(), text);
            }
        }
        assert!(Utf16::of(b"[0.1s]").is_none() && Utf16::of(b"\xff").is_none());
    }

    #[test]
    fn what_is_not_a_character_is_replaced() {
        let mut found = Vec::new();
        let mut converter = Utf16::of(b"\xfe\xff").unwrap();
        for unit in [0xd83d_u16, 0xd83d, 0x41, 0xde00, 0x42] {
            converter.convert(&unit.to_be_bytes(), &mut found);
        }
        assert_eq!(String::from_utf8(found).unwrap(), "\u{fffd}\u{fffd}A\u{fffd}B");
    }
}
