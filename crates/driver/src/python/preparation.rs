//! The preparation of a step that needs Python.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::DriveError;
use crate::race_state::{RaceState, StopLevel, lock};

/// Interval at which the stop level is polled while waiting for Python.
const STOP_POLL: Duration = Duration::from_millis(20);

/// The state of preparing the next step, which is done by Python and by the thread that opens connections for runners.
#[derive(Debug, Default)]
pub struct Preparation {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    step: usize,
    /// When the preparation began.
    began: Option<Instant>,
    prepared: Option<Result<(), String>>,
    connected: bool,
}

impl Preparation {
    /// Resets the state for a step, given by its position in the plan.
    pub fn begin(&self, step: usize) {
        *lock(&self.state) = State { step, began: Some(Instant::now()), ..State::default() };
    }

    /// Records Python's answer for a step. Later answers for the step and answers for other steps are ignored.
    pub fn prepared(&self, step: usize, error: Option<String>) {
        let mut state = lock(&self.state);
        if state.step == step {
            state.prepared.get_or_insert(error.map_or(Ok(()), Err));
            self.changed.notify_all();
        }
    }

    /// Returns how long Python has been preparing a step, or `None` if it is not.
    pub fn duration(&self) -> Option<Duration> {
        let state = lock(&self.state);
        state.began.filter(|_| state.prepared.is_none()).map(|began| began.elapsed())
    }

    /// Records that the connections for the clients of the step are open.
    pub fn connected(&self) {
        lock(&self.state).connected = true;
        self.changed.notify_all();
    }

    /// Waits until the step is prepared. Returns `false` if the race was stopped in the meantime.
    ///
    /// # Errors
    ///
    /// The error that Python reported.
    pub fn wait(&self, race_state: &RaceState) -> Result<bool, DriveError> {
        let mut state = lock(&self.state);
        loop {
            match &state.prepared {
                Some(Err(error)) => return Err(DriveError::Python(error.clone())),
                Some(Ok(())) if state.connected => return Ok(true),
                _ if race_state.stop_level() != StopLevel::Run => return Ok(false),
                _ => {}
            }
            let waited = self.changed.wait_timeout(state, STOP_POLL);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
