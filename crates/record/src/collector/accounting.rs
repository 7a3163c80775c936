//! Checks that the counts of a task add up. Admitted operations are counted by the schedules, begun ones by the
//! recorder and ended ones in the statistics, so an operation that is lost between two of these places is detected.
//! Unsent operations are counted in one place only: they are part of `scheduled` and of the sum that it is compared
//! with.

/// Counts of a task's operations, each from where it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationAccounting {
    /// Operations admitted by the schedules and not withdrawn, plus unsent ones. `None` if clients were dropped before
    /// they ended, because their schedules were dropped with them.
    pub scheduled: Option<u64>,
    /// Operations that began.
    pub begun: u64,
    /// Operations that were due but never began.
    pub unsent: u64,
    /// Operations that succeeded.
    pub succeeded: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that began but did not end.
    pub unanswered: u64,
    /// Number of service times in the histogram of successes.
    pub timed: u64,
}

impl OperationAccounting {
    /// Describes the counts that do not add up, or returns `None` if all do.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let Self { begun, unsent, succeeded, failed, unanswered, timed, .. } = *self;
        let scheduled = self.scheduled.filter(|scheduled| *scheduled != begun.saturating_add(unsent));
        let contradictions = [
            scheduled.map(|scheduled| format!("{scheduled} scheduled, but {begun} sent + {unsent} unsent")),
            (begun != succeeded + failed + unanswered).then(|| {
                format!("{begun} sent, but {succeeded} succeeded + {failed} failed + {unanswered} unanswered")
            }),
            (timed != succeeded)
                .then(|| format!("{succeeded} succeeded, but there are {timed} service times")),
        ];
        let contradictions: Vec<String> = contradictions.into_iter().flatten().collect();
        (!contradictions.is_empty()).then(|| contradictions.join("; "))
    }
}

/// Counts of a task's samples, each from where it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleAccounting {
    /// Operations and sub-operations that ended.
    pub ended: u64,
    /// Samples sent to the file.
    pub kept: u64,
    /// Samples that were not kept because the race was configured so.
    pub left_out: u64,
    /// Samples dropped because the disk was too slow.
    pub lost: u64,
}

impl SampleAccounting {
    /// Describes the counts that do not add up, or returns `None` if all do.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let Self { ended, kept, left_out, lost } = *self;
        let wrong = ended != kept + left_out + lost;
        wrong.then(|| format!("{ended} ended, but {kept} samples kept + {left_out} left out + {lost} lost"))
    }
}

/// Describes the difference between the number of samples kept and the number in the file, or returns `None` if they
/// are equal.
#[must_use]
pub fn file_contradiction(kept: u64, written: u64) -> Option<String> {
    (kept != written).then(|| format!("{kept} samples were kept, but {written} are in the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: OperationAccounting = OperationAccounting {
        scheduled: Some(12),
        begun: 10,
        unsent: 2,
        succeeded: 7,
        failed: 2,
        unanswered: 1,
        timed: 7,
    };

    #[test]
    fn counts_that_add_up_are_not_reported() {
        assert_eq!(GOOD.contradiction(), None);
        assert_eq!(OperationAccounting { scheduled: None, unsent: 9, ..GOOD }.contradiction(), None);
        assert_eq!(SampleAccounting { ended: 9, kept: 4, left_out: 3, lost: 2 }.contradiction(), None);
        assert_eq!(file_contradiction(7, 7), None);
    }

    #[test]
    fn every_contradiction_is_reported() {
        let of = |ledger: OperationAccounting| ledger.contradiction().unwrap();
        assert_eq!(
            of(OperationAccounting { scheduled: Some(13), ..GOOD }),
            "13 scheduled, but 10 sent + 2 unsent"
        );
        assert_eq!(of(OperationAccounting { unsent: 0, ..GOOD }), "12 scheduled, but 10 sent + 0 unsent");
        let lost = "10 sent, but 7 succeeded + 1 failed + 1 unanswered";
        assert_eq!(of(OperationAccounting { failed: 1, ..GOOD }), lost);
        assert_eq!(
            of(OperationAccounting { timed: 6, ..GOOD }),
            "7 succeeded, but there are 6 service times"
        );
        let both = of(OperationAccounting { scheduled: None, unanswered: 0, timed: 8, ..GOOD });
        assert_eq!(both.split("; ").count(), 2, "{both}");
        let rows = SampleAccounting { ended: 9, kept: 4, left_out: 3, lost: 1 };
        let lost = "9 ended, but 4 samples kept + 3 left out + 1 lost";
        assert_eq!(rows.contradiction().unwrap(), lost);
        assert_eq!(file_contradiction(7, 6).unwrap(), "7 samples were kept, but 6 are in the file");
    }
}
