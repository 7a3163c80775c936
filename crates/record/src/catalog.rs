//! Names of tasks and operations, looked up by the numbers under which they are recorded.

use std::num::NonZeroU32;

/// A description of a task for the collector.
#[derive(Debug, Clone, Default)]
pub struct TaskInfo {
    /// Name of the task.
    pub name: String,
    /// Name of the operation.
    pub operation: String,
    /// Type of the operation.
    pub operation_type: String,
    /// Unit of its work.
    pub unit: String,
    /// Number of its clients.
    pub clients: u32,
    /// Whether it has a schedule.
    pub paced: bool,
    /// Whether its clients share their schedule.
    pub open_loop: bool,
    /// Length of the warm-up of a time-based task, in nanoseconds; `None` if the task counts operations instead.
    pub warmup_ns: Option<u64>,
    /// Planned end of a time-based task, in nanoseconds since it began.
    pub end_ns: Option<u64>,
    /// Time between two operations of an even schedule, in nanoseconds; `None` for other schedules.
    pub interval_ns: Option<u64>,
    /// Time that a document takes at the rate of a schedule that follows from the documents of the operations, in
    /// nanoseconds; `None` for other schedules.
    pub document_interval_ns: Option<f64>,
    /// Number of operations of all clients, if known.
    pub planned_operations: Option<u64>,
    /// Number of documents of all clients, if they end the task.
    pub planned_documents: Option<u64>,
}

/// An operation within the operation of a task, such as a search of a composite operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubOperationInfo {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// Name of the sub-operation.
    pub operation: String,
    /// Type of the sub-operation.
    pub operation_type: String,
}

/// Number of a sub-operation within a race. An `Option` of it takes no more memory than a `u32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubOperationNumber(NonZeroU32);

impl SubOperationNumber {
    /// Returns the number of the sub-operation at a position in [`Catalog::sub_operations`].
    pub(crate) fn at(position: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(u32::try_from(position).unwrap_or(u32::MAX)))
    }

    /// Returns the position of the sub-operation in [`Catalog::sub_operations`].
    pub(crate) fn position(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Name and type of a sub-operation.
#[derive(Debug, Clone, Copy)]
pub struct SubOperationName<'a> {
    /// Name of the sub-operation.
    pub operation: &'a str,
    /// Type of the sub-operation, such as `search`.
    pub operation_type: &'a str,
}

/// The names of all tasks and sub-operations of a race.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// The tasks, in the order of the plan.
    pub tasks: Vec<TaskInfo>,
    /// The sub-operations, in the order of their [`SubOperationNumber`].
    pub sub_operations: Vec<SubOperationInfo>,
}

/// The names under which an operation is stored.
#[derive(Debug, Clone, Copy)]
pub struct OperationNames<'a> {
    /// Name of the task.
    pub task: &'a str,
    /// Name of the operation, or of the sub-operation.
    pub operation: &'a str,
    /// Type of the operation or sub-operation.
    pub operation_type: &'a str,
    /// Whether it is a sub-operation.
    pub is_sub_operation: bool,
}

impl Catalog {
    /// Returns the names of a task's operation, or of one of its sub-operations.
    pub fn names(&self, task_index: u32, sub_operation: Option<SubOperationNumber>) -> OperationNames<'_> {
        let info = &self.tasks[task_index as usize];
        match sub_operation.and_then(|number| self.sub_operation(number)) {
            Some(sub_operation) => OperationNames {
                task: &info.name,
                operation: &sub_operation.operation,
                operation_type: &sub_operation.operation_type,
                is_sub_operation: true,
            },
            None => OperationNames {
                task: &info.name,
                operation: &info.operation,
                operation_type: &info.operation_type,
                is_sub_operation: false,
            },
        }
    }

    /// Returns the sub-operation with this number, if it has been announced.
    pub fn sub_operation(&self, number: SubOperationNumber) -> Option<&SubOperationInfo> {
        self.sub_operations.get(number.position())
    }
}
