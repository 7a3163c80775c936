//! The values of attributes: numbers, durations and timestamps.

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Most digits of a number that is read, so that no calculation overflows.
const MAX_DIGITS: usize = 15;

/// Parses a number without a sign. Returns `None` for other text, and for numbers of more than 15 digits, which a JVM
/// writes if it subtracts a larger value from a smaller one.
pub(super) fn parse_integer(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > MAX_DIGITS {
        return None;
    }
    text.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}

/// Parses a size of the heap, which is hexadecimal and starts with `0x`, or a decimal number. Returns bytes.
pub(super) fn parse_size(text: &[u8]) -> Option<u64> {
    let Some(digits) = text.strip_prefix(b"0x") else { return parse_integer(text) };
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Parses milliseconds with up to three decimals. Returns microseconds.
pub(super) fn parse_ms(text: &[u8]) -> Option<u64> {
    let (whole, decimals) = match memchr::memchr(b'.', text) {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b"0"[..]),
    };
    if decimals.len() > 3 || whole.len() > MAX_DIGITS - 3 {
        return None;
    }
    let scale = [0, 100, 10, 1].get(decimals.len())?;
    Some(parse_integer(whole)? * 1000 + parse_integer(decimals)? * scale)
}

/// Parses a timestamp such as `2020-10-18T13:35:45.012`. Returns milliseconds since 1970 on the same clock: the JVM
/// writes its local time without a time zone. Years after 2999 are rejected, because not every program can represent
/// them.
pub(super) fn parse_timestamp(text: &[u8]) -> Option<i64> {
    const FORM: &[u8] = b"0000-00-00T00:00:00.000";
    let is_form = text.len() == FORM.len()
        && text
            .iter()
            .zip(FORM)
            .all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form });
    if !is_form {
        return None;
    }
    let part = |from: usize, to: usize| -> Option<i64> {
        parse_integer(&text[from..to]).and_then(|value| i64::try_from(value).ok())
    };
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    if !(1970..3000).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(days_since_1970(year, month, day) * DAY_MS + seconds * 1000 + part(20, 23)?)
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap
/// day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * months + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let integers: [(&[u8], _); 6] = [
            (b"0", Some(0)),
            (b"8140", Some(8140)),
            (b"999999999999999", Some(999_999_999_999_999)),
            (b"18446744073709551615", None),
            (b"-1", None),
            (b"", None),
        ];
        for (text, expected) in integers {
            assert_eq!(parse_integer(text), expected);
        }
        let sizes: [(&[u8], _); 5] = [
            (b"0x40000000", Some(1 << 30)),
            (b"100335456256", Some(100_335_456_256)),
            (b"0x", None),
            (b"0x+1", None),
            (b"0xffffffffffffffff", None),
        ];
        for (text, expected) in sizes {
            assert_eq!(parse_size(text), expected);
        }
        let durations: [(&[u8], _); 8] = [
            (b"12.319", Some(12_319)),
            (b"0.048", Some(48)),
            (b"7", Some(7_000)),
            (b"7.5", Some(7_500)),
            (b"7.05", Some(7_050)),
            (b"7.", None),
            (b"7.0001", None),
            (b"1.-1", None),
        ];
        for (text, expected) in durations {
            assert_eq!(parse_ms(text), expected);
        }
    }

    #[test]
    fn timestamps_follow_the_calendar() {
        let day =
            |text: &str| parse_timestamp(format!("{text}T00:00:00.000").as_bytes()).map(|ms| ms / DAY_MS);
        assert_eq!(day("1970-01-01"), Some(0));
        assert_eq!(day("2000-03-01"), Some(11_017));
        assert_eq!(day("2000-02-29"), Some(11_016));
        assert_eq!(day("1999-12-31"), Some(10_956));
        assert_eq!(day("2026-11-23"), Some(20_780));
        assert_eq!(parse_timestamp(b"2020-10-18T13:35:45.012"), Some(1_603_028_145_012));
        for text in [
            "2020-10-18 13:35:45.012",
            "2020-13-18T13:35:45.012",
            "2020-10-18T24:35:45.012",
            "3000-01-01T00:00:00.000",
            "0000-01-01T00:00:00.000",
            "x",
            "",
        ] {
            assert_eq!(parse_timestamp(text.as_bytes()), None);
        }
    }
}
