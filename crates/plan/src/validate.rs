//! Checks rules that involve several fields of a plan. Each problem contains its path in the document.

use std::collections::BTreeSet;

use crate::bulk::{BulkWork, IngestLimit, PlannedActionLines};
use crate::call::{Call, CompositeItem, Request, RetryPolicy};
use crate::error::PlanError;
use crate::plan::{Plan, PlannedTask, TaskBound, TaskPacing, VERSION};
use crate::step::{CompletedBy, Step};
use crate::supply::SuppliedOperation;
use crate::work::TaskWork;

impl Plan {
    /// Checks the rules that types cannot express.
    ///
    /// # Errors
    ///
    /// [`PlanError::UnsupportedVersion`], or [`PlanError::Invalid`] with the first problem found.
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.version != VERSION {
            return Err(PlanError::UnsupportedVersion { found: self.version, supported: VERSION });
        }
        ensure(!self.target.hosts.is_empty(), || invalid("target.hosts".into(), "it has no hosts".into()))?;
        for (index, other) in self.others.iter().enumerate() {
            ensure(!other.target.hosts.is_empty(), || {
                invalid(format!("others[{index}].target.hosts ({})", other.name), "it has no hosts".into())
            })?;
        }
        for (index, task) in self.tasks.iter().enumerate() {
            check_task(task)
                .map_err(|problem| invalid(format!("tasks[{index}] ({})", task.name), problem))?;
        }
        self.check_names()?;
        self.check_allocations()?;
        for (index, step) in self.steps.iter().enumerate() {
            self.check_step(step)
                .map_err(|problem| invalid(format!("steps[{index}] ({})", step.name), problem))?;
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), PlanError> {
        let mut names = BTreeSet::new();
        for (index, task) in self.tasks.iter().enumerate() {
            ensure(names.insert(&task.name), || {
                invalid(format!("tasks[{index}]"), format!("two tasks are named {}", task.name))
            })?;
        }
        Ok(())
    }

    /// Checks that no client of a task runs twice, and that all clients of a task that is allocated run: otherwise
    /// documents would be omitted or sent twice.
    fn check_allocations(&self) -> Result<(), PlanError> {
        let mut seen = BTreeSet::new();
        for (index, step) in self.steps.iter().enumerate() {
            for allocation in step.task_allocations() {
                ensure(seen.insert((allocation.task_index, allocation.client_number)), || {
                    let problem = format!(
                        "client {} of task {} runs twice",
                        allocation.client_number, allocation.task_index
                    );
                    invalid(format!("steps[{index}] ({})", step.name), problem)
                })?;
            }
        }
        for (index, task) in (0..).zip(&self.tasks) {
            let clients = seen.range((index, 0)..=(index, u32::MAX)).count();
            ensure(clients == task.clients as usize || clients == 0, || {
                let problem = format!("only {clients} of its {} clients run", task.clients);
                invalid(format!("tasks[{index}] ({})", task.name), problem)
            })?;
        }
        Ok(())
    }

    fn check_step(&self, step: &Step) -> Result<(), String> {
        if step.client_allocations.is_empty() {
            return Err("it has no clients".into());
        }
        if step.client_allocations.iter().any(|row| row.allocations.is_empty()) {
            return Err("a client has no allocations".into());
        }
        if step.client_allocations.windows(2).any(|pair| pair[0].race_client >= pair[1].race_client) {
            return Err("its client_allocations are not sorted by client".into());
        }
        for allocation in step.task_allocations() {
            let task = self.tasks.get(allocation.task_index as usize);
            let task = task.ok_or_else(|| format!("there is no task {}", allocation.task_index))?;
            if allocation.client_number >= task.clients {
                return Err(format!("task {} has no client {}", task.name, allocation.client_number));
            }
        }
        match step.completed_by {
            Some(CompletedBy::Task { task })
                if !step.task_allocations().any(|allocation| allocation.task_index == task) =>
            {
                Err(format!("it is completed by task {task}, which is not part of the step"))
            }
            _ => Ok(()),
        }
    }
}

fn check_task(task: &PlannedTask) -> Result<(), String> {
    if task.clients == 0 {
        return Err("it has no clients".into());
    }
    match task.pacing {
        TaskPacing::Deterministic { interval_s }
        | TaskPacing::Poisson { interval_s }
        | TaskPacing::Uniform { interval_s } => {
            positive(interval_s, "pacing.interval_s")?;
        }
        TaskPacing::Unpaced {} | TaskPacing::PythonScheduler {} if task.open_loop => {
            return Err("open_loop requires a schedule that the driver computes".into());
        }
        TaskPacing::Unpaced {} | TaskPacing::PythonScheduler {} => {}
    }
    if let TaskBound::TimePeriod { warmup_s, measured_s } = task.bound {
        not_negative(warmup_s, "bound.warmup_s")?;
        not_negative(measured_s.unwrap_or(0.0), "bound.measured_s")?;
    }
    if let Some(documents) = task.documents_per_operation {
        positive(documents, "documents_per_operation")?;
        if task.open_loop || matches!(task.pacing, TaskPacing::Unpaced {} | TaskPacing::PythonScheduler {}) {
            return Err("documents_per_operation requires a schedule of each client".into());
        }
    }
    not_negative(task.ramp_up_s, "ramp_up_s")?;
    match &task.work {
        TaskWork::Bulk(bulk) => check_bulk(bulk),
        TaskWork::Calls(calls) => check_calls(&calls.calls, calls.retry, "work"),
        TaskWork::Sleep { seconds } => not_negative(*seconds, "work.seconds"),
        TaskWork::PythonSource { ahead } if *ahead == 0 => Err("work.ahead is 0; it must be above 0".into()),
        TaskWork::PythonSource { .. } | TaskWork::PythonRunner {} => Ok(()),
    }
}

fn check_bulk(bulk: &BulkWork) -> Result<(), String> {
    if bulk.bulk_size == 0 || bulk.files.is_empty() {
        return Err("a bulk requires a bulk_size and files".into());
    }
    match bulk.limit {
        IngestLimit::Share { share } => positive_fraction(share, "work.limit.share")?,
        IngestLimit::Documents { documents: 0 } => {
            return Err("work.limit.documents is 0; it must be above 0".into());
        }
        IngestLimit::Documents { .. } => {}
    }
    let with_id =
        bulk.files.iter().any(|file| matches!(file.action_lines, PlannedActionLines::WithIds { .. }));
    let Some(conflicts) = bulk.conflicts else {
        return if with_id {
            Err("there are action lines with ids, but no work.conflicts".into())
        } else {
            Ok(())
        };
    };
    if !bulk.files.iter().all(|file| matches!(file.action_lines, PlannedActionLines::WithIds { .. })) {
        return Err("work.conflicts is set, but there are files whose action lines have no ids".into());
    }
    fraction(conflicts.probability, "work.conflicts.probability")?;
    fraction(conflicts.recency, "work.conflicts.recency")
}

impl SuppliedOperation {
    /// Checks the rules that types cannot express.
    ///
    /// # Errors
    ///
    /// [`PlanError::Invalid`] with the first problem found.
    pub fn validate(&self) -> Result<(), PlanError> {
        match self {
            Self::Calls(calls) => check_calls(&calls.calls, calls.retry, "supply")
                .map_err(|problem| invalid("supply".into(), problem)),
            Self::Bulk(_) => Ok(()),
        }
    }
}

fn check_calls(calls: &[Call], retry: RetryPolicy, path: &str) -> Result<(), String> {
    if calls.is_empty() {
        return Err(format!("{path} has no calls"));
    }
    calls.iter().try_for_each(|call| check_call(call, path))?;
    not_negative(retry.limit_s, &format!("{path}.retry.limit_s"))?;
    not_negative(retry.wait_s, &format!("{path}.retry.wait_s"))
}

fn check_call(call: &Call, path: &str) -> Result<(), String> {
    match call {
        Call::Request(request) => check_request(request, path),
        Call::Pages(pages) if pages.pages == Some(0) => {
            Err(format!("{path}.calls.pages is 0; it must be above 0"))
        }
        Call::Pages(pages) => check_request(&pages.first, path),
        Call::Wait { seconds } => not_negative(*seconds, &format!("{path}.calls.seconds")),
        Call::Composite(composite) if composite.max_connections == Some(0) => {
            Err(format!("{path}.calls.max_connections is 0; it must be above 0"))
        }
        Call::Composite(composite) => check_items(&composite.items, path),
    }
}

fn check_request(request: &Request, path: &str) -> Result<(), String> {
    if request.assertions.iter().any(|assertion| assertion.paths.is_empty()) {
        return Err(format!("{path}.calls.assertions.paths is empty"));
    }
    request.poll.map_or(Ok(()), |poll| not_negative(poll.every_s, &format!("{path}.calls.poll.every_s")))
}

fn check_items(items: &[CompositeItem], path: &str) -> Result<(), String> {
    if items.is_empty() {
        return Err(format!("{path}.calls.items is empty"));
    }
    items.iter().try_for_each(|item| match item {
        CompositeItem::Operation { name, calls, retry, .. } => {
            check_calls(calls, *retry, &format!("{path} ({name})"))
        }
        CompositeItem::Stream { items } => check_items(items, path),
    })
}

/// The longest duration in a plan, in seconds: a hundred years, far below what 64 bits of nanoseconds can represent.
const LONGEST_S: f64 = 100.0 * 366.0 * 86_400.0;

/// The shortest interval in a plan, in seconds: schedules have a resolution of a nanosecond.
const SHORTEST_S: f64 = 1e-9;

fn positive(value: f64, name: &str) -> Result<(), String> {
    if value >= SHORTEST_S {
        not_negative(value, name)
    } else {
        Err(format!("{name} is {value}; it must be above 0"))
    }
}

fn positive_fraction(value: f64, name: &str) -> Result<(), String> {
    positive(value, name)?;
    fraction(value, name)
}

fn fraction(value: f64, name: &str) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(format!("{name} is {value}; it must be between 0 and 1"))
    }
}

fn not_negative(value: f64, name: &str) -> Result<(), String> {
    if (0.0..=LONGEST_S).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}; it must be between 0 and a hundred years"))
}

fn ensure(holds: bool, error: impl FnOnce() -> PlanError) -> Result<(), PlanError> {
    if holds { Ok(()) } else { Err(error()) }
}

fn invalid(path: String, problem: String) -> PlanError {
    PlanError::Invalid { path, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> serde_json::Value {
        serde_json::json!({
            "version": 6, "race_id": "r", "seed": 7,
            "target": {"hosts": [{"scheme": "http", "host": "::1", "port": 9200, "path": "", "proxy": null}],
                       "headers": [], "timeout_ms": 60000, "compress": false,
                       "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                               "verify_host": true, "server_name": null}},
            "others": [],
            "driver": {"threads": 0, "on_error": "continue", "samples": "all", "scheduling": "normal"},
            "tasks": [{
                "name": "nap", "operation": "nap", "operation_type": "sleep", "clients": 1,
                "pacing": {"kind": "unpaced"}, "open_loop": false, "bound": {"kind": "iterations", "warmup": 0, "measured": 1},
                "ramp_up_s": 0.0, "unit": "ops", "tolerates_errors": false, "must_succeed": false,
                "work": {"kind": "sleep", "seconds": 0.5}
            }],
            "steps": [{"name": "nap", "completed_by": null,
                       "client_allocations": [{"client": 0, "allocations": [{"task": 0, "client": 0}]}]}]
        })
    }

    fn refused(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let mut value = document();
        change(&mut value);
        Plan::from_json(&value.to_string()).expect_err("the plan should be rejected").to_string()
    }

    #[test]
    fn a_plan_survives_the_round_trip() {
        let plan = Plan::from_json(&document().to_string()).unwrap();
        let reread = Plan::from_json(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(plan, reread);
        assert_eq!(plan.race_client_count(), 1);
    }

    #[test]
    fn an_unknown_field_is_rejected_by_name() {
        assert!(refused(|plan| plan["tasks"][0]["colour"] = "red".into()).contains("colour"));
        assert!(refused(|plan| plan["tasks"][0]["work"]["hurry"] = true.into()).contains("hurry"));
        assert!(refused(|plan| plan["tasks"][0]["pacing"]["hurry"] = true.into()).contains("hurry"));
    }

    #[test]
    fn a_plan_of_a_different_version_is_rejected() {
        assert!(refused(|plan| plan["version"] = 1.into()).contains("version 1"));
    }

    #[test]
    fn an_open_loop_requires_a_schedule() {
        assert!(refused(|plan| plan["tasks"][0]["open_loop"] = true.into()).contains("open_loop"));
    }

    #[test]
    fn an_error_contains_the_path_in_the_document() {
        assert!(refused(|plan| plan["target"]["hosts"] = serde_json::json!([])).contains("target.hosts"));
        let hostless = |plan: &mut serde_json::Value| {
            let mut target = plan["target"].clone();
            target["hosts"] = serde_json::json!([]);
            plan["others"] = serde_json::json!([{"name": "second", "target": target}]);
        };
        assert!(refused(hostless).contains("others[0].target.hosts (second)"));
        assert!(refused(|plan| plan["tasks"][0]["clients"] = 0.into()).contains("tasks[0] (nap)"));
        assert!(
            refused(
                |plan| plan["tasks"][0]["pacing"] = serde_json::json!({"kind": "poisson", "interval_s": 0.0})
            )
            .contains("interval_s")
        );
        assert!(refused(|plan| plan["tasks"][0]["work"]["seconds"] = 1e300.into()).contains("work.seconds"));
        let pointer = "/steps/0/client_allocations/0/allocations/0/client";
        assert!(refused(|plan| *plan.pointer_mut(pointer).unwrap() = 3.into()).contains("no client 3"));
        assert!(
            refused(|plan| {
                let allocations = &mut plan["steps"][0]["client_allocations"][0]["allocations"];
                *allocations = serde_json::json!([{"task": 0, "client": 0}, {"task": 0, "client": 0}]);
            })
            .contains("client 0 of task 0 runs twice")
        );
        assert!(refused(|plan| plan["tasks"][0]["clients"] = 2.into()).contains("1 of its 2 clients run"));
        let twin = |plan: &mut serde_json::Value| {
            let task = plan["tasks"][0].clone();
            plan["tasks"].as_array_mut().unwrap().push(task);
        };
        assert!(refused(twin).contains("two tasks are named nap"));
        let other = serde_json::json!({"kind": "task", "task": 9});
        assert!(refused(|plan| plan["steps"][0]["completed_by"] = other).contains("completed by task 9"));
    }
}
