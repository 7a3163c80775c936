//! Page by page: a request and those that fetch what follows its first page.

use pacenote_plan::{NextPage, PagedRequest as Planned};
use pacenote_record::ErrorClass;

use super::request::{Letter, Sheet, exchange};
use super::template::{Template, Values};
use super::{Destination, Run};
use crate::error::DriveError;
use crate::operation::outcome::Outcome;
use crate::response::json_scan::{Elements, Fields, value, whole};
use crate::response::outcome::ReplyOutcome;
use crate::transport::pool::PooledConnection;

/// A paging request for one host.
#[derive(Debug)]
pub struct Pages {
    first: Letter,
    /// Asks for every page but the first; without it the first request asks for all.
    next: Option<Sheet>,
    /// Tells the engine that no page will be asked for any more.
    close: Option<Sheet>,
    reader: Reader,
    most: Option<u32>,
    page_size: Option<usize>,
    strict: bool,
    /// The first body has a point in time, which replies may renew.
    renews: bool,
    /// What the next page is asked for with, as JSON; empty if there is none.
    key: Vec<u8>,
    /// The point in time as the last reply renewed it, as JSON.
    pit: Vec<u8>,
}

/// How a page is read.
#[derive(Debug)]
enum Reader {
    SearchAfter,
    Scroll,
    AfterKey(Vec<String>),
    Cursor,
}

/// What a page says about the next one.
#[derive(Debug, Default)]
struct Page<'a> {
    key: Option<&'a [u8]>,
    pit: Option<&'a [u8]>,
    entries: Option<usize>,
}

impl Pages {
    /// Prepares the requests.
    ///
    /// # Errors
    ///
    /// When they cannot be written as HTTP, or the body does not let itself be asked page by page.
    pub fn new(planned: &Planned, to: Destination<'_>) -> Result<Self, DriveError> {
        let mut first = Letter::new(&planned.first, to)?;
        let wrong = |problem| DriveError::Calls { task: to.task.to_owned(), problem };
        let (mut next, mut close) = (None, None);
        let request = &planned.first;
        // A first request without a body says nothing of the type that the others have.
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        headers.extend(request.headers.iter().cloned());
        let sheet = |method: &str, path: &str, before: &str, after: &str| {
            Sheet::new((method, path), Template::around_key(before, after), &headers, to).map(Some)
        };
        let reader = match &planned.next {
            NextPage::SearchAfter {} => {
                first.sheet.body().search_after().map_err(wrong)?;
                Reader::SearchAfter
            }
            NextPage::AfterKey { path } => {
                first.sheet.body().after_key(path).map_err(wrong)?;
                Reader::AfterKey(path.clone())
            }
            NextPage::Scroll { keep_alive } => {
                let keep_alive = serde_json::Value::from(keep_alive.as_str());
                let before = format!("{{\"scroll\":{keep_alive},\"scroll_id\":");
                next = sheet("POST", "/_search/scroll", &before, "}")?;
                close = sheet("DELETE", "/_search/scroll", "{\"scroll_id\":[", "]}")?;
                Reader::Scroll
            }
            NextPage::Cursor {} => {
                let path = request.path.split('?').next().unwrap_or_default();
                next = sheet("POST", &request.path, "{\"cursor\":", "}")?;
                close = sheet("POST", &format!("{path}/close"), "{\"cursor\":", "}")?;
                Reader::Cursor
            }
        };
        let renews = request.body.as_ref().is_some_and(|body| value(body.as_bytes(), "pit").is_some());
        let Planned { pages: most, strict, .. } = *planned;
        let page_size = planned.page_size.map(|size| size as usize);
        Ok(Self { first, next, close, reader, most, page_size, strict, renews, key: vec![], pit: vec![] })
    }

    /// Fetches page by page; the work is the number of pages.
    pub async fn send(&mut self, link: &mut PooledConnection, run: &Run<'_>) -> Option<Outcome> {
        self.key.clear();
        self.pit.clear();
        let (mut whole, mut more) = self.fetch(true, link, run).await?;
        while more && self.most.is_none_or(|most| whole.result.accepted < u64::from(most)) {
            let (page, yet_more) = self.fetch(false, link, run).await?;
            let took_ms = whole.result.took_ms.max(0) + page.result.took_ms.max(0);
            whole = whole.join(page);
            whole.result.took_ms = took_ms;
            more = yet_more;
        }
        let (fetched, wanted) = (whole.result.accepted, self.most.map_or(0, u64::from));
        if !whole.result.is_success() {
            whole = whole.without_work();
        } else if self.strict && fetched < wanted {
            let reason = format!("{fetched} of {wanted} pages: there were no more");
            let failure = ReplyOutcome::failure(ErrorClass::Condition, whole.status, "", reason);
            whole.result = ReplyOutcome { took_ms: whole.result.took_ms, ..failure };
        }
        self.close(&mut whole, link, run).await;
        Some(whole)
    }

    /// Fetches a page. Tells whether there may be more.
    async fn fetch(
        &mut self,
        is_first: bool,
        link: &mut PooledConnection,
        run: &Run<'_>,
    ) -> Option<(Outcome, bool)> {
        let Self { first: Letter { sheet, terms }, next, reader, page_size, renews, key, pit, .. } = self;
        let (sheet, recall) = match next {
            Some(next) if !is_first => (next, None),
            _ => (sheet, terms.request.placeholder.as_ref()),
        };
        let filled = sheet.fill(recall, &run.memory.borrow(), Values { key, pit, ..Values::default() });
        if let Err(unfilled) = filled {
            return Some((unfilled.outcome(), false));
        }
        let (mut seen, mut full) = (false, true);
        let look = |reply: &[u8]| {
            let page = reader.read(reply, page_size.is_some(), *renews);
            // A scroll goes on with the id it has until it gets another; any other page says whether there are more.
            renew(key, page.key, matches!(reader, Reader::Scroll));
            renew(pit, page.pit, true);
            full = page.entries.is_none_or(|entries| entries > 0 && entries >= page_size.unwrap_or(0));
            seen = true;
        };
        let mut outcome = exchange(link, sheet, terms, run, look).await?;
        if let Some(recall) = recall.filter(|_| !pit.is_empty()) {
            run.memory.borrow_mut().put(&recall.name, serde_json::from_slice(pit).ok());
        }
        let good = seen && outcome.result.is_success();
        if good {
            outcome.result.accepted = 1;
        }
        Some((outcome, good && full && !self.key.is_empty()))
    }

    /// Frees what the engine keeps for pages that nobody will ask for, off the clock. If that fails, the engine frees it
    /// by itself when its time is over.
    async fn close(&mut self, whole: &mut Outcome, link: &mut PooledConnection, run: &Run<'_>) {
        let Some(close) = self.close.as_mut().filter(|_| !self.key.is_empty() && whole.status != 0) else {
            return;
        };
        let values = Values { key: &self.key, ..Values::default() };
        if close.fill(None, &run.memory.borrow(), values).is_err() {
            return;
        }
        let outcome = close.post(link, self.first.terms.timeout, run).await;
        whole.traffic += outcome.traffic;
        whole.free = outcome.done;
    }
}

/// Replaces a value by the one that a reply has; one that it has not is kept or forgotten.
fn renew(known: &mut Vec<u8>, value: Option<&[u8]>, keep: bool) {
    if value.is_some() || !keep {
        known.clear();
        known.extend_from_slice(value.unwrap_or_default());
    }
}

impl Reader {
    /// Reads what decides about the next page: counts aggregated or tabular entries only if they matter, and looks no
    /// further than needed. Engines put ids first.
    fn read<'a>(&self, reply: &'a [u8], counts: bool, renews: bool) -> Page<'a> {
        let (mut page, mut body) = (Page::default(), false);
        for (key, text) in Fields::of(reply) {
            match (self, key) {
                (Self::SearchAfter | Self::AfterKey(_), b"pit_id") => page.pit = present(text),
                (Self::Scroll, b"_scroll_id") | (Self::Cursor, b"cursor") => page.key = present(text),
                (Self::Scroll, b"hits") => {
                    page.entries = value(text, "hits").map(|hits| Elements::of(hits).count());
                    body = true;
                }
                (Self::SearchAfter, b"hits") => {
                    let hits = value(text, "hits").unwrap_or_default();
                    let (entries, last) =
                        Elements::of(hits).fold((0, None), |(number, _), hit| (number + 1, Some(hit)));
                    page.entries = Some(entries);
                    page.key = last.and_then(|hit| value(hit, "sort")).and_then(present);
                    body = true;
                }
                (Self::AfterKey(path), b"aggregations") => {
                    let found = path.iter().try_fold(text, |text, name| value(text, name));
                    page.key = found.and_then(|found| value(found, "after_key")).and_then(present);
                    let buckets = found.filter(|_| counts).and_then(|found| value(found, "buckets"));
                    page.entries = buckets.map(|buckets| Elements::of(buckets).count());
                    body = true;
                }
                (Self::Cursor, b"rows") if counts => page.entries = Some(Elements::of(text).count()),
                _ => {}
            }
            let has_id = match self {
                Self::Scroll => page.key.is_some(),
                Self::SearchAfter | Self::AfterKey(_) => !renews || page.pit.is_some(),
                Self::Cursor => false,
            };
            if body && has_id {
                break;
            }
        }
        page
    }
}

/// A value unless it is nothing.
fn present(text: &[u8]) -> Option<&[u8]> {
    Some(whole(text)).filter(|value| !matches!(*value, b"null" | b"\"\"" | b"[]" | b"{}" | b""))
}
