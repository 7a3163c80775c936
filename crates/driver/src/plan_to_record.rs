//! Converts a plan to the values that recorders and the collector need, since crates/record does not depend on
//! crates/plan.

use pacenote_plan::{Plan, PlannedTask, SampleRetention, TaskBound, TaskPacing, TaskWork};
use pacenote_record::{MeasuredWindow, RetentionPolicy, TaskInfo};

use crate::operation::bulk::{planned_bulks, planned_documents};
use crate::units::seconds_to_nanos;

/// Returns the window in which work counts towards a task's throughput.
pub fn measured_window(bound: TaskBound) -> MeasuredWindow {
    match bound {
        TaskBound::TimePeriod { warmup_s, measured_s } => MeasuredWindow::Time {
            begin_ns: seconds_to_nanos(warmup_s),
            end_ns: measured_s.map_or(u64::MAX, |measured_s| seconds_to_nanos(warmup_s + measured_s)),
        },
        TaskBound::Iterations { .. } => MeasuredWindow::Operations,
    }
}

/// Returns whether a task has a warm-up.
pub fn has_warmup(bound: TaskBound) -> bool {
    match bound {
        TaskBound::TimePeriod { warmup_s, .. } => warmup_s > 0.0,
        TaskBound::Iterations { warmup, .. } => warmup > 0,
    }
}

/// Returns which samples the recorders keep.
pub fn retention_policy(samples: SampleRetention) -> RetentionPolicy {
    match samples {
        SampleRetention::All => RetentionPolicy::All,
        SampleRetention::None => RetentionPolicy::None,
        SampleRetention::Auto => RetentionPolicy::Auto,
    }
}

/// Returns the tasks of a plan as the collector needs them.
pub fn task_infos(plan: &Plan) -> Vec<TaskInfo> {
    let info = |task: &PlannedTask| {
        let PlannedExtent { warmup_ns, end_ns, iterations } = PlannedExtent::of(task);
        let until_exhausted = match &task.work {
            TaskWork::Bulk(bulk) if end_ns.is_none() && iterations.is_none() => Some(bulk),
            _ => None,
        };
        let planned_operations =
            iterations.or_else(|| until_exhausted.and_then(|bulk| planned_bulks(task, bulk)));
        TaskInfo {
            name: task.name.clone(),
            operation: task.operation.clone(),
            operation_type: task.operation_type.clone(),
            unit: task.unit.clone(),
            clients: task.clients,
            paced: !matches!(task.pacing, TaskPacing::Unpaced {}),
            open_loop: task.open_loop,
            warmup_ns,
            end_ns,
            interval_ns: task.even_interval_s().map(seconds_to_nanos),
            document_interval_ns: task.document_interval_s().map(|interval_s| interval_s * 1e9),
            planned_operations,
            planned_documents: until_exhausted.and_then(|bulk| planned_documents(task, bulk)),
        }
    };
    plan.tasks.iter().map(info).collect()
}

/// The planned extent of a task, as times or as iterations.
struct PlannedExtent {
    /// Length of the warm-up of a task that is limited by time, in nanoseconds.
    warmup_ns: Option<u64>,
    /// End of a task that is limited by time, in nanoseconds since it started.
    end_ns: Option<u64>,
    /// Number of iterations of all clients, warm-up included.
    iterations: Option<u64>,
}

impl PlannedExtent {
    fn of(task: &PlannedTask) -> Self {
        match task.bound {
            TaskBound::Iterations { warmup, measured } => {
                let iterations = warmup.saturating_add(measured).saturating_mul(task.clients.into());
                Self { warmup_ns: None, end_ns: None, iterations: Some(iterations) }
            }
            TaskBound::TimePeriod { warmup_s, measured_s } => Self {
                warmup_ns: Some(seconds_to_nanos(warmup_s)),
                end_ns: measured_s.map(|measured_s| seconds_to_nanos(warmup_s + measured_s)),
                iterations: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_a_warm_up_if_its_plan_has_time_or_iterations_for_it() {
        for (warmup_s, expected) in [(0.0, false), (0.5, true)] {
            assert_eq!(has_warmup(TaskBound::TimePeriod { warmup_s, measured_s: None }), expected);
        }
        for (warmup, expected) in [(0, false), (1, true)] {
            assert_eq!(has_warmup(TaskBound::Iterations { warmup, measured: 1 }), expected);
        }
    }
}
