//! Requests that fetch a result page by page.

use std::time::Duration;

use pacenote_plan::{NextPage, PagedRequest};
use pacenote_record::ErrorClass;

use super::captures::too_long;
use super::context::{Destination, Execution};
use super::outcome::OperationOutcome;
use super::prepared::RequestSpec;
use super::request::{CheckedRequest, RequestTemplate};
use super::template::{BodyTemplate, Values};
use crate::error::DriveError;
use crate::response::body::invalid_json;
use crate::response::json_scan::{
    Elements, Fields, InvalidJson, field, field_in_slices, scalar, valid_first_value, value_at_path_in_slices,
};
use crate::response::outcome::WorkOutcome;
use crate::slices::Slices;

/// A paged request, prepared.
#[derive(Debug)]
pub struct Paginator {
    first: CheckedRequest,
    /// Fetches every page after the first, or `None` if the first request is repeated for all pages.
    next: Option<RequestTemplate>,
    /// Frees the state that the engine keeps for further pages.
    close: Option<RequestTemplate>,
    reader: PageReader,
    max_pages: Option<u32>,
    page_size: Option<usize>,
    strict: bool,
    /// Whether the first body has a point in time, which responses may renew.
    renews_point_in_time: bool,
    /// The key of the next page, as JSON; empty if there is none.
    page_key: Vec<u8>,
    /// The point in time in the last response that contained one, as JSON; empty if there was none.
    point_in_time: Vec<u8>,
    repetition: Repetition,
}

/// Recognizes that the keys of pages repeat, so that the pages would never end (Brent's algorithm: the kept key is
/// replaced after 1, 2, 4, 8 … pages, so that a cycle of any length is found with one key in memory).
#[derive(Debug, Default)]
struct Repetition {
    kept: Vec<u8>,
    /// Number of keys since the kept one.
    since: u64,
    /// Number of keys after which the kept one is replaced.
    until: u64,
}

impl Repetition {
    /// Returns whether the key of a page is that of an earlier page.
    fn repeats(&mut self, key: &[u8]) -> bool {
        if self.until > 0 && self.kept == key {
            return true;
        }
        if self.since == self.until {
            self.kept.clear();
            self.kept.extend_from_slice(key);
            (self.since, self.until) = (0, (2 * self.until).max(1));
        }
        self.since += 1;
        false
    }
}

/// The place in a response that contains the key of the next page.
#[derive(Debug)]
enum PageReader {
    SearchAfter,
    Scroll,
    AfterKey(Vec<String>),
    Cursor,
}

/// The parts of a response that determine the next page.
#[derive(Debug, Default)]
struct Page<'a> {
    key: Option<&'a [u8]>,
    point_in_time: Option<&'a [u8]>,
    entries: Option<usize>,
}

/// The outcome of fetching one page.
struct FetchedPage {
    outcome: OperationOutcome,
    /// Whether there may be a page after it.
    has_more: bool,
}

/// The requests of a paginator that follow the first.
#[derive(Debug, Default)]
struct FollowUps {
    next: Option<RequestTemplate>,
    close: Option<RequestTemplate>,
}

impl Paginator {
    /// Prepares the requests.
    ///
    /// # Errors
    ///
    /// If they cannot be written as HTTP, or the key of the next page cannot be inserted into the body.
    pub fn new(planned: &PagedRequest, to: Destination<'_>) -> Result<Self, DriveError> {
        let mut first = CheckedRequest::new(&planned.first, to)?;
        let body = first.template.body_mut();
        let reader = match &planned.next {
            NextPage::SearchAfter {} => {
                body.add_search_after().map_err(|problem| to.calls_error(problem))?;
                PageReader::SearchAfter
            }
            NextPage::AfterKey { path } => {
                body.add_after_key(path).map_err(|problem| to.calls_error(problem))?;
                PageReader::AfterKey(path.clone())
            }
            NextPage::Scroll { .. } => PageReader::Scroll,
            NextPage::Cursor {} => PageReader::Cursor,
        };
        let FollowUps { next, close } = follow_ups(planned, to)?;
        let body = planned.first.body.as_deref().unwrap_or_default();
        Ok(Self {
            first,
            next,
            close,
            reader,
            max_pages: planned.pages,
            page_size: planned.page_size.map(|size| size as usize),
            strict: planned.strict,
            renews_point_in_time: field(body.as_bytes(), "pit").is_some(),
            page_key: Vec::new(),
            point_in_time: Vec::new(),
            repetition: Repetition::default(),
        })
    }

    /// Fetches the result page by page; the work is the number of pages. Returns `None` if the race or the step ends
    /// while it waits.
    pub async fn send(&mut self, execution: &Execution<'_>) -> Option<OperationOutcome> {
        self.page_key.clear();
        self.point_in_time.clear();
        self.repetition = Repetition { kept: std::mem::take(&mut self.repetition.kept), since: 0, until: 0 };
        let FetchedPage { outcome: mut whole, mut has_more } = self.fetch(true, execution).await?;
        while has_more && self.max_pages.is_none_or(|most| whole.result.weight < u64::from(most)) {
            if self.first.policy.is_over(whole.done, execution.cancellation) {
                let reason = "the task ended more than the timeout of a request before the last page";
                whole.result = unfinished(&whole, reason);
                break;
            }
            // A number of pages ends them anyway.
            let is_endless = self.max_pages.is_none() && self.reader.keys_increase();
            if is_endless && self.repetition.repeats(&self.page_key) {
                let reason = format!(
                    "{} is that of an earlier page, so that the pages would not end",
                    self.reader.key_name()
                );
                whole.result = unfinished(&whole, &reason);
                break;
            }
            let page = self.fetch(false, execution).await?;
            // The duration of all pages is unknown if that of one of them is.
            let took_ms = whole.result.took_ms.zip(page.outcome.result.took_ms);
            whole = whole.followed_by(page.outcome);
            whole.result.took_ms = took_ms.map(|(before, last)| before.saturating_add(last));
            has_more = page.has_more;
        }
        let (fetched, wanted) = (whole.result.weight, self.max_pages.map_or(0, u64::from));
        if !whole.result.is_success() {
            whole = whole.without_work();
        } else if self.strict && fetched < wanted {
            let reason = format!("{fetched} of {wanted} pages were fetched; the result has no further page");
            let failure = WorkOutcome::failure(ErrorClass::Condition, reason).with_status(whole.status);
            whole.result = failure.with_took(whole.result.took_ms);
        }
        self.close(&mut whole, execution).await;
        Some(whole)
    }

    /// Fetches a page.
    async fn fetch(&mut self, is_first: bool, execution: &Execution<'_>) -> Option<FetchedPage> {
        let Self { first: CheckedRequest { template, policy }, next, reader, .. } = self;
        let (template, placeholder) = match next {
            Some(next) if !is_first => (next, None),
            _ => (template, policy.request.placeholder.as_ref()),
        };
        let (page_key, point_in_time) = (&mut self.page_key, &mut self.point_in_time);
        let values = Values { page_key, point_in_time, ..Values::default() };
        if let Err(error) = template.fill(placeholder, &execution.captures.borrow(), values) {
            return Some(FetchedPage { outcome: error.outcome(), has_more: false });
        }
        let (mut seen, mut full) = (false, true);
        let (page_size, renews) = (self.page_size, self.renews_point_in_time);
        let inspect = async |body: &[u8]| {
            let page = match reader.read(body, page_size.is_some(), renews).await {
                Ok(page) => page,
                Err(InvalidJson) => return Some(invalid_json(0, body)),
            };
            let kept = [(reader.key_name(), page.key), ("its point in time", page.point_in_time)];
            let failure = kept.into_iter().find_map(|(name, value)| too_long(name, value?));
            if failure.is_some() {
                return failure;
            }
            // A scroll continues with its last id until it receives a new one; for other kinds of paging, a page
            // without a key is the last.
            renew(page_key, page.key, matches!(reader, PageReader::Scroll));
            renew(point_in_time, page.point_in_time, true);
            full = page.entries.is_none_or(|entries| entries > 0 && entries >= page_size.unwrap_or(0));
            seen = true;
            None
        };
        let mut outcome = template.send_and_poll(policy, execution, inspect).await?;
        if let Some(placeholder) = placeholder.filter(|_| !point_in_time.is_empty()) {
            let renewed = serde_json::from_slice(point_in_time).ok();
            execution.captures.borrow_mut().set(&placeholder.name, renewed);
        }
        let good = seen && outcome.result.is_success();
        if good {
            outcome.result.weight = 1;
        }
        Some(FetchedPage { outcome, has_more: good && full && !page_key.is_empty() })
    }

    /// Frees the state that the engine keeps for further pages, after the operation has been timed. If that fails, the
    /// engine frees it when its keep-alive expires.
    async fn close(&mut self, whole: &mut OperationOutcome, execution: &Execution<'_>) {
        let Some(close) = self.close.as_mut().filter(|_| !self.page_key.is_empty() && whole.status != 0)
        else {
            return;
        };
        let values = Values { page_key: &self.page_key, ..Values::default() };
        if close.fill(None, &execution.captures.borrow(), values).is_err() {
            return;
        }
        let outcome = close.send_clean_up(execution).await;
        whole.traffic += outcome.traffic;
        whole.freed = outcome.done;
    }
}

/// Returns the failure of an operation of which not all pages can be fetched.
fn unfinished(fetched: &OperationOutcome, reason: &str) -> WorkOutcome {
    let reason = format!("{reason}: {} pages were fetched", fetched.result.weight);
    let failure = WorkOutcome::failure(ErrorClass::Condition, reason).with_status(fetched.status);
    failure.with_took(fetched.result.took_ms).into_final()
}

/// Prepares the requests that follow the first, if they differ from it.
fn follow_ups(planned: &PagedRequest, to: Destination<'_>) -> Result<FollowUps, DriveError> {
    let request = &planned.first;
    // If the first request has no body, it does not declare the content type that the others need.
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    headers.extend(request.headers.iter().cloned());
    let timeout = request.timeout_ms.map(Duration::from_millis);
    let prepare = |method, path: &str, before: &str, after: &str| {
        let spec = RequestSpec { method, path, headers: headers.iter(), has_body: true, timeout };
        RequestTemplate::new(spec, BodyTemplate::around_page_key(before, after), to).map(Some)
    };
    Ok(match &planned.next {
        NextPage::SearchAfter {} | NextPage::AfterKey { .. } => FollowUps::default(),
        NextPage::Scroll { keep_alive } => {
            let keep_alive = serde_json::Value::from(keep_alive.as_str());
            let before = format!("{{\"scroll\":{keep_alive},\"scroll_id\":");
            FollowUps {
                next: prepare("POST", "/_search/scroll", &before, "}")?,
                close: prepare("DELETE", "/_search/scroll", "{\"scroll_id\":[", "]}")?,
            }
        }
        NextPage::Cursor {} => {
            let path = request.path.split('?').next().unwrap_or_default();
            FollowUps {
                next: prepare("POST", &request.path, "{\"cursor\":", "}")?,
                close: prepare("POST", &format!("{path}/close"), "{\"cursor\":", "}")?,
            }
        }
    })
}

/// Replaces a value with the one from a response. If the response has none, keeps the value if `keep` is set, and
/// clears it otherwise.
fn renew(known: &mut Vec<u8>, value: Option<&[u8]>, keep: bool) {
    if value.is_some() || !keep {
        known.clear();
        known.extend_from_slice(value.unwrap_or_default());
    }
}

impl PageReader {
    /// Returns whether the key of each page is greater than that of the page before. The id of a scroll and a cursor
    /// may stay the same.
    fn keys_increase(&self) -> bool {
        matches!(self, Self::SearchAfter | Self::AfterKey(_))
    }

    /// Returns what the key of a page is called in a response.
    fn key_name(&self) -> &'static str {
        match self {
            Self::SearchAfter => "the sort value of its last hit",
            Self::AfterKey(_) => "its after_key",
            Self::Scroll => "its scroll id",
            Self::Cursor => "its cursor",
        }
    }

    /// Reads the fields that determine the next page. Buckets and rows are counted only if `counts` is set. Reading
    /// stops as soon as everything has been found; engines write ids first. A long response is read in slices.
    ///
    /// # Errors
    ///
    /// [`InvalidJson`] if the response is not valid where it was read.
    async fn read<'a>(
        &self,
        response: &'a [u8],
        counts: bool,
        renews: bool,
    ) -> Result<Page<'a>, InvalidJson> {
        let (mut page, mut body, mut slices) = (Page::default(), false, Slices::default());
        let mut fields = Fields::new(response);
        while let Some((key, text)) = fields.next_in_slices(&mut slices).await {
            match (self, key) {
                (Self::SearchAfter | Self::AfterKey(_), b"pit_id") => page.point_in_time = present(text)?,
                (Self::Scroll, b"_scroll_id") | (Self::Cursor, b"cursor") => page.key = present(text)?,
                (Self::Scroll | Self::SearchAfter, b"hits") => {
                    let hits = field_in_slices(text, "hits", &mut slices).await?;
                    body = true;
                    let Some(Entries { number, last }) = count(hits, &mut slices).await? else { continue };
                    page.entries = Some(number);
                    if let (Self::SearchAfter, Some(hit)) = (self, last) {
                        let sort = field_in_slices(hit, "sort", &mut slices).await?;
                        page.key = sort.map(present).transpose()?.flatten();
                    }
                }
                (Self::AfterKey(path), b"aggregations") => {
                    let path = path.iter().map(String::as_str);
                    let found = value_at_path_in_slices(text, path, &mut slices).await?.unwrap_or(b"{}");
                    let after = field_in_slices(found, "after_key", &mut slices).await?;
                    page.key = after.map(present).transpose()?.flatten();
                    if counts {
                        let buckets = field_in_slices(found, "buckets", &mut slices).await?;
                        page.entries = count(buckets, &mut slices).await?.map(|entries| entries.number);
                    }
                    body = true;
                }
                (Self::Cursor, b"rows") if counts => {
                    page.entries = count(Some(text), &mut slices).await?.map(|entries| entries.number);
                }
                _ => {}
            }
            let has_id = match self {
                Self::Scroll => page.key.is_some(),
                Self::SearchAfter | Self::AfterKey(_) => !renews || page.point_in_time.is_some(),
                Self::Cursor => false,
            };
            if body && has_id {
                return Ok(page);
            }
        }
        if fields.is_closed() { Ok(page) } else { Err(InvalidJson) }
    }
}

/// The elements of an array.
struct Entries<'a> {
    number: usize,
    last: Option<&'a [u8]>,
}

/// Counts the elements of an array; any other value has none. Returns `None` if there is no value.
async fn count<'a>(array: Option<&'a [u8]>, slices: &mut Slices) -> Result<Option<Entries<'a>>, InvalidJson> {
    let Some(array) = array else { return Ok(None) };
    let mut entries = Entries { number: 0, last: None };
    if array.first() != Some(&b'[') {
        return scalar(array).map(|_| Some(entries));
    }
    let mut elements = Elements::new(array);
    while let Some(element) = elements.next_in_slices(slices).await {
        entries = Entries { number: entries.number + 1, last: Some(element) };
    }
    if elements.is_closed() { Ok(Some(entries)) } else { Err(InvalidJson) }
}

/// Returns the value that a text starts with, unless it is empty or null.
fn present(text: &[u8]) -> Result<Option<&[u8]>, InvalidJson> {
    let value = valid_first_value(text)?;
    Ok(Some(value).filter(|value| !matches!(*value, b"null" | b"\"\"" | b"[]" | b"{}" | b"")))
}
