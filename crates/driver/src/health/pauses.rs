//! Pauses of the driver that readings of its clocks meet, by second of the race.
//!
//! A reading is late because the driver did not run, or because its CPU, which had nothing to do, was woken late. What is
//! late does not tell them apart: a stopped process runs once more than a sleeping one before its next reading, and the
//! hypervisor counts the time that it took from a virtual machine.

use serde::Serialize;

/// Length in seconds below which most pauses are between two readings, and not noticed: the mean interval of these.
const SHORT_S: f64 = 0.02;

/// Maximum number of entries; of a longer race, some contain several seconds.
const MAX_SECONDS: usize = 256;

/// The pauses of the driver that ended in one second of the race, or in neighbouring ones: between two readings of the
/// host's counters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PausedSecond {
    /// Beginning of the first pause, in seconds since the race's first step began.
    pub from_s: f64,
    /// End of the last one.
    pub to_s: f64,
    /// Total length of the pauses in seconds.
    pub paused_s: f64,
    /// Number of the pauses.
    pub pauses: u32,
    /// Number of those that are shorter than the interval of the readings.
    pub short: u32,
    /// Total length of these in seconds.
    pub short_s: f64,
    /// Length of the longest of these in seconds.
    pub longest_short_s: f64,
    /// Number of these in which the reading thread ran again before it was due: its process was stopped, or its control
    /// group frozen. Most such stops are between two readings, so that each noticed one stands for an interval of them.
    pub stopped: u32,
    /// Total length of these in seconds.
    pub stopped_s: f64,
    /// Time that the hypervisor took from the CPUs that the driver may use, added over them, in this second; `None` if
    /// the system does not report it.
    pub stolen_s: Option<f64>,
}

/// A pause that a reading met.
#[derive(Debug, Clone, Copy)]
pub struct NoticedPause {
    /// Its length in seconds.
    pub length_s: f64,
    /// Its end, in seconds since the race's first step began.
    pub end_s: f64,
    /// Whether the reading thread ran again before it was due.
    pub is_stop: bool,
}

/// The pauses of a race.
#[derive(Debug, Default)]
pub struct PauseLog {
    seconds: Vec<PausedSecond>,
    /// Whether the last of these has not ended.
    is_open: bool,
    /// Stolen time since the start, when the last second ended.
    stolen_before_s: Option<f64>,
}

impl PauseLog {
    /// Adds a pause.
    pub fn add(&mut self, pause: NoticedPause) {
        let second = PausedSecond::of(pause);
        if let Some(last) = self.seconds.last_mut().filter(|_| self.is_open) {
            last.add(&second);
            return;
        }
        if self.seconds.len() == MAX_SECONDS {
            self.merge_closest();
        }
        self.seconds.push(second);
        self.is_open = true;
    }

    /// Merges the two neighbours that last for the shortest time together.
    fn merge_closest(&mut self) {
        let span = |at: &usize| self.seconds[*at].to_s - self.seconds[*at - 1].from_s;
        let Some(at) = (1..self.seconds.len()).min_by(|one, other| span(one).total_cmp(&span(other))) else {
            return;
        };
        let later = self.seconds.remove(at);
        self.seconds[at - 1].add(&later);
    }

    /// Ends a second; `stolen_s` is the stolen time since the start, or `None` if the system does not report it.
    pub fn end_second(&mut self, stolen_s: Option<f64>) {
        if let Some(last) = self.seconds.last_mut().filter(|_| self.is_open) {
            last.stolen_s = stolen_s.map(|now| (now - self.stolen_before_s.unwrap_or(0.0)).max(0.0));
        }
        self.is_open = false;
        self.stolen_before_s = stolen_s.or(self.stolen_before_s);
    }

    /// Returns the seconds in which pauses ended; if there are more than 256, those that are closest to each other are
    /// merged.
    pub fn into_seconds(self) -> Vec<PausedSecond> {
        self.seconds
    }
}

impl PausedSecond {
    fn of(NoticedPause { length_s, end_s, is_stop }: NoticedPause) -> Self {
        let (is_short, is_stop) = (length_s < SHORT_S, is_stop && length_s < SHORT_S);
        let length_if = |counts: bool| if counts { length_s } else { 0.0 };
        Self {
            from_s: (end_s - length_s).max(0.0),
            to_s: end_s,
            paused_s: length_s,
            pauses: 1,
            short: u32::from(is_short),
            short_s: length_if(is_short),
            longest_short_s: length_if(is_short),
            stopped: u32::from(is_stop),
            stopped_s: length_if(is_stop),
            stolen_s: None,
        }
    }

    /// Adds a later pause.
    fn add(&mut self, later: &Self) {
        self.to_s = later.to_s;
        self.paused_s += later.paused_s;
        self.pauses += later.pauses;
        self.short += later.short;
        self.short_s += later.short_s;
        self.longest_short_s = self.longest_short_s.max(later.longest_short_s);
        self.stopped += later.stopped;
        self.stopped_s += later.stopped_s;
        self.stolen_s = self.stolen_s.zip(later.stolen_s).map(|(one, other)| one + other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noticed(end_s: f64, length_ms: u32, is_stop: bool) -> NoticedPause {
        NoticedPause { length_s: f64::from(length_ms) / 1e3, end_s, is_stop }
    }

    #[test]
    fn stolen_time_belongs_to_the_second_in_which_the_pauses_were() {
        let mut log = PauseLog::default();
        log.end_second(Some(0.5));
        log.add(noticed(1.1, 2, false));
        log.add(noticed(1.2, 3, true));
        log.add(noticed(1.3, 50, true));
        log.end_second(Some(0.54));
        // A second without pauses.
        log.end_second(Some(0.84));
        log.add(noticed(3.5, 4, false));
        log.end_second(Some(0.85));
        log.add(noticed(4.5, 4, false));
        log.end_second(None);
        let seconds = log.into_seconds();
        let stolen: Vec<Option<f64>> =
            seconds.iter().map(|second| second.stolen_s.map(|time| (time * 1e3).round())).collect();
        assert_eq!(stolen, [Some(40.0), Some(10.0), None]);
        let first = seconds[0];
        assert_eq!((first.pauses, first.short, first.stopped), (3, 2, 1), "{first:?}");
        assert!((first.longest_short_s - 0.003).abs() < 1e-9, "{first:?}");
        assert!((first.stopped_s - 0.003).abs() < 1e-9 && (first.short_s - 0.005).abs() < 1e-9, "{first:?}");
    }

    #[test]
    fn more_seconds_are_merged_with_their_neighbours_and_none_is_lost() {
        let mut log = PauseLog::default();
        log.add(noticed(0.5, 80, false));
        log.end_second(Some(0.0));
        for second in 1_000..2_000_u16 {
            log.add(noticed(f64::from(second), 2, second % 2 == 0));
            log.end_second(Some(f64::from(second - 999) * 0.01));
        }
        let seconds = log.into_seconds();
        assert_eq!(seconds.len(), MAX_SECONDS);
        // The pause that is far from all others keeps its time.
        assert_eq!((seconds[0].pauses, seconds[0].short), (1, 0));
        assert!((seconds[0].to_s - 0.5).abs() < 1e-9);
        let counts = seconds.iter().fold((0, 0, 0), |sum, second| {
            (sum.0 + second.pauses, sum.1 + second.short, sum.2 + second.stopped)
        });
        assert_eq!(counts, (1_001, 1_000, 500));
        let stolen_s: f64 = seconds.iter().filter_map(|second| second.stolen_s).sum();
        assert!((stolen_s - 10.0).abs() < 1e-6, "{stolen_s}");
        assert!(seconds[1..].iter().all(|second| second.to_s - second.from_s < 9.0), "{seconds:?}");
    }
}
