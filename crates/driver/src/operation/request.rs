//! One request: head and body ready to be sent, with gaps for what only earlier replies say.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use pacenote_plan::{Placeholder, Request, TargetHost};
use pacenote_record::ErrorClass;

use super::captures::{Memory, Recalled};
use super::template::{Template, Values};
use super::{Destination, Run, pause};
use crate::error::DriveError;
use crate::operation::compression::{coding, pack};
use crate::operation::outcome::Outcome;
use crate::response::check::{broken_assertion, is_good, judge};
use crate::response::json_scan::{find, whole};
use crate::response::outcome::ReplyOutcome;
use crate::transport::http::RequestHead;
use crate::transport::pool::{PooledConnection, RequestBody};

/// A request for one host.
#[derive(Debug)]
pub struct Letter {
    /// What is sent.
    pub sheet: Sheet,
    /// How its reply is judged.
    pub terms: Terms,
}

/// Head and body.
#[derive(Debug)]
pub struct Sheet {
    head: RequestHead,
    /// The head with the marker of a remembered value in it.
    blank: Option<RequestHead>,
    body: Template,
    /// The body compressed, if it is sent so.
    packed: Option<Vec<u8>>,
}

/// What a request asks of its reply.
#[derive(Debug)]
pub struct Terms {
    /// The request; its body is in the sheet.
    pub request: Request,
    /// How long it may take.
    pub timeout: Duration,
    /// The reply is looked into beyond its check.
    listens: bool,
}

/// Why a gap stays open.
pub enum Unfilled {
    /// There is nothing that the request could be about: it has done its work.
    Nothing,
    /// The operation cannot go on.
    Missing(String),
}

impl Letter {
    /// Prepares a request.
    ///
    /// # Errors
    ///
    /// When it cannot be written as HTTP.
    pub fn new(request: &Request, to: Destination<'_>) -> Result<Self, DriveError> {
        let mut request = request.clone();
        let body = Template::new(request.body.take().unwrap_or_default());
        let mut sheet = Sheet::new((&request.method, &request.path), body, &request.headers, to)?;
        if let Some(recall) = &request.placeholder {
            sheet.body.recall(&recall.marker);
            sheet.blank = request.path.contains(&recall.marker).then(|| sheet.head.clone());
        }
        let timeout = Duration::from_millis(request.timeout_ms.unwrap_or(to.target.timeout_ms));
        let listens = !request.assertions.is_empty() || request.capture.is_some();
        Ok(Self { sheet, terms: Terms { request, timeout, listens } })
    }

    /// Whether nothing but its check matters, and nothing before or after it.
    pub fn is_plain(&self) -> bool {
        let Request { poll, placeholder, .. } = &self.terms.request;
        poll.is_none() && placeholder.is_none() && !self.terms.listens
    }

    /// Sends a plain request.
    pub async fn send_plain(&mut self, link: &mut PooledConnection) -> Outcome {
        let Self { sheet, terms } = self;
        let judge = |status, reply: &[u8]| judge(&terms.request, status, reply);
        let body = request_body(&sheet.body, sheet.packed.as_deref());
        Outcome::from(link.exchange(&mut sheet.head, body, terms.timeout, judge).await)
    }

    /// Sends the request, again and again if it polls.
    pub async fn send(&mut self, link: &mut PooledConnection, run: &Run<'_>) -> Option<Outcome> {
        if let Some(recall) = &self.terms.request.placeholder
            && let Err(unfilled) = self.sheet.fill(Some(recall), &run.memory.borrow(), Values::default())
        {
            return Some(unfilled.outcome());
        }
        exchange(link, &mut self.sheet, &self.terms, run, |_| ()).await
    }
}

impl Sheet {
    /// Head and body of a request for one host.
    ///
    /// # Errors
    ///
    /// When it cannot be written as HTTP.
    pub fn new(
        line: (&str, &str),
        body: Template,
        headers: &[(String, String)],
        to: Destination<'_>,
    ) -> Result<Self, DriveError> {
        let (method, path) = line;
        let host: &TargetHost = &to.target.hosts[to.host];
        let headers = to.target.headers.iter().chain(headers);
        let coding = coding(to.target, !body.is_empty(), headers.clone());
        let head = RequestHead::new(host, method, path, headers.chain(&coding))
            .map_err(|source| DriveError::Request { task: to.task.to_owned(), source })?;
        let mut packed = coding.map(|_| Vec::new());
        if let Some(packed) = &mut packed {
            let wrong =
                |error: io::Error| DriveError::Calls { task: to.task.to_owned(), problem: error.to_string() };
            pack(body.text(), packed).map_err(wrong)?;
        }
        Ok(Self { head, blank: None, body, packed })
    }

    /// The body, to make gaps in it.
    pub fn body(&mut self) -> &mut Template {
        &mut self.body
    }

    /// Fills the gaps.
    ///
    /// # Errors
    ///
    /// When a value that was to be remembered is not there.
    pub fn fill(
        &mut self,
        recall: Option<&Placeholder>,
        memory: &Memory,
        values: Values<'_>,
    ) -> Result<(), Unfilled> {
        let recalled = match recall {
            None => "",
            Some(recall) => match memory.get(&recall.name) {
                Recalled::Value(value) => value,
                // A search that was over before it got an id leaves nothing to be asked for or deleted.
                Recalled::Absent if self.blank.is_some() => return Err(Unfilled::Nothing),
                Recalled::Absent => {
                    return Err(Unfilled::Missing(format!("the reply of {} had no id", recall.name)));
                }
                Recalled::Unknown => {
                    let reason = format!("nothing called {} came before in this operation", recall.name);
                    return Err(Unfilled::Missing(reason));
                }
            },
        };
        if let Some((blank, recall)) = self.blank.as_ref().zip(recall) {
            self.head.fill(blank, &recall.marker, recalled);
        }
        self.body.fill(Values { recalled, ..values });
        if let Some(packed) = self.packed.as_mut().filter(|_| self.body.has_gaps()) {
            pack(self.body.text(), packed).map_err(|error| Unfilled::Missing(error.to_string()))?;
        }
        Ok(())
    }

    /// Sends it as it is; what the reply says does not matter.
    pub async fn post(&mut self, link: &mut PooledConnection, timeout: Duration, run: &Run<'_>) -> Outcome {
        run.wire.begin();
        let answered = |_, _: &[u8]| ReplyOutcome::success(0, -1);
        let body = request_body(&self.body, self.packed.as_deref());
        let outcome = Outcome::from(link.exchange(&mut self.head, body, timeout, answered).await);
        run.wire.end(&outcome);
        outcome
    }
}

/// A body as it is sent.
fn request_body<'a>(body: &'a Template, packed: Option<&'a [u8]>) -> RequestBody<'a> {
    let text = body.text();
    RequestBody { bytes: packed.unwrap_or(text), uncompressed_len: text.len() }
}

impl Unfilled {
    /// The request that could not be sent.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Nothing => Outcome::nothing(),
            Self::Missing(reason) => Outcome::unsent(reason),
        }
    }
}

/// Sends a request, again and again if it polls. `look` sees replies that are good.
pub async fn exchange(
    link: &mut PooledConnection,
    sheet: &mut Sheet,
    terms: &Terms,
    run: &Run<'_>,
    mut look: impl FnMut(&[u8]),
) -> Option<Outcome> {
    let mut whole: Option<Outcome> = None;
    loop {
        let judge = |status, reply: &[u8]| {
            let result = judge(&terms.request, status, reply);
            if !(result.is_success() && is_good(status)) {
                return result;
            }
            look(reply);
            let broken = if terms.listens { listen(&terms.request, run.memory, reply) } else { None };
            broken.unwrap_or(result)
        };
        run.wire.begin();
        let body = request_body(&sheet.body, sheet.packed.as_deref());
        let outcome = Outcome::from(link.exchange(&mut sheet.head, body, terms.timeout, judge).await);
        run.wire.end(&outcome);
        let unmet = outcome.result.class == ErrorClass::Condition;
        let joined = match whole.take() {
            None => outcome,
            Some(before) => before.join(outcome),
        };
        let Some(poll) = terms.request.poll.filter(|_| unmet) else { return Some(joined) };
        pause(Duration::from_secs_f64(poll.every_s), run.cancellation).await?;
        whole = Some(joined);
    }
}

/// Looks into a good reply for what is asserted of it and what is to be remembered.
fn listen(request: &Request, memory: &RefCell<Memory>, reply: &[u8]) -> Option<ReplyOutcome> {
    if let Some(remember) = &request.capture {
        let value = find(reply, &remember.path).and_then(|text| serde_json::from_slice(whole(text)).ok());
        memory.borrow_mut().put(&remember.name, value);
    }
    broken_assertion(&request.assertions, reply)
}
