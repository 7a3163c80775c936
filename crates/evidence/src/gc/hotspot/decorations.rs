//! The decorations at the beginning of a line: `[2026-11-23T20:37:38.625+0000][0.012s][info][gc,start    ] message`.
//!
//! Any subset of the JVM's decorators is accepted: they are recognized by their form, not by their position.

/// The decorations that are needed, still as text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decorations<'a> {
    /// Wall-clock time in ISO 8601.
    wall: &'a [u8],
    /// A time with its unit: uptime, or milliseconds since 1970.
    first_time: &'a [u8],
    /// The second such time, which is the uptime if both are milliseconds or nanoseconds.
    second_time: &'a [u8],
    /// The first decoration that is a plain number: the process id, or the thread id if there is no process id.
    pub(super) number: &'a [u8],
    /// Who wrote the line.
    pub(super) origin: Origin,
    has_level: bool,
}

/// Who wrote a line, according to its decorations.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nothing shows it: the line has neither tags nor a level that only other programs write.
    #[default]
    Unknown,
    /// The unified logging of a JVM: the line has its tags.
    Jvm,
    /// Another program: the level is in upper case, as in the logs of Elasticsearch and `OpenSearch`.
    Other,
}

/// First tags of lines of a JVM that may be the only sign of life between collections. `gc` and `safepoint` suffice
/// without a level; other programs have words like the others in brackets.
const TAGS: [&[u8]; 2] = [b"gc", b"safepoint"];
const TAGS_AFTER_LEVEL: [&[u8]; 28] = [
    b"aot",
    b"arguments",
    b"biasedlocking",
    b"cds",
    b"class",
    b"codecache",
    b"compilation",
    b"cpu",
    b"exceptions",
    b"handshake",
    b"heap",
    b"init",
    b"jfr",
    b"jit",
    b"jni",
    b"logging",
    b"metaspace",
    b"module",
    b"monitorinflation",
    b"nmethod",
    b"nmt",
    b"oopstorage",
    b"os",
    b"pagesize",
    b"startuptime",
    b"stringdedup",
    b"stringtable",
    b"thread",
];
const LEVELS: [&[u8]; 5] = [b"trace", b"debug", b"info", b"warning", b"error"];
const OTHER_LEVELS: [&[u8]; 9] =
    [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"WARNING", b"ERROR", b"FATAL", b"CRITICAL", b"DEPRECATION"];

/// The times of a line in nanoseconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// Since 1970.
    pub(super) wall_ns: Option<i64>,
    /// Since the JVM started; from a clock that only moves forwards.
    pub(super) uptime_ns: Option<u64>,
}

/// Milliseconds above this value are those since 1970, not the uptime: it is the year 2001.
const EPOCH_MS: u64 = 1_000_000_000_000;

/// Splits a line into its decorations and its message.
pub(super) fn split(line: &[u8]) -> (Decorations<'_>, &[u8]) {
    let mut found = Decorations::default();
    let mut rest = line;
    while let [b'[', inner @ ..] = rest {
        let Some(length) = memchr::memchr(b']', inner) else { break };
        found.add(&inner[..length]);
        rest = &inner[length + 1..];
    }
    (found, rest.strip_prefix(b" ").unwrap_or(rest))
}

impl<'a> Decorations<'a> {
    fn add(&mut self, text: &'a [u8]) {
        match text {
            [b'0'..=b'9', .., b's'] if self.first_time.is_empty() => self.first_time = text,
            [b'0'..=b'9', .., b's'] => self.second_time = text,
            [b'0'..=b'9', ..] if text.len() > 19 && text[4] == b'-' => self.wall = text,
            [b'0'..=b'9', ..]
                if self.number.is_empty() && text.trim_ascii_end().iter().all(u8::is_ascii_digit) =>
            {
                self.number = text.trim_ascii_end();
            }
            [b'a'..=b'z' | b' ', ..] => self.add_word(text),
            [b'A'..=b'Z', ..] if OTHER_LEVELS.contains(&text.trim_ascii_end()) => self.origin = Origin::Other,
            _ => {}
        }
    }

    /// Reads the level or the tags.
    fn add_word(&mut self, text: &[u8]) {
        let word = text.trim_ascii_end();
        if self.origin == Origin::Other {
            return;
        }
        if LEVELS.contains(&word) {
            self.has_level = true;
            return;
        }
        let first = word.split(|byte| *byte == b',').next().unwrap_or_default();
        // The JVM has no tags for what it writes about its own log, only spaces.
        let is_jvm = TAGS.contains(&first)
            || (self.has_level && (word.is_empty() || TAGS_AFTER_LEVEL.contains(&first)));
        if is_jvm {
            self.origin = Origin::Jvm;
        }
    }

    /// Returns whether the line has a time, whatever its form.
    pub(super) fn has_time(&self) -> bool {
        !self.wall.is_empty() || !self.first_time.is_empty()
    }

    /// Reads the times.
    pub(super) fn times(&self) -> Times {
        let mut times = Times { wall_ns: parse_iso(self.wall), uptime_ns: None };
        for text in [self.first_time, self.second_time] {
            match parse_time(text) {
                Some(ns) if text.ends_with(b"ms") && ns / 1_000_000 > EPOCH_MS => {
                    times.wall_ns = times.wall_ns.or_else(|| i64::try_from(ns).ok());
                }
                Some(ns) => times.uptime_ns = Some(ns),
                None => {}
            }
        }
        times
    }
}

/// Returns the nanoseconds of `0.012s`, `12ms` or `12345ns`.
fn parse_time(text: &[u8]) -> Option<u64> {
    let (number, unit_ns) = match text {
        [number @ .., b'n', b's'] => (number, 1),
        [number @ .., b'm', b's'] => (number, 1_000_000),
        [number @ .., b's'] => (number, 1_000_000_000),
        _ => return None,
    };
    super::numbers::decimal(number, unit_ns)
}

/// Returns the nanoseconds since 1970 of `2026-11-23T20:37:38.625+0000`.
fn parse_iso(text: &[u8]) -> Option<i64> {
    let field = |from: usize, to: usize| {
        text.get(from..to)
            .filter(|digits| digits.iter().all(u8::is_ascii_digit))
            .map(|digits| digits.iter().fold(0_i64, |value, digit| value * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
    if !(1..=12).contains(&month) {
        return None;
    }
    let millis = if matches!(text.get(19), Some(b'.' | b',')) { field(20, 23)? } else { 0 };
    let zone = text.iter().rposition(|byte| matches!(byte, b'+' | b'-')).filter(|at| *at > 19);
    let offset_min = match zone {
        Some(at) => {
            let minutes = field(at + 1, at + 3)? * 60 + field(at + 3, at + 5)?;
            if text[at] == b'-' { -minutes } else { minutes }
        }
        None => 0,
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    ((seconds - offset_min * 60) * 1000 + millis).checked_mul(1_000_000)
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar (algorithm of H. Hinnant, *chrono-Compatible
/// Low-Level Date Algorithms*).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorations_are_recognized_in_any_subset() {
        let ms = 1_000_000;
        let wall = Some(1_795_466_258_625 * ms);
        let uptime = Some(12_463_525);
        for (line, wall_ns, uptime_ns, number) in [
            ("[2026-11-23T20:37:38.625+0000][12463525ns][info][gc] m", wall, uptime, ""),
            ("[2026-11-23T22:37:38.625+0200][4711][info][gc,start    ] m", wall, None, "4711"),
            ("[2026-11-23T15:07:38.625-0530][0.012s][4711][4712][gc] m", wall, Some(12_000_000), "4711"),
            ("[0.012s][info][gc] m", None, Some(12_000_000), ""),
            ("[1795466258625ms][12ms][12345678ns][host][info ][gc] m", wall, Some(12_345_678), ""),
            ("[1795466258625ms] m", wall, None, ""),
            ("[12ms][info] m", None, Some(12_000_000), ""),
            ("[info][gc] m", None, None, ""),
            ("m", None, None, ""),
            ("[2026-13-23T20:37:38.625+0000][x] m", None, None, ""),
            ("[9999-12-31T20:37:38.625+0000][x] m", None, None, ""),
            ("[99999999999999999999s][1.2.3s][12][s] m", None, None, "12"),
        ] {
            let (found, message) = split(line.as_bytes());
            assert_eq!(message, b"m", "{line}");
            assert_eq!(found.times(), Times { wall_ns, uptime_ns }, "{line}");
            assert_eq!(found.number, number.as_bytes(), "{line}");
        }
        assert_eq!(split(b"[0.1s no end").1, b"[0.1s no end");
        assert_eq!(split(b"").1, b"");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000+0000", 0),
            ("2000-02-29T12:00:00.000+0000", 951_825_600),
            ("2001-09-09T01:46:40.000+0000", 1_000_000_000),
            ("2100-03-01T00:00:00+0000", 4_107_542_400),
        ] {
            assert_eq!(parse_iso(text.as_bytes()), Some(seconds * 1_000_000_000), "{text}");
        }
    }
}
