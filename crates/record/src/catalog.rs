//! What tasks, and the operations within their operations, are called.
//!
//! Which operations there are within an operation may only be known when they run, so they are numbered as they come,
//! from 1, over all tasks of a race. 0 stands for the operation as a whole.

use std::sync::{Arc, Mutex, PoisonError};

/// Operations within operations that are told apart in a task; later ones share one name, so that a source which invents
/// names does not fill the memory.
const MOST: usize = 64;

/// Name and type of those.
const OTHERS: &str = "others";

/// What the collector has to know of a task.
#[derive(Debug, Clone)]
pub struct TaskInfo {
    /// Name of the task.
    pub task: String,
    /// Name of the operation.
    pub operation: String,
    /// Type of the operation.
    pub operation_type: String,
    /// Unit of its work.
    pub unit: String,
    /// Clients of the task.
    pub clients: u32,
    /// Whether it has a schedule.
    pub paced: bool,
    /// Whether its clients share their schedule.
    pub open_loop: bool,
    /// Length of the warm-up of a time-based task, `None` when operations are counted instead.
    pub warmup_ns: Option<u64>,
    /// Planned end of a time-based task.
    pub end_ns: Option<u64>,
    /// Time between two operations of an even schedule, `None` for any other.
    pub interval_ns: Option<u64>,
    /// Operations of all clients, where that is known.
    pub operations: Option<u64>,
}

/// An operation that runs within the operation of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartInfo {
    /// Position of the task in the plan.
    pub task: u32,
    /// Name of the operation within.
    pub operation: String,
    /// Its type.
    pub operation_type: String,
}

/// What tasks and parts are called, by their numbers.
#[derive(Debug, Clone)]
pub struct Names {
    /// By position in the plan.
    pub tasks: Vec<TaskInfo>,
    /// By number, from 1.
    pub parts: Vec<PartInfo>,
}

impl Names {
    /// Task, operation and whether it is a part, of what has these numbers.
    pub fn of(&self, task: u32, part: u32) -> (&str, &str, bool) {
        let info = &self.tasks[task as usize];
        match self.part(part) {
            Some(part) => (&info.task, &part.operation, true),
            None => (&info.task, &info.operation, false),
        }
    }

    /// The operation of a number; `None` for 0.
    pub fn part(&self, number: u32) -> Option<&PartInfo> {
        self.parts.get((number as usize).checked_sub(1)?)
    }
}

/// All parts of a race. Locked when a thread sees a part for the first time, not per sample.
#[derive(Debug, Clone, Default)]
pub struct Parts(Arc<Mutex<Vec<PartInfo>>>);

impl Parts {
    /// The number of a part, or of the one that stands for it; `announce` is told of one that is new before anybody else
    /// can get its number.
    pub fn number(&self, part: &PartInfo, announce: impl FnOnce(PartInfo)) -> u32 {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |part: &PartInfo, parts: &[PartInfo]| parts.iter().position(|known| known == part);
        let mut part = part.clone();
        let mut position = of(&part, &parts);
        if position.is_none() && parts.iter().filter(|known| known.task == part.task).count() >= MOST {
            (part.operation, part.operation_type) = (OTHERS.to_owned(), OTHERS.to_owned());
            position = of(&part, &parts);
        }
        let position = position.unwrap_or_else(|| {
            parts.push(part.clone());
            announce(part);
            parts.len() - 1
        });
        u32::try_from(position + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_are_counted_together_task_by_task() {
        let (parts, mut told) = (Parts::default(), Vec::new());
        let mut number = |task, operation: String| {
            let part = PartInfo { task, operation, operation_type: "search".into() };
            parts.number(&part, |new| told.push(new))
        };
        let most = u32::try_from(MOST).unwrap();
        for name in 0..most {
            assert_eq!(number(0, name.to_string()), name + 1);
        }
        assert_eq!((number(0, "a".into()), number(0, "b".into())), (most + 1, most + 1));
        assert_eq!(
            (number(7, "a".into()), number(0, "b".into()), number(0, "5".into())),
            (most + 2, most + 1, 6)
        );
        assert_eq!(told.len(), MOST + 2);
        assert_eq!((told[MOST].task, told[MOST].operation.as_str()), (0, OTHERS));
        assert_eq!((told[MOST + 1].task, told[MOST + 1].operation.as_str()), (7, "a"));
    }
}
