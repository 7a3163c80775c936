//! Details of responses, under the names that Rally gives them.
//!
//! A client only keeps the bodies of the responses; the thread that writes the samples reads them. Runners in Python
//! return details as text.
//!
//! A body may be of any size, so only single fields of it are parsed, and the number and the length of the names that
//! are kept are limited: details take hardly more memory than the body. A body with a value of the wrong type has none.

use std::collections::BTreeMap;

use pacenote_plan::DetailsKind;
use pacenote_record::Details;
use serde_json::{Value, json};

use crate::response::body::validate;
use crate::response::brief::{
    Object, entry, fields_of, name_of, optional, optional_list, optional_object, optional_text, scalars,
};
use crate::response::json_scan::{Elements, Fields, InvalidJson, field, first_value, parse_first};
use crate::response::profile::profile_figures;

/// Number of clusters or distributions of shards that are kept of a response.
const MAX_ENTRIES: usize = 1000;

/// Length of the failures of shards that are kept of a bulk, as JSON, in bytes.
const MAX_FAILURE_BYTES: usize = 64 << 10;

/// Number of different actions and results of the items of a bulk that are kept; there are four of each.
const MAX_NAMES: usize = 20;

/// The body of a response to a request.
#[derive(Debug)]
pub struct ResponseDetails {
    kind: DetailsKind,
    body: Vec<u8>,
}

impl ResponseDetails {
    /// Copies the body of a response.
    pub fn new(kind: DetailsKind, body: &[u8]) -> Self {
        Self { kind, body: body.to_vec() }
    }
}

impl Details for ResponseDetails {
    fn size(&self) -> usize {
        self.body.len()
    }

    fn to_json(&self) -> Option<String> {
        validate(&self.body).ok()?;
        let details = match self.kind {
            DetailsKind::Search => search(&self.body),
            DetailsKind::Esql => esql(&self.body),
            DetailsKind::EsqlProfile => profile_figures(&self.body),
        };
        details.ok().map(|details| Value::Object(details).to_string())
    }
}

/// The details that a runner in Python returned, as the text of a JSON object.
#[derive(Debug)]
pub struct RunnerDetails(pub String);

impl Details for RunnerDetails {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn to_json(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// What is known of a bulk without its responses.
#[derive(Debug, Clone, Copy)]
pub struct BulkCounts {
    /// Documents that the engine indexed.
    pub succeeded: u64,
    /// Documents that it rejected.
    pub failed: u64,
    /// HTTP status of the last response.
    pub status: u16,
    /// How often rejected documents were sent again.
    pub retries: u32,
    /// Duration that the engine reports, in milliseconds.
    pub took_ms: Option<u64>,
}

impl BulkCounts {
    /// Returns the counts as details.
    pub fn to_object(self) -> Object {
        let mut object = Object::new();
        object.insert("success".into(), (self.failed == 0).into());
        object.insert("success-count".into(), self.succeeded.into());
        object.insert("error-count".into(), self.failed.into());
        object.insert("request-status".into(), self.status.into());
        object.insert("retried".into(), (self.retries > 0).into());
        object.insert("retry-count".into(), self.retries.into());
        object.extend(self.took_ms.map(|took_ms| ("took".into(), took_ms.into())));
        object
    }
}

/// Lengths of a bulk's body, in bytes without newlines.
#[derive(Debug, Clone, Copy)]
pub struct BulkLengths {
    /// Length of all lines.
    pub request: usize,
    /// Length of the documents, which are every second line.
    pub documents: usize,
}

impl BulkLengths {
    /// Measures a body.
    pub fn of(body: &[u8]) -> Self {
        let (mut lengths, mut start) = (Self { request: 0, documents: 0 }, 0);
        for (number, end) in memchr::memchr_iter(b'\n', body).enumerate() {
            let length = end - start;
            lengths.request += length;
            lengths.documents += if number % 2 == 1 { length } else { 0 };
            start = end + 1;
        }
        lengths
    }
}

/// A bulk and the bodies of its responses.
#[derive(Debug)]
pub struct BulkDetails {
    /// What is known without the responses.
    pub counts: BulkCounts,
    /// Lengths of its body.
    pub lengths: BulkLengths,
    /// The bodies of the responses, in the order in which they arrived.
    pub responses: Vec<Vec<u8>>,
}

impl BulkDetails {
    /// Returns the details; those of responses that cannot be read are missing.
    pub fn to_object(&self) -> Object {
        let mut items = BulkItems::default();
        for body in &self.responses {
            let mut with_response = items.clone();
            if with_response.add(body).is_ok() {
                items = with_response;
            }
        }
        let mut object = self.counts.to_object();
        let status = if items.max_status > 0 { items.max_status } else { self.counts.status };
        object.insert("max-doc-status".into(), status.into());
        object.extend(items.ingest_took_ms.map(|took_ms| ("ingest_took".into(), took_ms.into())));
        object.insert("ops".into(), json!(items.actions));
        object.insert("shards_histogram".into(), items.shards.into_values().collect());
        object.insert("bulk-request-size-bytes".into(), self.lengths.request.into());
        object.insert("total-document-size-bytes".into(), self.lengths.documents.into());
        object
    }
}

impl Details for BulkDetails {
    fn size(&self) -> usize {
        self.responses.iter().map(Vec::len).sum()
    }

    fn to_json(&self) -> Option<String> {
        Some(Value::Object(self.to_object()).to_string())
    }
}

/// The items of all responses to a bulk.
#[derive(Clone, Default)]
struct BulkItems {
    ingest_took_ms: Option<i64>,
    /// The highest status of a rejected document.
    max_status: u16,
    /// For each action, its number of items, and that of each result.
    actions: BTreeMap<String, BTreeMap<String, u64>>,
    /// For each distribution of shards, its number of items.
    shards: BTreeMap<String, Value>,
    /// Length of the failures of shards that are kept, as JSON.
    failure_bytes: usize,
}

impl BulkItems {
    /// Adds the items of a response.
    fn add(&mut self, body: &[u8]) -> Result<(), InvalidJson> {
        validate(body)?;
        let [took_ms, items] = fields_of(body, ["ingest_took", "items"])?;
        if let Some(took_ms) = optional::<i64>(took_ms)? {
            self.ingest_took_ms = Some(self.ingest_took_ms.unwrap_or(0).saturating_add(took_ms));
        }
        for item in optional_list(items)?.into_iter().flat_map(Elements::new) {
            for (action, item) in optional_object(Some(item))?.into_iter().flat_map(Fields::new) {
                self.add_item(action, item)?;
            }
        }
        Ok(())
    }

    fn add_item(&mut self, action: &[u8], item: &[u8]) -> Result<(), InvalidJson> {
        let [status, result, shards] = fields_of(item, ["status", "result", "_shards"])?;
        let result = optional_text(result)?;
        if let Some(counts) = entry(&mut self.actions, name_of(action), MAX_NAMES) {
            *counts.entry("item-count".into()).or_default() += 1;
            if let Some(count) = result.and_then(|result| entry(counts, result, MAX_NAMES)) {
                *count += 1;
            }
        }
        let status = optional::<u16>(status)?.unwrap_or(0);
        if status >= 300 {
            self.max_status = self.max_status.max(status);
        }
        optional_object(shards)?.map_or(Ok(()), |shards| self.add_shards(shards))
    }

    fn add_shards(&mut self, shards: &[u8]) -> Result<(), InvalidJson> {
        let mut key = String::new();
        for count in fields_of(shards, ["total", "successful", "failed"])? {
            key = format!("{key}-{}", optional::<u64>(count)?.unwrap_or(0));
        }
        let Some(known) = entry(&mut self.shards, key, MAX_ENTRIES) else { return Ok(()) };
        if known.is_null() {
            let mut kept = scalars(shards)?;
            if let Some(failures) = field(shards, "failures")
                && self.failure_bytes + first_value(failures).len() <= MAX_FAILURE_BYTES
            {
                self.failure_bytes += first_value(failures).len();
                kept.insert("failures".into(), parse_first(failures)?);
            }
            *known = json!({"item-count": 0, "shards": kept});
        }
        known["item-count"] = (known["item-count"].as_u64().unwrap_or(0) + 1).into();
        Ok(())
    }
}

fn search(body: &[u8]) -> Result<Object, InvalidJson> {
    let names = ["hits", "timed_out", "took", "_shards", "num_reduce_phases", "_clusters"];
    let [hits, timed_out, took_ms, shards, phases, found] = fields_of(body, names)?;
    let (hits, relation) = hit_count(optional_object(hits)?.and_then(|hits| field(hits, "total")))?;
    let mut object = Object::new();
    object.insert("hits".into(), hits.into());
    object.insert("hits_relation".into(), relation.into());
    object.insert("timed_out".into(), optional::<bool>(timed_out)?.unwrap_or(false).into());
    object.insert("took".into(), optional::<i64>(took_ms)?.unwrap_or(0).into());
    let names = ["total", "successful", "skipped", "failed"];
    let counts = optional_object(shards)?.map(|shards| fields_of(shards, names)).transpose()?;
    let mut shards = Object::new();
    for (name, count) in names.into_iter().zip(counts.unwrap_or_default()) {
        shards.insert(name.into(), optional::<i64>(count)?.unwrap_or(0).into());
    }
    object.insert("shards".into(), shards.into());
    object.extend(optional::<i64>(phases)?.map(|phases| ("num_reduce_phases".into(), phases.into())));
    if let Some(found) = optional_object(found)? {
        object.insert("clusters".into(), clusters(found)?.into());
    }
    Ok(object)
}

/// Returns the number of hits of a search, and how it relates to the number of matches. Engines before version 7 write
/// only the number.
fn hit_count(total: Option<&[u8]>) -> Result<(u64, String), InvalidJson> {
    match total {
        Some(total) if total.starts_with(b"{") => {
            let [number, relation] = fields_of(total, ["value", "relation"])?;
            optional(number)?.zip(optional_text(relation)?).ok_or(InvalidJson)
        }
        number => Ok((optional(number)?.unwrap_or(0), "eq".into())),
    }
}

/// Returns the clusters of a search; their details are a list instead of an object.
fn clusters(found: &[u8]) -> Result<Object, InvalidJson> {
    let mut object = scalars(found)?;
    if let Some(details) = optional_object(field(found, "details"))? {
        let named = Fields::new(details).take(MAX_ENTRIES).map(|(name, details)| {
            let mut entry = scalars(details)?;
            entry.insert("name".into(), name_of(name).into());
            if let Some(shards) = field(details, "_shards") {
                entry.insert("_shards".into(), scalars(shards)?.into());
            }
            Ok(Value::Object(entry))
        });
        object.insert("details".into(), named.collect::<Result<_, _>>()?);
    }
    Ok(object)
}

fn esql(body: &[u8]) -> Result<Object, InvalidJson> {
    let names = [
        "took",
        "documents_found",
        "values_loaded",
        "start_time_in_millis",
        "completion_time_in_millis",
        "expiration_time_in_millis",
    ];
    let [is_partial] = fields_of(body, ["is_partial"])?;
    let mut object = Object::new();
    object.insert("is_partial".into(), optional::<bool>(is_partial)?.unwrap_or(false).into());
    for (name, number) in names.into_iter().zip(fields_of(body, names)?) {
        object.extend(optional::<i64>(number)?.map(|number| (name.into(), number.into())));
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the details of a bulk with these responses.
    fn bulk(responses: &[&str]) -> Value {
        let counts = BulkCounts { succeeded: 1, failed: 0, status: 200, retries: 0, took_ms: None };
        let responses = responses.iter().map(|body| body.as_bytes().to_vec()).collect();
        BulkDetails { counts, lengths: BulkLengths::of(b""), responses }.to_object().into()
    }

    fn details(kind: DetailsKind, body: &Value) -> Value {
        let text = ResponseDetails::new(kind, body.to_string().as_bytes()).to_json().unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_details_of_a_search_are_its_hits_shards_and_clusters() {
        let remote =
            json!({"status": "successful", "indices": "logs", "took": 3, "_shards": {"total": 1}, "x": []});
        let body = json!({
            "took": 7, "timed_out": false, "num_reduce_phases": 2,
            "_shards": {"total": 5, "successful": 4, "skipped": 1, "failed": 1, "failures": [{}]},
            "_clusters": {"total": 2, "successful": 2, "details": {"far": remote}},
            "hits": {"total": {"value": 10_000, "relation": "gte"}, "hits": [{"_id": "a"}]}
        });
        let expected = json!({
            "hits": 10_000, "hits_relation": "gte", "timed_out": false, "took": 7, "num_reduce_phases": 2,
            "shards": {"total": 5, "successful": 4, "skipped": 1, "failed": 1},
            "clusters": {"total": 2, "successful": 2, "details": [
                {"name": "far", "status": "successful", "indices": "logs", "took": 3, "_shards": {"total": 1}}]}
        });
        assert_eq!(details(DetailsKind::Search, &body), expected);
        let old = details(DetailsKind::Search, &json!({"took": 1, "hits": {"total": 3}}));
        assert_eq!((&old["hits"], &old["hits_relation"]), (&json!(3), &json!("eq")));
        let unreadable = ResponseDetails::new(DetailsKind::Search, b"<html>");
        assert_eq!((unreadable.to_json(), unreadable.size()), (None, 6));
    }

    #[test]
    fn a_response_of_another_form_has_no_details() {
        let has_details = |kind, body: &str| ResponseDetails::new(kind, body.as_bytes()).to_json().is_some();
        let search = |body: &str| has_details(DetailsKind::Search, body);
        for fields in [
            r#""took":"7""#,
            r#""timed_out":0"#,
            r#""num_reduce_phases":1.5"#,
            r#""hits":[]"#,
            r#""hits":{"total":-1}"#,
            r#""hits":{"total":[]}"#,
            r#""hits":{"total":{"value":1}}"#,
            r#""hits":{"total":{"value":"1","relation":"eq"}}"#,
            r#""_shards":[]"#,
            r#""_shards":{"total":"1"}"#,
            r#""_clusters":1"#,
            r#""_clusters":{"details":[]}"#,
            r#""x":[1,,2]"#,
        ] {
            let null =
                fields.split_once(':').map(|(name, _)| format!(r#"{{{name}:null,"_shards":null}}"#)).unwrap();
            assert!(search(&null), "{null}");
            assert!(!search(&format!("{{{fields}}}")), "{fields}");
        }
        assert!(!search(r#"{"took":1}x"#) && !search(r#"{"took":1"#) && !search("[]"));
        let esql = |body: &str| has_details(DetailsKind::Esql, body);
        assert!(esql(r#"{"took":1,"is_partial":null}"#));
        assert!(!esql(r#"{"took":[]}"#) && !esql(r#"{"is_partial":1}"#) && !esql(r#"{"values_loaded":"1"}"#));
    }

    #[test]
    fn a_response_of_another_form_adds_nothing_to_a_bulk() {
        let good = json!({"index": {"status": 201, "result": "created"}});
        for wrong in [
            json!(1),
            json!({"index": 1}),
            json!({"index": {"status": "1"}}),
            json!({"index": {"result": 1}}),
            json!({"index": {"_shards": 1}}),
            json!({"index": {"_shards": {"total": "1"}}}),
        ] {
            let body = json!({"ingest_took": 1, "items": [good, wrong]}).to_string();
            assert_eq!(bulk(&[&body]), bulk(&[]), "{wrong}");
            let other = json!({"items": [good]}).to_string();
            assert_eq!(bulk(&[&other, &body])["ops"], json!({"index": {"created": 1, "item-count": 1}}));
        }
    }

    #[test]
    fn failures_of_shards_are_kept_up_to_a_size() {
        let shards = |failed: usize, bytes: usize| {
            let reason = json!({"type": "t", "reason": "r".repeat(bytes)});
            json!({"total": 9, "successful": 1, "failed": failed, "failures": [{"shard": 0, "reason": reason}]})
        };
        let shards = [shards(1, 10), shards(2, 50_000), shards(3, 50_000), shards(4, 10)];
        let items: Vec<Value> = shards.iter().map(|shards| json!({"index": {"_shards": shards}})).collect();
        let kept = bulk(&[&json!({"items": items}).to_string()]);
        let kept = kept["shards_histogram"].as_array().unwrap();
        for (number, (kept, shards)) in kept.iter().zip(&shards).enumerate() {
            let mut expected = shards.clone();
            if number == 2 {
                expected.as_object_mut().unwrap().remove("failures");
            }
            assert_eq!(kept, &json!({"item-count": 1, "shards": expected}));
        }
        assert_eq!(kept.len(), 4);
    }

    #[test]
    fn the_details_of_a_query_are_those_that_the_engine_reports() {
        let body =
            json!({"took": 7, "is_partial": true, "documents_found": 9, "columns": [], "values": [[1]]});
        let expected = json!({"took": 7, "is_partial": true, "documents_found": 9});
        assert_eq!(details(DetailsKind::Esql, &body), expected);
    }

    #[test]
    fn the_details_of_a_bulk_are_counts_of_its_items_and_sizes() {
        let shards = json!({"total": 2, "successful": 1, "failed": 0});
        let first = json!({"took": 3, "ingest_took": 2, "errors": true, "items": [
            {"index": {"status": 201, "result": "created", "_shards": shards}},
            {"index": {"status": 200, "result": "updated", "_shards": shards}},
            {"create": {"status": 429, "error": {"type": "rejected"}}}
        ]});
        let body = b"{\"index\":{}}\n{\"a\":1}\n{\"index\":{}}\n{\"a\":22}\n";
        let details = BulkDetails {
            counts: BulkCounts { succeeded: 2, failed: 1, status: 200, retries: 1, took_ms: Some(3) },
            lengths: BulkLengths::of(body),
            responses: vec![first.to_string().into_bytes(), b"unreadable".to_vec()],
        };
        let expected = json!({
            "success": false, "success-count": 2, "error-count": 1, "request-status": 200, "retried": true,
            "retry-count": 1, "took": 3, "ingest_took": 2, "max-doc-status": 429,
            "ops": {"index": {"item-count": 2, "created": 1, "updated": 1}, "create": {"item-count": 1}},
            "shards_histogram": [{"item-count": 2, "shards": shards}],
            "bulk-request-size-bytes": 39, "total-document-size-bytes": 15
        });
        let text = details.to_json().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert!(details.size() > 10);
    }

    #[test]
    fn details_keep_neither_long_names_nor_nested_values() {
        let nested = json!(vec![json!({"": 0}); 1000]);
        let named = |prefix: &str| -> Object {
            (0..3000).map(|number| (format!("{prefix}{number}"), json!(number))).collect()
        };
        let long = "n".repeat(100_000);
        let remote = json!({"_shards": named("s"), "failures": nested, "indices": long});
        let remotes: Object = (0..3).map(|number| (format!("{number}{long}"), remote.clone())).collect();
        let body = json!({
            "took": 7, "_shards": {"failures": nested},
            "_clusters": {"total": 2, "details": remotes, "other": nested},
            "hits": {"total": {"value": 3, "relation": long}}
        });
        let kept = details(DetailsKind::Search, &body);
        assert_eq!(kept["shards"], json!({"total": 0, "successful": 0, "skipped": 0, "failed": 0}));
        assert_eq!(kept["hits_relation"].as_str().unwrap().chars().count(), 101);
        assert_eq!(kept["clusters"]["details"].as_array().unwrap().len(), 3);
        assert!(kept.to_string().len() < 10_000, "{} bytes", kept.to_string().len());
        let item = |action: String, number: i32| {
            let shards = json!({"total": number, "failures": nested});
            json!({action: {"status": 200, "result": format!("{number}{long}"), "_shards": shards}})
        };
        let items: Vec<Value> = (0..30).map(|number| item(format!("{number}{long}"), number)).collect();
        let kept = bulk(&[&json!({"items": items}).to_string()]);
        assert_eq!(kept["ops"].as_object().unwrap().len(), 20);
        assert!(kept.to_string().len() < 100_000, "{} bytes", kept.to_string().len());
    }
}
