//! Pauses of the driver that readings of its clocks meet, by second of the race.
//!
//! A reading is late because the driver did not run, or because its CPU, which had nothing to do, was woken late. What is
//! late does not tell them apart: a stopped process runs once more than a sleeping one before its next reading, and the
//! hypervisor counts the time that it took from a virtual machine. Which pauses that time explains is decided in each
//! second: the sums of a longer time would explain pauses with time that was taken in other seconds.

use std::iter::zip;

use serde::{Serialize, Serializer};

use crate::health::race_spans::{RaceSpan, make_room};

/// Length in seconds below which most pauses are between two readings, and not noticed: the mean interval of these.
const SHORT_S: f64 = 0.02;

/// Length in seconds of the shortest pause.
const SHORTEST_S: f64 = 0.001;

/// Number of ranges of lengths from the shortest pause to the interval of the readings; each ends at 1.13 times its
/// begin.
const LENGTHS: usize = 24;

/// The pauses of the driver that ended in one second of the race, or in several ones: between two readings of the host's
/// counters. All but the longest one are sums, so that those of several seconds are the sums of these.
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
    /// Time that the hypervisor took from the CPUs that the driver may use, added over them, in these seconds; `None` if
    /// the system does not report it of one of them.
    pub stolen_s: Option<f64>,
    /// Number of the short ones by their length: in the range at position `i`, from 20^(i/24) ms. Empty ranges at the end
    /// are left out.
    #[serde(serialize_with = "without_zeros")]
    pub lengths: [f64; LENGTHS],
    /// The part of these numbers that stops and stolen time do not explain, if each stands for an interval of the
    /// readings.
    #[serde(serialize_with = "without_zeros")]
    pub unexplained: [f64; LENGTHS],
    /// Total length of this part in seconds.
    pub unexplained_s: f64,
    /// Length of the short ones that is explained, if each stands for its own length, in seconds.
    pub explained_s: f64,
    /// The changes of tasks before these pauses ([`RaceSpan::changes`]).
    #[serde(skip)]
    changes: Option<u32>,
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
    /// The changes of tasks before it ([`RaceSpan::changes`]).
    pub changes: Option<u32>,
}

/// Time that the hypervisor has taken from CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StolenTime {
    /// That time, added over the CPUs, in seconds.
    pub total_s: f64,
    /// Number of the CPUs.
    pub cpus: usize,
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
        make_room(&mut self.seconds);
        self.seconds.push(second);
        self.is_open = true;
    }

    /// Ends a second; `stolen` is what was stolen since the start from the CPUs that the driver may use, or `None` if the
    /// system does not report it.
    pub fn end_second(&mut self, stolen: Option<StolenTime>) {
        if let Some(last) = self.seconds.last_mut().filter(|_| self.is_open) {
            let before_s = self.stolen_before_s.unwrap_or(0.0);
            last.explain(stolen.map(|now| StolenTime { total_s: (now.total_s - before_s).max(0.0), ..now }));
        }
        self.is_open = false;
        self.stolen_before_s = stolen.map(|now| now.total_s).or(self.stolen_before_s);
    }

    /// Returns the seconds in which pauses ended; of many, neighbours are merged ([`make_room`]).
    pub fn into_seconds(mut self) -> Vec<PausedSecond> {
        self.end_second(None);
        self.seconds
    }
}

impl PausedSecond {
    fn of(NoticedPause { length_s, end_s, is_stop, changes }: NoticedPause) -> Self {
        let (is_short, is_stop) = (length_s < SHORT_S, is_stop && length_s < SHORT_S);
        let length_if = |counts: bool| if counts { length_s } else { 0.0 };
        let mut lengths = [0.0; LENGTHS];
        lengths[range_of(length_s)] = f64::from(u8::from(is_short));
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
            lengths,
            unexplained: [0.0; LENGTHS],
            unexplained_s: 0.0,
            explained_s: 0.0,
            changes,
        }
    }

    /// Sets the time stolen in this second, and how much of the pauses it explains together with the stops: of the short
    /// pauses that are not stops, as much as was stolen from each CPU on average.
    fn explain(&mut self, stolen: Option<StolenTime>) {
        self.stolen_s = stolen.map(|time| time.total_s);
        let per_cpu_s =
            stolen.filter(|time| time.cpus > 0).map_or(0.0, |time| time.total_s / time.cpus as f64);
        let (short, stopped) = (f64::from(self.short), f64::from(self.stopped));
        self.explained_s = self.stopped_s + (self.short_s - self.stopped_s).min(per_cpu_s);
        let intervals = stopped + (short - stopped).min(per_cpu_s / SHORT_S);
        let share = if short > 0.0 { (1.0 - intervals / short).max(0.0) } else { 0.0 };
        self.unexplained = self.lengths.map(|count| count * share);
        self.unexplained_s = self.short_s * share;
    }

    /// Adds later pauses.
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
        add_each(&mut self.lengths, &later.lengths);
        add_each(&mut self.unexplained, &later.unexplained);
        self.unexplained_s += later.unexplained_s;
        self.explained_s += later.explained_s;
        self.changes = self.changes.filter(|_| self.changes == later.changes);
    }
}

impl RaceSpan for PausedSecond {
    fn span_s(&self) -> (f64, f64) {
        (self.from_s, self.to_s)
    }

    fn changes(&self) -> Option<u32> {
        self.changes
    }

    fn merge(&mut self, later: &Self) {
        self.add(later);
    }
}

/// Returns the position of the range in which a length is.
fn range_of(length_s: f64) -> usize {
    let ratio = SHORT_S / SHORTEST_S;
    let begin_s = |position: usize| SHORTEST_S * ratio.powf(position as f64 / LENGTHS as f64);
    (1..LENGTHS).take_while(|position| length_s >= begin_s(*position)).count()
}

fn add_each(sums: &mut [f64], others: &[f64]) {
    for (sum, other) in zip(sums, others) {
        *sum += other;
    }
}

/// Writes numbers with three decimals, without zeros at the end.
fn without_zeros<S: Serializer>(numbers: &[f64; LENGTHS], serializer: S) -> Result<S::Ok, S::Error> {
    let length = numbers.iter().rposition(|number| *number > 0.0).map_or(0, |last| last + 1);
    serializer.collect_seq(numbers[..length].iter().map(|number| (number * 1e3).round() / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::race_spans::USUAL_ENTRIES;

    fn noticed(end_s: f64, length_ms: u32, is_stop: bool) -> NoticedPause {
        NoticedPause { length_s: f64::from(length_ms) / 1e3, end_s, is_stop, changes: Some(1) }
    }

    /// The time that was stolen from two CPUs.
    fn stolen(total_s: f64) -> StolenTime {
        StolenTime { total_s, cpus: 2 }
    }

    #[test]
    fn stolen_time_belongs_to_the_second_in_which_the_pauses_were() {
        let mut log = PauseLog::default();
        log.end_second(Some(stolen(0.5)));
        log.add(noticed(1.1, 2, false));
        log.add(noticed(1.2, 3, true));
        log.add(noticed(1.3, 50, true));
        log.end_second(Some(stolen(0.54)));
        // A second without pauses.
        log.end_second(Some(stolen(0.84)));
        log.add(noticed(3.5, 4, false));
        log.end_second(Some(stolen(0.85)));
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
        log.end_second(Some(stolen(0.0)));
        for second in 1_000..2_000_u16 {
            log.add(noticed(f64::from(second), 2, second % 2 == 0));
            log.end_second(Some(stolen(f64::from(second - 999) * 0.01)));
        }
        let seconds = log.into_seconds();
        assert_eq!(seconds.len(), USUAL_ENTRIES);
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

    /// Two late readings in every second, and stolen time in each tenth one: of a short race as of a long one, this time
    /// explains the readings of its own seconds only.
    #[test]
    fn what_stolen_time_explains_does_not_depend_on_the_length_of_the_race() {
        for seconds in [100_u16, 10_000] {
            let (mut log, mut stolen_s) = (PauseLog::default(), 0.0);
            for second in 0..seconds {
                log.add(noticed(f64::from(second) + 0.3, 2, false));
                log.add(noticed(f64::from(second) + 0.6, 8, false));
                stolen_s += if second % 10 == 3 { 0.5 } else { 0.0 };
                log.end_second(Some(stolen(stolen_s)));
            }
            let entries = log.into_seconds();
            assert!(entries.len() <= USUAL_ENTRIES, "{}", entries.len());
            let sum = |of: &dyn Fn(&PausedSecond) -> f64| entries.iter().map(of).sum::<f64>();
            let seconds = f64::from(seconds);
            for ms in [2.0, 8.0] {
                let at = range_of(ms / 1e3);
                let (all, left) = (sum(&|entry| entry.lengths[at]), sum(&|entry| entry.unexplained[at]));
                assert!((all - seconds).abs() + (left - 0.9 * seconds).abs() < 1e-6, "{ms}: {left} of {all}");
            }
            assert!((sum(&|entry| entry.unexplained_s) - 0.009 * seconds).abs() < 1e-6);
            assert!((sum(&|entry| entry.explained_s) - 0.001 * seconds).abs() < 1e-6);
        }
    }

    #[test]
    fn stops_and_a_part_of_the_stolen_time_explain_as_many_intervals() {
        let mut log = PauseLog::default();
        for (end_s, is_stop) in [(0.2, true), (0.4, false), (0.6, false), (0.8, false)] {
            log.add(noticed(end_s, 5, is_stop));
        }
        // 30 ms of each CPU are one and a half intervals.
        log.end_second(Some(stolen(0.06)));
        let second = log.into_seconds()[0];
        assert!((second.unexplained.iter().sum::<f64>() - 1.5).abs() < 1e-9, "{second:?}");
        assert!((second.explained_s - 0.02).abs() < 1e-9, "{second:?}");
        let text = serde_json::to_string(&second).unwrap();
        assert!(
            text.contains(r#""lengths":[0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,4.0],"#),
            "{text}"
        );
    }

    #[test]
    fn lengths_are_in_ranges_up_to_the_interval_of_the_readings() {
        for (ms, position) in
            [(0.9, 0), (1.0, 0), (1.13, 0), (1.14, 1), (4.472, 11), (4.473, 12), (19.99, 23), (20.0, 23)]
        {
            assert_eq!(range_of(ms / 1e3), position, "{ms}");
        }
    }
}
