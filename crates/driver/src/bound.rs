//! When a task ends, for one of its clients.

use pacenote_plan::Bound;
use pacenote_record::{EndedBy, SampleType};

/// Decides about each operation whether it is warm-up, measured or one too many.
#[derive(Debug, Clone)]
pub struct Gate {
    bound: Bound,
    admitted: u64,
}

impl Gate {
    /// A gate that has admitted nothing.
    pub fn new(bound: Bound) -> Self {
        Self { bound, admitted: 0 }
    }

    /// Decides about an operation that starts `at_ns` after the task began.
    ///
    /// # Errors
    ///
    /// Why the task ends here.
    pub fn admit(&mut self, at_ns: u64) -> Result<SampleType, EndedBy> {
        let (warming_up, open, end) = match self.bound {
            Bound::Iterations { warmup, measured } => {
                (self.admitted < warmup, self.admitted < warmup.saturating_add(measured), EndedBy::Iterations)
            }
            Bound::Time { warmup_s, measured_s } => {
                let elapsed_s = at_ns as f64 / 1e9;
                let before_end = measured_s.is_none_or(|measured| elapsed_s < warmup_s + measured);
                (elapsed_s < warmup_s, before_end, EndedBy::Time)
            }
        };
        if !open {
            return Err(end);
        }
        self.admitted += 1;
        Ok(if warming_up { SampleType::Warmup } else { SampleType::Normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_counted_warm_up_first() {
        let mut gate = Gate::new(Bound::Iterations { warmup: 1, measured: 2 });
        let answers: Vec<_> = (0..4).map(|_| gate.admit(0)).collect();
        let (warmup, normal) = (Ok(SampleType::Warmup), Ok(SampleType::Normal));
        assert_eq!(answers, [warmup, normal, normal, Err(EndedBy::Iterations)]);
    }

    #[test]
    fn time_is_told_by_the_start_of_the_operation() {
        let mut gate = Gate::new(Bound::Time { warmup_s: 1.0, measured_s: Some(2.0) });
        assert_eq!(gate.admit(999_999_999), Ok(SampleType::Warmup));
        assert_eq!(gate.admit(1_000_000_000), Ok(SampleType::Normal));
        assert_eq!(gate.admit(2_999_999_999), Ok(SampleType::Normal));
        assert_eq!(gate.admit(3_000_000_000), Err(EndedBy::Time));
        let mut endless = Gate::new(Bound::Time { warmup_s: 0.0, measured_s: None });
        assert_eq!(endless.admit(u64::MAX), Ok(SampleType::Normal));
    }
}
