//! Numbers, sizes and durations in messages.

/// Returns a decimal number multiplied by `scale`, rounded down: `6.824` with a scale of 1,000,000 is 6,824,000. `None` if
/// the text is not a number or the result is too large.
pub(super) fn decimal(text: &[u8], scale: u64) -> Option<u64> {
    let point = text.iter().position(|byte| matches!(byte, b'.' | b',')).unwrap_or(text.len());
    let mut value = number(&text[..point])?.checked_mul(scale)?;
    let mut unit = scale;
    for digit in text.get(point + 1..).unwrap_or_default() {
        if !digit.is_ascii_digit() {
            return None;
        }
        unit /= 10;
        value = value.checked_add(unit * u64::from(digit - b'0'))?;
    }
    Some(value)
}

/// Returns a whole number.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let (value, rest) = leading_number(text)?;
    rest.is_empty().then_some(value)
}

/// Splits off the number at the beginning of a text. `None` also for one of more than 63 bits, which is neither a size nor
/// a count of anything.
pub(super) fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let mut value = 0_u64;
    for digit in &text[..digits] {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    Some((signed(value)?, &text[digits..]))
}

/// Splits off the size at the beginning of a text, such as `12M`, in bytes.
pub(super) fn leading_size(text: &[u8]) -> Option<(u64, &[u8])> {
    let (value, rest) = leading_number(text)?;
    let (shift, rest) = match rest {
        [b'B', rest @ ..] => (0, rest),
        [b'K', rest @ ..] => (10, rest),
        [b'M', rest @ ..] => (20, rest),
        [b'G', rest @ ..] => (30, rest),
        [b'T', rest @ ..] => (40, rest),
        _ => return None,
    };
    Some((signed(value.checked_mul(1 << shift)?)?, rest))
}

/// Returns a number that also fits into a type with a sign.
fn signed(value: u64) -> Option<u64> {
    i64::try_from(value).is_ok().then_some(value)
}

/// Returns a size, such as `256M`, in bytes.
pub(super) fn size(text: &[u8]) -> Option<u64> {
    let (bytes, rest) = leading_size(text)?;
    rest.is_empty().then_some(bytes)
}

/// Sizes before and after a collection, and the size of the space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) capacity: Option<u64>,
}

/// Splits off `A->B(C)`, `A(X)->B(C)`, `A->B` or, with percentages in place of sizes, `A(45%)->B(80%)`, in bytes.
pub(super) fn leading_sizes(text: &[u8]) -> Option<(Sizes, &[u8])> {
    let (before, rest) = leading_size(text)?;
    let (_, rest) = in_parentheses(rest);
    let (after, rest) = leading_size(rest.strip_prefix(b"->")?)?;
    let (capacity, rest) = in_parentheses(rest);
    Some((Sizes { before, after, capacity: capacity.and_then(size) }, rest))
}

/// Splits off `12->0(10)` or `12->0`: numbers of regions before and after.
pub(super) fn leading_regions(text: &[u8]) -> Option<(u64, u64)> {
    let (before, rest) = leading_number(text)?;
    let (after, _) = leading_number(rest.strip_prefix(b"->")?)?;
    Some((before, after))
}

/// Splits off a part in parentheses, which may contain further ones.
pub(super) fn in_parentheses(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let [b'(', inner @ ..] = text else { return (None, text) };
    let mut depth = 1_u32;
    for (at, byte) in inner.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (Some(&inner[..at]), &inner[at + 1..]);
        }
    }
    (None, text)
}

/// Returns the nanoseconds of `6.824ms`, `6.824 ms`, `12us` or `0.193s`.
pub(super) fn duration_ns(text: &[u8]) -> Option<u64> {
    let (number, unit_ns) = match text.trim_ascii_end() {
        [number @ .., b'm', b's'] => (number, 1_000_000),
        [number @ .., b'u', b's'] => (number, 1000),
        [number @ .., b'n', b's'] => (number, 1),
        [number @ .., b's'] => (number, 1_000_000_000),
        _ => return None,
    };
    decimal(number.trim_ascii_end(), unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_exactly_or_not_at_all() {
        for (text, expected) in [
            ("6.824", Some(6_824_000)),
            ("0.012", Some(12_000)),
            ("1,5", Some(1_500_000)),
            ("3", Some(3_000_000)),
            ("3.1234567", Some(3_123_456)),
            ("18446744073709551615", None),
            ("", None),
            ("1.2.3", None),
            ("-1", None),
        ] {
            assert_eq!(decimal(text.as_bytes(), 1_000_000), expected, "{text}");
        }
        assert_eq!(duration_ns(b"0.193s"), Some(193_000_000));
        assert_eq!((duration_ns(b"6.363 ms"), duration_ns(b"12us ")), (Some(6_363_000), Some(12_000)));
        assert_eq!((duration_ns(b"6.8"), duration_ns(b"6.8 x ms"), duration_ns(b"ms")), (None, None, None));
    }

    #[test]
    fn sizes_are_read_in_all_forms() {
        let m = 1 << 20;
        for (text, before, after, capacity) in [
            ("158M->12M(256M) 1ms", 158 * m, 12 * m, Some(256 * m)),
            ("64M(256M)->4M(245M)", 64 * m, 4 * m, Some(245 * m)),
            ("116M(45%)->206M(80%)", 116 * m, 206 * m, None),
            ("1K->0B", 1024, 0, None),
        ] {
            let (sizes, _) = leading_sizes(text.as_bytes()).unwrap();
            assert_eq!(sizes, Sizes { before, after, capacity }, "{text}");
        }
        for text in [
            "12M",
            "12M->",
            "12->0(3)",
            "99999999999999999999G->1M",
            "18446744073709551615K->1M",
            "16777215T->1M",
        ] {
            assert_eq!(leading_sizes(text.as_bytes()), None, "{text}");
        }
        assert_eq!(leading_regions(b"12->0(10)"), Some((12, 0)));
        assert_eq!(in_parentheses(b"(System.gc()) 1M"), (Some(b"System.gc()".as_slice()), b" 1M".as_slice()));
        assert_eq!(in_parentheses(b"(no end"), (None, b"(no end".as_slice()));
    }
}
