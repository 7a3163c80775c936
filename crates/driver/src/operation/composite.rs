//! Call sequences, and composites, which are operations consisting of other operations.
//!
//! A call may be a composite, and each operation of a composite has calls, so this file contains both.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use pacenote_plan::{Call, Composite, CompositeItem, RetryPolicy};
use pacenote_record::{ErrorClass, Traffic};
use tokio::sync::Semaphore;

use super::busy_replies::BusyReplies;
use super::context::{Destination, Execution};
use super::outcome::{Label, OperationOutcome, SubOperation};
use super::paging::Paginator;
use super::request::{CheckedRequest, count_clean_up};
use super::wait::{execute_sleep, sleep_before_retry};
use crate::error::DriveError;
use crate::race_state::RetryWait;
use crate::response::outcome::WorkOutcome;

/// Calls that are made one after another, and their retry policy.
#[derive(Debug)]
pub struct PreparedCallList {
    calls: Vec<PreparedCall>,
    retry: RetryPolicy,
    /// The task that shows why the calls are retried, if they are retried until they succeed.
    retried_task: Option<Arc<str>>,
}

#[derive(Debug)]
enum PreparedCall {
    Composite(Box<PreparedComposite>),
    Single(SingleCall),
}

/// A call that has one request in flight at a time.
#[derive(Debug)]
enum SingleCall {
    Request(Box<CheckedRequest>),
    Pages(Box<Paginator>),
    Wait { duration: Duration, weight: u64 },
}

/// A composite, prepared.
#[derive(Debug)]
struct PreparedComposite {
    elements: Vec<Element>,
    max_connections: Option<usize>,
}

#[derive(Debug)]
enum Element {
    Operation(Box<PreparedSubOperation>),
    Stream(Vec<Element>),
}

/// An operation of a composite.
#[derive(Debug)]
struct PreparedSubOperation {
    label: Arc<Label>,
    calls: PreparedCallList,
    /// Whether the operation is itself a composite; its sub-operations are then recorded in its place.
    is_composite: bool,
    /// Whether the operation only sends requests. If it has sent none, because there was nothing to do, it is not
    /// recorded.
    only_requests: bool,
    /// Whether the current execution of the composite has reached the operation.
    is_begun: bool,
}

/// The attempts of an operation so far.
struct Attempts<'a> {
    /// Number of attempts.
    count: u32,
    /// The outcome of the last one.
    last: &'a OperationOutcome,
    /// Whether the retry policy allows another attempt after this outcome.
    may_retry: bool,
    /// From the start of the first attempt to the end of the last one.
    duration: Duration,
}

/// Whether another attempt follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextAttempt {
    /// None, because the last one succeeded or cannot be retried.
    None,
    /// Another one.
    Follows,
    /// None, because the next one would begin after the limit.
    GivenUp,
}

/// Why a stream ends before its last element.
enum EarlyEnd {
    /// The race or the step has ended.
    Cancelled,
    /// An operation failed.
    Failed { result: WorkOutcome, status: u16 },
}

type CleanUpFuture<'a> = Pin<Box<dyn Future<Output = Option<Instant>> + 'a>>;
type StreamFuture<'a> = Pin<Box<dyn Future<Output = Result<(), EarlyEnd>> + 'a>>;

impl PreparedCallList {
    /// Prepares the calls.
    ///
    /// # Errors
    ///
    /// If a request cannot be written as HTTP, or its body cannot be paged.
    pub fn new(calls: &[Call], retry: RetryPolicy, to: Destination<'_>) -> Result<Self, DriveError> {
        // A pause counts as work only if the operation consists of nothing else.
        let wait_weight = u64::from(calls.len() == 1);
        let prepared: Result<Vec<_>, _> =
            calls.iter().map(|call| PreparedCall::new(call, wait_weight, to)).collect();
        let retried_task = retry.until_success.then(|| to.task_name.into());
        Ok(Self { calls: prepared?, retry, retried_task })
    }

    /// Makes the calls, with all attempts of their retry policy, none of which begins after the end of the task. Returns
    /// `None` if the race or the step ends while they wait.
    pub async fn execute(&mut self, execution: &Execution<'_>) -> Option<OperationOutcome> {
        let (mut attempt_count, mut retries) = (0, 0);
        let mut first_sent = None;
        let mut traffic = Traffic::default();
        let mut busy_replies = BusyReplies::default();
        let mut shown = None;
        loop {
            let mut outcome = self.attempt(execution).await?;
            let first_sent = *first_sent.get_or_insert(outcome.first_sent);
            traffic += outcome.traffic;
            // The sub-operations of a composite have their own retries.
            retries += outcome.retries;
            attempt_count += 1;
            let duration = outcome.freed.saturating_duration_since(first_sent);
            let may_retry = self.may_retry(&outcome, &mut busy_replies);
            let attempts = Attempts { count: attempt_count, last: &outcome, may_retry, duration };
            let next = self.next_attempt(&attempts);
            let cancellation = execution.cancellation;
            if let (NextAttempt::Follows, Some(task)) = (next, &self.retried_task) {
                let shown = shown.get_or_insert_with(|| cancellation.race_state.show_retry_wait());
                shown.update(self.retry_wait(task, &attempts));
            }
            let wait = Duration::from_secs_f64(self.retry.wait_s);
            let tries_again = next == NextAttempt::Follows
                && sleep_before_retry(wait, cancellation.task_end, cancellation).await?;
            if !tries_again {
                if next == NextAttempt::GivenUp {
                    give_up(&mut outcome, attempt_count, duration);
                }
                return Some(OperationOutcome { first_sent, retries, traffic, ..outcome });
            }
            retries += 1;
        }
    }

    /// Returns whether another attempt follows.
    fn next_attempt(&self, attempts: &Attempts<'_>) -> NextAttempt {
        let RetryPolicy { retries, until_success, limit_s, wait_s, .. } = self.retry;
        if !attempts.may_retry {
            return NextAttempt::None;
        }
        if until_success {
            let next_s = attempts.duration.as_secs_f64() + wait_s;
            return if next_s > limit_s { NextAttempt::GivenUp } else { NextAttempt::Follows };
        }
        if u64::from(attempts.count) <= retries { NextAttempt::Follows } else { NextAttempt::None }
    }

    /// Returns why the calls, which are retried until they succeed, are made again.
    fn retry_wait(&self, task: &str, attempts: &Attempts<'_>) -> RetryWait {
        RetryWait {
            task: task.to_owned(),
            reason: attempts.last.result.describe(),
            attempts: attempts.count,
            waited_s: attempts.duration.as_secs_f64(),
            limit_s: self.retry.limit_s,
        }
    }

    /// Returns the elements of the composite that the calls consist of, or nothing if they are other calls.
    fn composite_elements(&mut self) -> &mut [Element] {
        match self.calls.as_mut_slice() {
            [PreparedCall::Composite(composite)] => &mut composite.elements,
            _ => &mut [],
        }
    }

    /// Sends the requests that clean up, of calls that have not been made. Returns when the last of them ended.
    async fn clean_up(&mut self, execution: &Execution<'_>) -> Option<Instant> {
        let mut freed = None;
        for call in &mut self.calls {
            if let PreparedCall::Single(SingleCall::Request(request)) = call {
                freed = request.clean_up(execution).await.or(freed);
            }
        }
        freed
    }

    /// Returns whether the failure of an attempt is one after which the calls may be tried again.
    fn may_retry(&self, outcome: &OperationOutcome, busy_replies: &mut BusyReplies) -> bool {
        let is_ignored = self.retry.until_success && busy_replies.ignores(outcome);
        match outcome.result.error_class {
            ErrorClass::Connect | ErrorClass::Tls | ErrorClass::Reset | ErrorClass::Timeout => {
                self.retry.on_timeout
            }
            ErrorClass::HttpStatus => is_ignored || outcome.status == 408 && self.retry.on_timeout,
            ErrorClass::Condition => {
                !outcome.result.is_final && (self.retry.on_unsuccess || self.retry.until_success)
            }
            _ => false,
        }
    }

    /// Makes all calls once; after the first failure, only those that clean up.
    async fn attempt(&mut self, execution: &Execution<'_>) -> Option<OperationOutcome> {
        let mut whole: Option<OperationOutcome> = None;
        for call in &mut self.calls {
            let failed = whole.as_ref().is_some_and(OperationOutcome::has_failed);
            if failed && !call.cleans_up() {
                continue;
            }
            let outcome = call.execute(execution).await?;
            whole = Some(match whole {
                None => outcome,
                Some(failure) if failed => {
                    // A request that lacks a captured value is not sent.
                    if outcome.traffic.requests > 0 || outcome.result.error_class.is_unreachable() {
                        count_clean_up(&outcome, execution);
                    }
                    failure.cleaned_up_by(&outcome)
                }
                Some(before) => before.followed_by(outcome),
            });
        }
        // A failed operation does no work, even if its first requests succeeded.
        whole.map(|whole| if whole.has_failed() { whole.without_work() } else { whole })
    }
}

impl PreparedCall {
    fn new(call: &Call, wait_weight: u64, to: Destination<'_>) -> Result<Self, DriveError> {
        Ok(match call {
            Call::Request(request) => {
                Self::Single(SingleCall::Request(Box::new(CheckedRequest::new(request, to)?)))
            }
            Call::Pages(paged) => Self::Single(SingleCall::Pages(Box::new(Paginator::new(paged, to)?))),
            Call::Wait { seconds } => {
                let duration = Duration::from_secs_f64(*seconds);
                Self::Single(SingleCall::Wait { duration, weight: wait_weight })
            }
            Call::Composite(composite) => Self::Composite(Box::new(PreparedComposite::new(composite, to)?)),
        })
    }

    /// Returns whether the call is made after a failure, too.
    fn cleans_up(&self) -> bool {
        matches!(self, Self::Single(SingleCall::Request(request)) if request.policy.request.cleanup)
    }

    async fn execute(&mut self, execution: &Execution<'_>) -> Option<OperationOutcome> {
        let single = match self {
            Self::Composite(composite) => return Box::pin(composite.execute(execution)).await,
            Self::Single(single) => single,
        };
        let permit = match execution.limit {
            Some(limit) => limit.acquire().await.ok(),
            None => None,
        };
        let outcome = match single {
            SingleCall::Wait { duration, weight } => {
                execute_sleep(*duration, *weight, execution.cancellation).await
            }
            SingleCall::Request(request) => request.send(execution).await,
            SingleCall::Pages(paginator) => Box::pin(paginator.send(execution)).await,
        };
        drop(permit);
        outcome
    }
}

impl PreparedComposite {
    /// Prepares all operations of a composite.
    fn new(planned: &Composite, to: Destination<'_>) -> Result<Self, DriveError> {
        let max_connections = planned.max_connections.map(|most| most as usize);
        Ok(Self { elements: prepare(&planned.items, to)?, max_connections })
    }

    /// Executes all operations; the first failure ends the composite, and the outermost composite then makes the calls
    /// that clean up. Only the outermost composite returns traffic: the traffic of all operations within it. Returns
    /// `None` if the race or the step ends while it waits.
    async fn execute(&mut self, execution: &Execution<'_>) -> Option<OperationOutcome> {
        // A nested composite shares the connection limit of the outermost one.
        let own_limit = self.max_connections.filter(|_| !execution.nested).map(Semaphore::new);
        let within = Execution { limit: execution.limit.or(own_limit.as_ref()), nested: true, ..*execution };
        let earlier = execution.sub_operations.borrow().len();
        if !execution.nested {
            // Calls before the composite return their own traffic.
            execution.traffic.take_completed();
            self.elements.iter_mut().for_each(Element::reset);
        }
        let ended = run_elements(&mut self.elements, &within).await;
        let (result, status) = match ended {
            Ok(()) => (WorkOutcome::success(1), None),
            Err(EarlyEnd::Failed { result, status }) => (result, Some(status)),
            Err(EarlyEnd::Cancelled) => return None,
        };
        let mut whole = spanning(&execution.sub_operations.borrow()[earlier..]);
        whole.result = result;
        whole.status = status.unwrap_or(whole.status);
        if !execution.nested {
            // The requests of dropped streams were sent, although nothing waits for their responses.
            let dropped_count = execution.traffic.take_dropped();
            if status.is_some()
                && !whole.result.error_class.is_unreachable()
                && let Some(freed) = clean_up(&mut self.elements, &within).await
            {
                whole.freed = freed;
            }
            whole.traffic = execution.traffic.take_completed();
            whole.traffic.requests += dropped_count;
        }
        Some(whole)
    }
}

impl Element {
    /// Marks all operations as not begun.
    fn reset(&mut self) {
        match self {
            Self::Stream(elements) => elements.iter_mut().for_each(Self::reset),
            Self::Operation(operation) => {
                operation.is_begun = false;
                operation.calls.composite_elements().iter_mut().for_each(Self::reset);
            }
        }
    }
}

/// Sends the requests that clean up and that a failed composite has not reached, unless they lack a captured value:
/// there is nothing to clean up then. Returns when the last of them ended, or `None` if there is none.
fn clean_up<'a>(elements: &'a mut [Element], execution: &'a Execution<'a>) -> CleanUpFuture<'a> {
    Box::pin(async move {
        let mut freed = None;
        for element in elements {
            let last = match element {
                Element::Stream(elements) => clean_up(elements, execution).await,
                Element::Operation(operation) if operation.is_composite => {
                    clean_up(operation.calls.composite_elements(), execution).await
                }
                Element::Operation(operation) if operation.is_begun => None,
                Element::Operation(operation) => operation.calls.clean_up(execution).await,
            };
            freed = last.or(freed);
        }
        freed
    })
}

/// Adds to the reason of a failure how long the operation was retried.
fn give_up(outcome: &mut OperationOutcome, attempts: u32, duration: Duration) {
    let seconds = duration.as_secs();
    if let Some(failure) = outcome.result.failures.first_mut() {
        failure.reason = format!("{} (given up after {attempts} attempts in {seconds} s)", failure.reason);
    }
}

fn prepare(items: &[CompositeItem], to: Destination<'_>) -> Result<Vec<Element>, DriveError> {
    let element = |item: &CompositeItem| {
        Ok(match item {
            CompositeItem::Stream { items } => Element::Stream(prepare(items, to)?),
            CompositeItem::Operation { name, operation_type, calls, retry } => {
                let is_composite = calls.iter().any(|call| matches!(call, Call::Composite(_)));
                if is_composite && calls.len() > 1 {
                    return Err(to.calls_error(format!("{name} has a composite operation among other calls")));
                }
                let label = Label { operation: name.clone(), operation_type: operation_type.clone() };
                Element::Operation(Box::new(PreparedSubOperation {
                    label: Arc::new(label),
                    only_requests: !calls.iter().any(|call| matches!(call, Call::Wait { .. })),
                    calls: PreparedCallList::new(calls, *retry, to)?,
                    is_composite,
                    is_begun: false,
                }))
            }
        })
    };
    items.iter().map(element).collect()
}

/// Returns an outcome that spans the time from the start of the first sub-operation to the end of the last, with the
/// retries of all of them.
fn spanning(sub_operations: &[SubOperation]) -> OperationOutcome {
    let mut whole = OperationOutcome::nothing();
    let outcomes = || sub_operations.iter().map(|sub_operation| &sub_operation.outcome);
    if let (Some(sent), Some(last)) =
        (outcomes().map(|outcome| outcome.first_sent).min(), outcomes().max_by_key(|outcome| outcome.done))
    {
        (whole.first_sent, whole.service_start) = (sent, sent);
        (whole.done, whole.status) = (last.done, last.status);
        whole.freed = outcomes().map(|outcome| outcome.freed).max().unwrap_or(last.freed);
        whole.retries = outcomes().map(|outcome| outcome.retries).sum();
    }
    whole
}

/// Runs elements in order: adjacent streams run concurrently, and an operation waits for the streams before it.
fn run_elements<'a>(elements: &'a mut [Element], execution: &'a Execution<'a>) -> StreamFuture<'a> {
    Box::pin(async move {
        let mut streams = Vec::new();
        for element in elements {
            match element {
                Element::Stream(elements) => streams.push(run_elements(elements, execution)),
                Element::Operation(operation) => {
                    join_streams(std::mem::take(&mut streams)).await?;
                    operation.execute(execution).await?;
                }
            }
        }
        join_streams(streams).await
    })
}

/// Waits until all streams have ended. If one ends early, drops the others.
async fn join_streams(mut streams: Vec<StreamFuture<'_>>) -> Result<(), EarlyEnd> {
    poll_fn(|context| {
        let mut failed = None;
        // A response to one of the streams wakes all of them; the others make no progress.
        streams.retain_mut(|stream| match stream.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(Ok(())) => false,
            Poll::Ready(Err(end)) => {
                failed.get_or_insert(end);
                false
            }
        });
        match failed {
            Some(end) => Poll::Ready(Err(end)),
            None if streams.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    })
    .await
}

impl PreparedSubOperation {
    async fn execute(&mut self, execution: &Execution<'_>) -> Result<(), EarlyEnd> {
        self.is_begun = true;
        let outcome = self.calls.execute(execution).await.ok_or(EarlyEnd::Cancelled)?;
        let result = &outcome.result;
        let failed = (!result.is_success()).then(|| EarlyEnd::Failed {
            result: WorkOutcome { failed_weight: 0, weight: 0, took_ms: None, ..result.clone() },
            status: outcome.status,
        });
        if !(self.is_composite || self.only_requests && outcome.sent_nothing()) {
            execution
                .sub_operations
                .borrow_mut()
                .push(SubOperation { label: Arc::clone(&self.label), outcome });
        }
        failed.map_or(Ok(()), Err)
    }
}
