//! Rules between the fields of a plan. Each problem names its place in the document.

use std::collections::BTreeSet;

use crate::bulk::{Action, Bulk, Limit};
use crate::call::{Call, Item, Request, Retry};
use crate::error::PlanError;
use crate::plan::{Bound, Pace, Plan, Task, VERSION};
use crate::step::{CompletedBy, Step};
use crate::supply::Supply;
use crate::work::Work;

impl Plan {
    /// Checks what the types cannot express.
    ///
    /// # Errors
    ///
    /// [`PlanError::Version`] or the first broken rule as [`PlanError::Rule`].
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.version != VERSION {
            return Err(PlanError::Version { found: self.version, known: VERSION });
        }
        ensure(!self.target.hosts.is_empty(), || ("target.hosts".into(), "no host".into()))?;
        for (index, other) in self.others.iter().enumerate() {
            ensure(!other.target.hosts.is_empty(), || {
                (format!("others[{index}].target.hosts ({})", other.name), "no host".into())
            })?;
        }
        for (index, task) in self.tasks.iter().enumerate() {
            check_task(task).map_err(|problem| rule(format!("tasks[{index}] ({})", task.name), problem))?;
        }
        self.check_names()?;
        self.check_allocations()?;
        for (index, step) in self.steps.iter().enumerate() {
            self.check_step(step)
                .map_err(|problem| rule(format!("steps[{index}] ({})", step.name), problem))?;
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), PlanError> {
        let mut names = BTreeSet::new();
        for (index, task) in self.tasks.iter().enumerate() {
            ensure(names.insert(&task.name), || {
                (format!("tasks[{index}]"), format!("there are two tasks {}", task.name))
            })?;
        }
        Ok(())
    }

    /// Every client of every task runs exactly once, or documents would be lost or sent twice.
    fn check_allocations(&self) -> Result<(), PlanError> {
        let mut seen = BTreeSet::new();
        for (index, step) in self.steps.iter().enumerate() {
            for allocation in step.slots.iter().flat_map(|slot| &slot.allocations) {
                ensure(seen.insert((allocation.task, allocation.client)), || {
                    let problem =
                        format!("client {} of task {} runs twice", allocation.client, allocation.task);
                    (format!("steps[{index}] ({})", step.name), problem)
                })?;
            }
        }
        for (index, task) in (0..).zip(&self.tasks) {
            let clients = seen.range((index, 0)..=(index, u32::MAX)).count();
            ensure(clients == task.clients as usize || clients == 0, || {
                let problem = format!("{clients} of its {} clients run", task.clients);
                (format!("tasks[{index}] ({})", task.name), problem)
            })?;
        }
        Ok(())
    }

    fn check_step(&self, step: &Step) -> Result<(), String> {
        if step.slots.is_empty() {
            return Err("no client has anything to do".into());
        }
        if step.slots.iter().any(|slot| slot.allocations.is_empty()) {
            return Err("a client has nothing to do".into());
        }
        if step.slots.windows(2).any(|pair| pair[0].client >= pair[1].client) {
            return Err("its slots are not in the order of their clients".into());
        }
        for allocation in step.slots.iter().flat_map(|slot| &slot.allocations) {
            let task = self.tasks.get(allocation.task as usize);
            let task = task.ok_or_else(|| format!("there is no task {}", allocation.task))?;
            if allocation.client >= task.clients {
                return Err(format!("task {} has no client {}", task.name, allocation.client));
            }
        }
        match step.completed_by {
            Some(CompletedBy::Task { task })
                if !step.slots.iter().flat_map(|slot| &slot.allocations).any(|a| a.task == task) =>
            {
                Err(format!("completed by task {task}, which is not part of the step"))
            }
            _ => Ok(()),
        }
    }
}

fn check_task(task: &Task) -> Result<(), String> {
    if task.clients == 0 {
        return Err("no clients".into());
    }
    match task.pace {
        Pace::Deterministic { interval_s } | Pace::Poisson { interval_s } | Pace::Uniform { interval_s } => {
            positive(interval_s, "pace.interval_s")?;
        }
        Pace::Unpaced {} | Pace::Scheduled {} if task.open_loop => {
            return Err("open_loop, but no schedule of the driver's own".into());
        }
        Pace::Unpaced {} | Pace::Scheduled {} => {}
    }
    if let Bound::Time { warmup_s, measured_s } = task.bound {
        not_negative(warmup_s, "bound.warmup_s")?;
        not_negative(measured_s.unwrap_or(0.0), "bound.measured_s")?;
    }
    not_negative(task.ramp_up_s, "ramp_up_s")?;
    match &task.work {
        Work::Bulk(bulk) => check_bulk(bulk),
        Work::Calls { calls, retry } => check_calls(calls, *retry, "work"),
        Work::Sleep { seconds } => not_negative(*seconds, "work.seconds"),
        Work::Supplied { ahead } if *ahead == 0 => Err("work.ahead is 0, not above 0".into()),
        Work::Supplied { .. } | Work::Lane {} => Ok(()),
    }
}

fn check_bulk(bulk: &Bulk) -> Result<(), String> {
    if bulk.bulk_size == 0 || bulk.files.is_empty() {
        return Err("a bulk needs a bulk_size and files".into());
    }
    match bulk.limit {
        Limit::Share { share } => share_of(share, "work.limit.share")?,
        Limit::Documents { documents: 0 } => return Err("work.limit.documents is 0".into()),
        Limit::Documents { .. } => {}
    }
    let with_id = bulk.files.iter().any(|file| matches!(file.action, Action::WithId { .. }));
    let Some(conflicts) = bulk.conflicts else {
        return if with_id { Err("action lines with ids, but no work.conflicts".into()) } else { Ok(()) };
    };
    if !bulk.files.iter().all(|file| matches!(file.action, Action::WithId { .. })) {
        return Err("work.conflicts, but files whose action lines have no ids".into());
    }
    between(conflicts.probability, "work.conflicts.probability")?;
    between(conflicts.recency, "work.conflicts.recency")
}

impl Supply {
    /// Checks what the types cannot express.
    ///
    /// # Errors
    ///
    /// The broken rule, with its place in the document.
    pub fn validate(&self) -> Result<(), PlanError> {
        match self {
            Self::Calls { calls, retry } => {
                check_calls(calls, *retry, "supply").map_err(|problem| rule("supply".into(), problem))
            }
            Self::Bulk { .. } => Ok(()),
        }
    }
}

fn check_calls(calls: &[Call], retry: Retry, place: &str) -> Result<(), String> {
    if calls.is_empty() {
        return Err(format!("{place} has no calls"));
    }
    calls.iter().try_for_each(|call| check_call(call, place))?;
    not_negative(retry.wait_s, &format!("{place}.retry.wait_s"))
}

fn check_call(call: &Call, place: &str) -> Result<(), String> {
    match call {
        Call::Request(request) => check_request(request, place),
        Call::Pages(pages) if pages.pages == Some(0) => Err(format!("{place}.calls.pages is 0, not above 0")),
        Call::Pages(pages) => check_request(&pages.first, place),
        Call::Wait { seconds } => not_negative(*seconds, &format!("{place}.calls.seconds")),
        Call::Composite(composite) if composite.max_connections == Some(0) => {
            Err(format!("{place}.calls.max_connections is 0, not above 0"))
        }
        Call::Composite(composite) => check_items(&composite.items, place),
    }
}

fn check_request(request: &Request, place: &str) -> Result<(), String> {
    if request.assertions.iter().any(|assertion| assertion.paths.is_empty()) {
        return Err(format!("{place}.calls.assertions.paths is empty"));
    }
    request.poll.map_or(Ok(()), |poll| not_negative(poll.every_s, &format!("{place}.calls.poll.every_s")))
}

fn check_items(items: &[Item], place: &str) -> Result<(), String> {
    if items.is_empty() {
        return Err(format!("{place}.calls.items is empty"));
    }
    items.iter().try_for_each(|item| match item {
        Item::Operation { name, calls, retry, .. } => {
            check_calls(calls, *retry, &format!("{place} ({name})"))
        }
        Item::Stream { items } => check_items(items, place),
    })
}

/// Longest time a plan may name, in seconds: a hundred years, far within what nanoseconds can count.
const LONGEST_S: f64 = 100.0 * 366.0 * 86_400.0;

/// Shortest interval a plan may name, in seconds: below it a schedule has no meaning, and counting it no end.
const SHORTEST_S: f64 = 1e-9;

fn positive(value: f64, name: &str) -> Result<(), String> {
    if value >= SHORTEST_S {
        not_negative(value, name)
    } else {
        Err(format!("{name} is {value}, not above 0"))
    }
}

fn share_of(value: f64, name: &str) -> Result<(), String> {
    positive(value, name)?;
    between(value, name)
}

fn between(value: f64, name: &str) -> Result<(), String> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(format!("{name} is {value}, not between 0 and 1")) }
}

fn not_negative(value: f64, name: &str) -> Result<(), String> {
    if (0.0..=LONGEST_S).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value}, not between 0 and a hundred years"))
}

fn ensure(holds: bool, broken: impl FnOnce() -> (String, String)) -> Result<(), PlanError> {
    if holds {
        return Ok(());
    }
    let (place, problem) = broken();
    Err(PlanError::Rule { place, problem })
}

fn rule(place: String, problem: String) -> PlanError {
    PlanError::Rule { place, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> serde_json::Value {
        serde_json::json!({
            "version": 3, "race_id": "r", "seed": 7,
            "target": {"hosts": [{"scheme": "http", "host": "::1", "port": 9200, "path": "", "proxy": null}],
                       "headers": [], "timeout_ms": 60000, "compress": false,
                       "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                               "verify_host": true, "server_name": null}},
            "others": [],
            "driver": {"threads": 0, "on_error": "continue", "spin_us": 0, "samples": "all"},
            "tasks": [{
                "name": "nap", "operation": "nap", "operation_type": "sleep", "clients": 1,
                "pace": {"kind": "unpaced"}, "open_loop": false, "bound": {"kind": "iterations", "warmup": 0, "measured": 1},
                "ramp_up_s": 0.0, "unit": "ops", "tolerates_errors": false,
                "work": {"kind": "sleep", "seconds": 0.5}
            }],
            "steps": [{"name": "nap", "completed_by": null,
                       "slots": [{"client": 0, "allocations": [{"task": 0, "client": 0}]}]}]
        })
    }

    fn refused(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let mut value = document();
        change(&mut value);
        Plan::from_json(&value.to_string()).expect_err("the plan should be refused").to_string()
    }

    #[test]
    fn a_plan_survives_the_round_trip() {
        let plan = Plan::from_json(&document().to_string()).unwrap();
        let again = Plan::from_json(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(plan, again);
        assert_eq!(plan.clients(), 1);
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        assert!(refused(|plan| plan["tasks"][0]["colour"] = "red".into()).contains("colour"));
        assert!(refused(|plan| plan["tasks"][0]["work"]["hurry"] = true.into()).contains("hurry"));
        assert!(refused(|plan| plan["tasks"][0]["pace"]["hurry"] = true.into()).contains("hurry"));
    }

    #[test]
    fn another_version_is_refused() {
        assert!(refused(|plan| plan["version"] = 1.into()).contains("version 1"));
    }

    #[test]
    fn an_open_loop_needs_a_schedule() {
        assert!(refused(|plan| plan["tasks"][0]["open_loop"] = true.into()).contains("open_loop"));
    }

    #[test]
    fn broken_rules_name_their_place() {
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
                |plan| plan["tasks"][0]["pace"] = serde_json::json!({"kind": "poisson", "interval_s": 0.0})
            )
            .contains("interval_s")
        );
        assert!(refused(|plan| plan["tasks"][0]["work"]["seconds"] = 1e300.into()).contains("work.seconds"));
        let place = "/steps/0/slots/0/allocations/0/client";
        assert!(refused(|plan| *plan.pointer_mut(place).unwrap() = 3.into()).contains("no client 3"));
        assert!(
            refused(|plan| {
                let slot = &mut plan["steps"][0]["slots"][0]["allocations"];
                *slot = serde_json::json!([{"task": 0, "client": 0}, {"task": 0, "client": 0}]);
            })
            .contains("client 0 of task 0 runs twice")
        );
        assert!(refused(|plan| plan["tasks"][0]["clients"] = 2.into()).contains("1 of its 2 clients run"));
        let twin = |plan: &mut serde_json::Value| {
            let task = plan["tasks"][0].clone();
            plan["tasks"].as_array_mut().unwrap().push(task);
        };
        assert!(refused(twin).contains("two tasks nap"));
        let other = serde_json::json!({"kind": "task", "task": 9});
        assert!(refused(|plan| plan["steps"][0]["completed_by"] = other).contains("completed by task 9"));
    }
}
