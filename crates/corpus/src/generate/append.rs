//! Appends text, numbers and dates to a line without allocating.

/// Appends text.
#[inline]
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends an integer.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a number, padded with leading zeros to at least `digits` digits.
#[inline]
pub(crate) fn padded(out: &mut Vec<u8>, number: u64, digits: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number).as_bytes();
    out.resize(out.len() + digits.saturating_sub(text.len()), b'0');
    out.extend_from_slice(text);
}

/// Appends `value` / 10^`digits` as JSON libraries format it: without trailing zeros, but with at least one decimal
/// place.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, value: i64, digits: usize) {
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value.unsigned_abs()).as_bytes();
    let (whole, part) = text.split_at(text.len().saturating_sub(digits));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    out.push(b'.');
    out.resize(out.len() + digits - part.len(), b'0');
    out.extend_from_slice(part);
    let trailing =
        out.iter().rev().take(digits.saturating_sub(1)).take_while(|digit| **digit == b'0').count();
    out.truncate(out.len() - trailing);
}

/// Converts a constant date `yyyy-mm-dd` to days since 1970; returns 0 for any other text.
pub(crate) fn day_of(text: &str) -> u64 {
    let mut parts = text.split('-').map(|part| part.parse::<u64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let (year, month, day) = (next(), next(), next());
    // Counts years and months from 1 March of year 0, so that a leap day is the last day of its year.
    let (year, month) = if month < 3 { (year.wrapping_sub(1), month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    days.saturating_sub(719_469)
}

/// Converts days since 1970 to year, month and day.
#[inline]
pub(crate) fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 1 March of year 0
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let first = (153 * month + 2) / 5;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (era * 400 + year, month, day - first + 1)
}

/// Appends the date that is `days` days after 1 January 1970, as `yyyy-mm-dd`.
#[inline]
pub(crate) fn date(out: &mut Vec<u8>, days: u64) {
    let (year, month, day) = date_of(days);
    padded(out, year, 4);
    two(out, b'-', month);
    two(out, b'-', day);
}

/// Appends a time in seconds since 1970 as `yyyy-mm-dd` and `hh:mm:ss`, with `separator` between them.
#[inline]
pub(crate) fn time(out: &mut Vec<u8>, seconds: u64, separator: u8) {
    date(out, seconds / 86_400);
    let of_day = seconds % 86_400;
    two(out, separator, of_day / 3600);
    two(out, b':', of_day / 60 % 60);
    two(out, b':', of_day % 60);
}

/// Appends a time in milliseconds since 1970 as `yyyy-mm-ddThh:mm:ss.mmm`.
#[inline]
pub(crate) fn time_millis(out: &mut Vec<u8>, millis: u64) {
    time(out, millis / 1000, b'T');
    out.push(b'.');
    padded(out, millis % 1000, 3);
}

#[inline]
fn two(out: &mut Vec<u8>, before: u8, number: u64) {
    let digit = |digit: u64| b'0' + u8::try_from(digit % 10).unwrap_or(0);
    out.extend_from_slice(&[before, digit(number / 10), digit(number)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(append: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"x".to_vec();
        append(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_have_at_least_one_decimal_place() {
        let cases = [
            (630, 2, "x6.3"),
            (0, 2, "x0.0"),
            (-5, 2, "x-0.05"),
            (500, 2, "x5.0"),
            (-7_392_259, 5, "x-73.92259"),
            (10, 1, "x1.0"),
            (-3, 1, "x-0.3"),
        ];
        for (value, digits, expected) in cases {
            assert_eq!(appended(|out| decimal(out, value, digits)), expected);
        }
        assert_eq!(appended(|out| padded(out, 42, 5)), "x00042");
        assert_eq!(appended(|out| padded(out, 123_456, 5)), "x123456");
    }

    #[test]
    fn dates_follow_the_calendar() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1998-05-01", 10_347),
            ("2000-02-29", 11_016),
            ("2015-12-31", 16_800),
            ("2016-03-01", 16_861),
        ] {
            assert_eq!(day_of(text), days);
            assert_eq!(appended(|out| date(out, days)), format!("x{text}"));
        }
        assert!((0..60_000).all(|days| day_of(&appended(|out| date(out, days))[1..]) == days));
        assert_eq!(appended(|out| time_millis(out, 1_333_481_217_033)), "x2012-04-03T19:26:57.033");
        assert_eq!(appended(|out| time(out, 1_420_072_482, b' ')), "x2015-01-01 00:34:42");
    }
}
