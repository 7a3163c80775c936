//! Operations within an operation: one after another, in streams beside one another.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use pacenote_plan::{Call, Composite as Planned, CompositeItem};
use tokio::sync::Semaphore;

use super::{Destination, Operation, Run};
use crate::error::DriveError;
use crate::operation::outcome::{Label, Outcome, SubOperation};
use crate::response::outcome::ReplyOutcome;

/// A composite operation for one host.
#[derive(Debug)]
pub struct Composite {
    items: Vec<Item>,
    max_connections: Option<usize>,
}

#[derive(Debug)]
enum Item {
    Operation(Box<Inner>),
    Stream(Vec<Item>),
}

/// An operation within.
#[derive(Debug)]
struct Inner {
    label: Arc<Label>,
    operation: Operation,
    /// It is a composite itself: recorded by its sub-operations.
    nested: bool,
}

/// Why a stream ends early.
enum End {
    /// The race or the step is over.
    CutShort,
    /// An operation failed.
    Failed(ReplyOutcome, u16),
}

type Streaming<'a> = Pin<Box<dyn Future<Output = Result<(), End>> + 'a>>;

impl Composite {
    /// Prepares everything within.
    ///
    /// # Errors
    ///
    /// When an operation within cannot be prepared.
    pub fn new(planned: &Planned, to: Destination<'_>) -> Result<Self, DriveError> {
        let max_connections = planned.max_connections.map(|most| most as usize);
        Ok(Self { items: prepare(&planned.items, to)?, max_connections })
    }

    /// Carries all of it out; the first failure stops it. What went over the wire is only known of the outermost
    /// composite, whose sub-operations are all there is. `None` when it was cut short while it waited.
    pub async fn send(&mut self, run: &Run<'_>) -> Option<Outcome> {
        // A composite within another shares its connections.
        let own = self.max_connections.filter(|_| !run.within).map(Semaphore::new);
        let within = Run { limit: run.limit.or(own.as_ref()), within: true, ..*run };
        let earlier = run.sub_operations.borrow().len();
        if !run.within {
            // Calls before it say themselves what they sent.
            run.wire.take();
        }
        let ended = stream(&mut self.items, &within).await;
        let (result, status) = match ended {
            Ok(()) => (ReplyOutcome::success(1, -1), None),
            Err(End::Failed(result, status)) => (result, Some(status)),
            Err(End::CutShort) => return None,
        };
        let mut whole = times(&run.sub_operations.borrow()[earlier..]);
        whole.result = result;
        whole.status = status.unwrap_or(whole.status);
        if !run.within {
            whole.traffic = run.wire.take();
            // What streams that were dropped left on the wire was sent, though nobody waits for it.
            whole.traffic.requests += run.wire.abandon();
        }
        Some(whole)
    }
}

fn prepare(items: &[CompositeItem], to: Destination<'_>) -> Result<Vec<Item>, DriveError> {
    let item = |item: &CompositeItem| {
        Ok(match item {
            CompositeItem::Stream { items } => Item::Stream(prepare(items, to)?),
            CompositeItem::Operation { name, operation_type, calls, retry } => {
                let nested = calls.iter().any(|call| matches!(call, Call::Composite(_)));
                if nested && calls.len() > 1 {
                    let problem = format!("{name} has a composite operation beside other calls");
                    return Err(DriveError::Calls { task: to.task.to_owned(), problem });
                }
                let (operation, operation_type) = (name.clone(), operation_type.clone());
                let label = Arc::new(Label { operation, operation_type });
                let operation = Operation::new(calls, *retry, to)?;
                Item::Operation(Box::new(Inner { label, operation, nested }))
            }
        })
    };
    items.iter().map(item).collect()
}

/// From the beginning of the first part to the end of the last.
fn times(sub_operations: &[SubOperation]) -> Outcome {
    let mut whole = Outcome::nothing();
    let outcomes = || sub_operations.iter().map(|part| &part.outcome);
    if let (Some(sent), Some(last)) =
        (outcomes().map(|part| part.first_sent).min(), outcomes().max_by_key(|part| part.done))
    {
        (whole.first_sent, whole.sent) = (sent, sent);
        (whole.done, whole.status) = (last.done, last.status);
        whole.free = outcomes().map(|part| part.free).max().unwrap_or(last.free);
    }
    whole
}

/// Carries items out: an operation waits for the streams before it, streams that follow one another do not wait.
fn stream<'a>(items: &'a mut [Item], run: &'a Run<'a>) -> Streaming<'a> {
    Box::pin(async move {
        let mut beside = Vec::new();
        for item in items {
            match item {
                Item::Stream(items) => beside.push(stream(items, run)),
                Item::Operation(inner) => {
                    together(std::mem::take(&mut beside)).await?;
                    inner.send(run).await?;
                }
            }
        }
        together(beside).await
    })
}

/// Waits for all streams, or for the first that ends early; the others are then dropped.
async fn together(mut streams: Vec<Streaming<'_>>) -> Result<(), End> {
    poll_fn(|context| {
        let mut failed = None;
        // A reply that came for one of them wakes all; the others find nothing to do.
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

impl Inner {
    async fn send(&mut self, run: &Run<'_>) -> Result<(), End> {
        let outcome = self.operation.run(run).await.ok_or(End::CutShort)?;
        let result = &outcome.result;
        let failed = (!result.is_success()).then(|| {
            let rejected = 0;
            End::Failed(ReplyOutcome { rejected, accepted: 0, took_ms: -1, ..result.clone() }, outcome.status)
        });
        if !self.nested {
            run.sub_operations.borrow_mut().push(SubOperation { label: Arc::clone(&self.label), outcome });
        }
        failed.map_or(Ok(()), Err)
    }
}
