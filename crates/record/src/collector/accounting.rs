//! Do the figures add up? Each is counted in a place of its own, so that what gets lost between two places shows.

/// Where the operations of a task went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    /// What the clients were to do: admitted operations, and those left unsent. `None` when clients were dropped at work
    /// and cannot be asked.
    pub planned: Option<u64>,
    /// Begun.
    pub sent: u64,
    /// Due, but never begun.
    pub unsent: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended otherwise.
    pub failed: u64,
    /// Begun and not ended.
    pub unanswered: u64,
    /// Service times in the histogram of successes.
    pub timed: u64,
}

impl Ledger {
    /// What does not add up, with its figures; `None` when everything does.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let Self { sent, unsent, succeeded, failed, unanswered, timed, .. } = *self;
        let planned = self.planned.filter(|planned| *planned != sent + unsent);
        let wrong = [
            planned.map(|planned| format!("{planned} planned are not {sent} sent + {unsent} unsent")),
            (sent != succeeded + failed + unanswered).then(|| {
                format!(
                    "{sent} sent are not {succeeded} succeeded + {failed} failed + {unanswered} unanswered"
                )
            }),
            (timed != succeeded).then(|| format!("{succeeded} succeeded have {timed} service times")),
        ];
        let wrong: Vec<String> = wrong.into_iter().flatten().collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }
}

/// Where the samples of a task went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Operations that ended, and operations within them.
    pub ended: u64,
    /// To be in the file.
    pub kept: u64,
    /// Left out as asked for.
    pub left_out: u64,
    /// Lost because the disk was too slow.
    pub lost: u64,
}

impl Rows {
    /// As [`Ledger::contradiction`].
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let Self { ended, kept, left_out, lost } = *self;
        let wrong = ended != kept + left_out + lost;
        wrong.then(|| {
            format!("{ended} that ended are not {kept} samples kept + {left_out} left out + {lost} lost")
        })
    }
}

/// What is wrong with a file of so many samples; `None` when it is not.
#[must_use]
pub fn on_disk(kept: u64, written: u64) -> Option<String> {
    (kept != written).then(|| format!("{kept} samples were kept, but {written} are in the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Ledger =
        Ledger { planned: Some(12), sent: 10, unsent: 2, succeeded: 7, failed: 2, unanswered: 1, timed: 7 };

    #[test]
    fn figures_that_add_up_are_not_mentioned() {
        assert_eq!(GOOD.contradiction(), None);
        assert_eq!(Ledger { planned: None, unsent: 9, ..GOOD }.contradiction(), None);
        assert_eq!(Rows { ended: 9, kept: 4, left_out: 3, lost: 2 }.contradiction(), None);
        assert_eq!(on_disk(7, 7), None);
    }

    #[test]
    fn every_wrong_figure_is_told_with_the_others() {
        let of = |ledger: Ledger| ledger.contradiction().unwrap();
        assert_eq!(of(Ledger { planned: Some(13), ..GOOD }), "13 planned are not 10 sent + 2 unsent");
        assert_eq!(of(Ledger { unsent: 0, ..GOOD }), "12 planned are not 10 sent + 0 unsent");
        let lost = "10 sent are not 7 succeeded + 1 failed + 1 unanswered";
        assert_eq!(of(Ledger { failed: 1, ..GOOD }), lost);
        assert_eq!(of(Ledger { timed: 6, ..GOOD }), "7 succeeded have 6 service times");
        let both = of(Ledger { planned: None, unanswered: 0, timed: 8, ..GOOD });
        assert_eq!(both.split("; ").count(), 2, "{both}");
        let rows = Rows { ended: 9, kept: 4, left_out: 3, lost: 1 };
        let lost = "9 that ended are not 4 samples kept + 3 left out + 1 lost";
        assert_eq!(rows.contradiction().unwrap(), lost);
        assert_eq!(on_disk(7, 6).unwrap(), "7 samples were kept, but 6 are in the file");
    }
}
