//! When a task ends, for one of its clients or for those that share a schedule.

use std::time::Duration;

use pacenote_plan::TaskBound;
use pacenote_record::{EndedBy, MeasuredWindow, SampleType};

/// Decides about each operation whether it is warm-up, measured or one too many.
#[derive(Debug, Clone)]
pub struct Gate {
    bound: TaskBound,
    /// Clients that share the gate, and with it their iterations.
    clients: u64,
    admitted: u64,
}

impl Gate {
    /// A gate for so many clients that has admitted nothing.
    pub fn new(bound: TaskBound, clients: u64) -> Self {
        Self { bound, clients, admitted: 0 }
    }

    /// When the task's time is over, in nanoseconds since it began.
    pub fn end_ns(&self) -> Option<u64> {
        match self.bound {
            TaskBound::TimePeriod { warmup_s, measured_s } => {
                measured_s.map(|measured_s| ns(warmup_s + measured_s))
            }
            TaskBound::Iterations { .. } => None,
        }
    }

    /// Why no operation can begin any more at `now_ns`, whenever it would be due.
    pub fn closed(&self, now_ns: u64) -> Option<EndedBy> {
        match self.bound {
            TaskBound::Iterations { warmup, measured } => {
                let all = warmup.saturating_add(measured).saturating_mul(self.clients);
                (self.admitted >= all).then_some(EndedBy::Iterations)
            }
            TaskBound::TimePeriod { .. } => self.end_ns().filter(|end| now_ns >= *end).map(|_| EndedBy::Time),
        }
    }

    /// Decides about an operation that is due `due_ns` after the task began (without a schedule: now), at `now_ns`.
    ///
    /// A task ends when its time is over, also when operations that were due have not been sent.
    ///
    /// # Errors
    ///
    /// Why the task ends here.
    pub fn admit(&mut self, due_ns: u64, now_ns: u64) -> Result<SampleType, EndedBy> {
        if let Some(end) = self.closed(due_ns.max(now_ns)) {
            return Err(end);
        }
        let warming_up = match self.bound {
            TaskBound::Iterations { warmup, .. } => self.admitted < warmup.saturating_mul(self.clients),
            TaskBound::TimePeriod { warmup_s, .. } => due_ns < ns(warmup_s),
        };
        self.admitted += 1;
        Ok(if warming_up { SampleType::Warmup } else { SampleType::Normal })
    }

    /// Operations that were admitted.
    pub fn admitted(&self) -> u64 {
        self.admitted
    }

    /// Takes the last admission back: the operation could not begin when it was admitted.
    pub fn withdraw(&mut self) {
        self.admitted = self.admitted.saturating_sub(1);
    }
}

/// Which work of a task counts for its throughput.
pub fn measured_window(bound: TaskBound) -> MeasuredWindow {
    match bound {
        TaskBound::TimePeriod { warmup_s, measured_s } => MeasuredWindow::Time {
            begin_ns: ns(warmup_s),
            end_ns: measured_s.map_or(u64::MAX, |measured_s| ns(warmup_s + measured_s)),
        },
        TaskBound::Iterations { .. } => MeasuredWindow::Operations,
    }
}

/// Seconds as nanoseconds; the plan is checked to name no time that does not fit.
pub fn ns(seconds: f64) -> u64 {
    u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_counted_warm_up_first() {
        let mut gate = Gate::new(TaskBound::Iterations { warmup: 1, measured: 2 }, 1);
        let answers: Vec<_> = (0..4).map(|_| gate.admit(0, 0)).collect();
        let (warmup, normal) = (Ok(SampleType::Warmup), Ok(SampleType::Normal));
        assert_eq!(answers, [warmup, normal, normal, Err(EndedBy::Iterations)]);
    }

    #[test]
    fn clients_that_share_a_gate_share_their_iterations() {
        let mut gate = Gate::new(TaskBound::Iterations { warmup: 1, measured: 1 }, 3);
        let warmups = (0..3).filter(|_| gate.admit(0, 0) == Ok(SampleType::Warmup)).count();
        let measured = (0..9).filter(|_| gate.admit(0, 0) == Ok(SampleType::Normal)).count();
        assert_eq!((warmups, measured), (3, 3));
        let endless = TaskBound::Iterations { warmup: 0, measured: u64::MAX };
        assert_eq!(Gate::new(endless, 3).admit(0, 0), Ok(SampleType::Normal));
    }

    #[test]
    fn time_is_told_by_the_schedule_and_ends_by_the_clock() {
        let mut gate = Gate::new(TaskBound::TimePeriod { warmup_s: 1.0, measured_s: Some(2.0) }, 1);
        let second = 1_000_000_000;
        assert_eq!(gate.admit(second - 1, second + 1), Ok(SampleType::Warmup));
        assert_eq!(gate.admit(second, 0), Ok(SampleType::Normal));
        assert_eq!(gate.admit(3 * second - 1, 0), Ok(SampleType::Normal));
        assert_eq!(gate.admit(3 * second, 0), Err(EndedBy::Time));
        assert_eq!(gate.admit(2 * second, 3 * second), Err(EndedBy::Time));
        let mut endless = Gate::new(TaskBound::TimePeriod { warmup_s: 0.0, measured_s: None }, 1);
        assert_eq!(endless.admit(u64::MAX, u64::MAX), Ok(SampleType::Normal));
    }
}
