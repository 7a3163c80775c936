//! Details of responses, under the names that Rally gives them.
//!
//! A client only keeps the bodies of the responses; the thread that writes the samples reads them. Runners in Python
//! return details as text.

use std::collections::BTreeMap;

use pacenote_plan::DetailsKind;
use pacenote_record::Details;
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

type Object = Map<String, Value>;

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
        let details = match self.kind {
            DetailsKind::Search => search(&self.body),
            DetailsKind::Esql => esql(&self.body),
            DetailsKind::EsqlProfile => esql_profile(&self.body),
        };
        details.map(|details| Value::Object(details).to_string())
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
            if let Ok(response) = serde_json::from_slice::<BulkResponse>(body) {
                items.add(response);
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

#[derive(Deserialize)]
struct BulkResponse {
    ingest_took: Option<i64>,
    #[serde(default)]
    items: Vec<BTreeMap<String, BulkItem>>,
}

#[derive(Deserialize)]
struct BulkItem {
    #[serde(default)]
    status: u16,
    result: Option<String>,
    #[serde(rename = "_shards")]
    shards: Option<Object>,
}

/// The items of all responses to a bulk.
#[derive(Default)]
struct BulkItems {
    ingest_took_ms: Option<i64>,
    /// The highest status of a rejected document.
    max_status: u16,
    /// For each action, its number of items, and that of each result.
    actions: BTreeMap<String, BTreeMap<String, u64>>,
    /// For each distribution of shards, its number of items.
    shards: BTreeMap<String, Value>,
}

impl BulkItems {
    fn add(&mut self, response: BulkResponse) {
        if let Some(took_ms) = response.ingest_took {
            self.ingest_took_ms = Some(self.ingest_took_ms.unwrap_or(0).saturating_add(took_ms));
        }
        for (action, item) in response.items.into_iter().flatten() {
            let counts = self.actions.entry(action).or_default();
            *counts.entry("item-count".into()).or_default() += 1;
            if let Some(result) = item.result {
                *counts.entry(result).or_default() += 1;
            }
            if item.status >= 300 {
                self.max_status = self.max_status.max(item.status);
            }
            if let Some(shards) = item.shards {
                self.add_shards(&shards);
            }
        }
    }

    fn add_shards(&mut self, shards: &Object) {
        let count = |name: &str| shards.get(name).and_then(Value::as_u64).unwrap_or(0);
        let key = format!("{}-{}-{}", count("total"), count("successful"), count("failed"));
        let entry = self.shards.entry(key).or_insert_with(|| json!({"item-count": 0, "shards": shards}));
        entry["item-count"] = (entry["item-count"].as_u64().unwrap_or(0) + 1).into();
    }
}

#[derive(Deserialize)]
struct SearchResponse {
    took: Option<i64>,
    timed_out: Option<bool>,
    #[serde(rename = "_shards", default)]
    shards: Object,
    hits: Option<Hits>,
    num_reduce_phases: Option<i64>,
    #[serde(rename = "_clusters")]
    clusters: Option<Object>,
}

#[derive(Deserialize)]
struct Hits {
    total: Option<HitCount>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HitCount {
    /// As engines before version 7 write it.
    Number(u64),
    Counted {
        value: u64,
        relation: String,
    },
}

fn search(body: &[u8]) -> Option<Object> {
    let response: SearchResponse = serde_json::from_slice(body).ok()?;
    let (hits, relation) = match response.hits.and_then(|hits| hits.total) {
        Some(HitCount::Counted { value, relation }) => (value, relation),
        Some(HitCount::Number(value)) => (value, "eq".into()),
        None => (0, "eq".into()),
    };
    let mut object = Object::new();
    object.insert("hits".into(), hits.into());
    object.insert("hits_relation".into(), relation.into());
    object.insert("timed_out".into(), response.timed_out.unwrap_or(false).into());
    object.insert("took".into(), response.took.unwrap_or(0).into());
    let shards = ["total", "successful", "skipped", "failed"];
    let shard_count = |name: &str| response.shards.get(name).cloned().unwrap_or_else(|| 0.into());
    let shards: Object = shards.map(|name| (name.to_owned(), shard_count(name))).into_iter().collect();
    object.insert("shards".into(), shards.into());
    object.extend(response.num_reduce_phases.map(|phases| ("num_reduce_phases".into(), phases.into())));
    object.extend(response.clusters.map(|found| ("clusters".into(), clusters(found).into())));
    Some(object)
}

/// Returns the clusters of a search; their details are a list instead of an object.
fn clusters(mut found: Object) -> Object {
    if let Some(Value::Object(details)) = found.remove("details") {
        let named = details.into_iter().map(|(name, details)| {
            let mut entry = scalars(&details);
            entry.insert("name".into(), name.into());
            entry.extend(details.get("_shards").map(|shards| ("_shards".into(), scalars(shards).into())));
            Value::Object(entry)
        });
        found.insert("details".into(), named.collect());
    }
    found
}

/// Returns the fields of an object whose values are neither objects nor lists.
fn scalars(value: &Value) -> Object {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(_, value)| !value.is_object() && !value.is_array())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[derive(Deserialize)]
struct EsqlResponse {
    #[serde(default)]
    is_partial: bool,
    took: Option<i64>,
    documents_found: Option<u64>,
    values_loaded: Option<u64>,
    start_time_in_millis: Option<i64>,
    completion_time_in_millis: Option<i64>,
    expiration_time_in_millis: Option<i64>,
}

fn esql(body: &[u8]) -> Option<Object> {
    let response: EsqlResponse = serde_json::from_slice(body).ok()?;
    let mut object = Object::new();
    object.insert("is_partial".into(), response.is_partial.into());
    let numbers = [
        ("took", response.took.map(Value::from)),
        ("documents_found", response.documents_found.map(Value::from)),
        ("values_loaded", response.values_loaded.map(Value::from)),
        ("start_time_in_millis", response.start_time_in_millis.map(Value::from)),
        ("completion_time_in_millis", response.completion_time_in_millis.map(Value::from)),
        ("expiration_time_in_millis", response.expiration_time_in_millis.map(Value::from)),
    ];
    object.extend(numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?))));
    Some(object)
}

const PHASES: [&str; 6] =
    ["query", "planning", "parsing", "preanalysis", "dependency_resolution", "analysis"];

const OPTIMIZATIONS: [&str; 3] = ["logical_optimization", "physical_optimization", "reduction"];

#[derive(Deserialize)]
struct ProfiledResponse {
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    #[serde(default)]
    drivers: Vec<ProfiledDriver>,
    #[serde(default)]
    plans: Vec<Value>,
    /// The phases.
    #[serde(flatten)]
    phases: Object,
}

#[derive(Deserialize)]
struct ProfiledDriver {
    description: Option<String>,
    #[serde(default)]
    took_nanos: f64,
    #[serde(default)]
    cpu_nanos: f64,
    #[serde(default)]
    operators: Vec<Value>,
}

/// The figures of a profile, by name.
#[derive(Default)]
struct Figures(BTreeMap<String, f64>);

impl Figures {
    fn add(&mut self, name: String, value: f64) {
        *self.0.entry(name).or_default() += value;
    }

    fn add_positive(&mut self, name: impl FnOnce() -> String, value: f64) {
        if value > 0.0 {
            self.add(name(), value);
        }
    }

    fn raise(&mut self, name: String, value: f64) {
        let known = self.0.entry(name).or_default();
        *known = known.max(value);
    }

    fn add_driver(&mut self, driver: &ProfiledDriver) {
        let name = driver.description.as_deref().unwrap_or("unknown");
        let (took_ms, cpu_ms) = (milliseconds(driver.took_nanos), milliseconds(driver.cpu_nanos));
        self.add(format!("{name}.number"), 1.0);
        self.raise(format!("{name}.took_ms"), took_ms);
        self.raise(format!("{name}.cpu_ms"), cpu_ms);
        self.add(format!("{name}.took_total_ms"), took_ms);
        self.add(format!("{name}.cpu_total_ms"), cpu_ms);
        for (position, operator) in driver.operators.iter().enumerate() {
            let operator_name = match operator["operator"].as_str() {
                // The arguments follow the name in brackets.
                Some(text) => text.split('[').next().unwrap_or(text).to_owned(),
                None => format!("operator_{position}"),
            };
            let of = |key: &str| number(&operator["status"][key]);
            let nanos = of("process_nanos") + of("receive_nanos") + of("emit_nanos");
            self.add_positive(|| format!("{name}.{operator_name}.process_ms"), milliseconds(nanos));
            self.add_positive(|| format!("{name}.{operator_name}.processed_slices"), of("processed_slices"));
        }
    }

    fn add_plan(&mut self, plan: &Value) {
        let name = plan["description"].as_str().unwrap_or("unknown");
        for optimization in OPTIMIZATIONS {
            let nanos = number(&plan[format!("{optimization}_nanos")]);
            self.add_positive(|| format!("{name}.{optimization}.took_ms"), milliseconds(nanos));
        }
    }
}

fn esql_profile(body: &[u8]) -> Option<Object> {
    let response: ProfiledResponse = serde_json::from_slice(body).ok()?;
    let profile = response.profile?;
    let mut figures = Figures::default();
    for phase in PHASES {
        let nanos = profile.phases.get(phase).map_or(0.0, |phase| number(&phase["took_nanos"]));
        figures.add_positive(|| format!("{phase}.took_ms"), milliseconds(nanos));
    }
    profile.drivers.iter().for_each(|driver| figures.add_driver(driver));
    profile.plans.iter().for_each(|plan| figures.add_plan(plan));
    Some(figures.0.into_iter().map(|(name, value)| (name, json_number(value))).collect())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn milliseconds(nanos: f64) -> f64 {
    nanos / 1e6
}

/// Returns a figure as a JSON number; whole ones, such as counts, have no decimal point.
fn json_number(value: f64) -> Value {
    value.to_string().parse::<Number>().map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_details_of_a_query_are_those_that_the_engine_reports() {
        let body =
            json!({"took": 7, "is_partial": true, "documents_found": 9, "columns": [], "values": [[1]]});
        let expected = json!({"took": 7, "is_partial": true, "documents_found": 9});
        assert_eq!(details(DetailsKind::Esql, &body), expected);
    }

    #[test]
    fn the_details_of_a_profile_are_the_times_of_its_phases_drivers_and_plans() {
        let operator = |name: &str, nanos: u64| json!({"operator": name, "status": {"process_nanos": nanos, "processed_slices": 2}});
        let driver = |took: u64, operators: Value| json!({"description": "data", "took_nanos": took, "cpu_nanos": took / 2, "operators": operators});
        let body = json!({"took": 1, "profile": {
            "query": {"took_nanos": 5_000_000}, "analysis": {"took_nanos": 0}, "minimum_version": 8,
            "drivers": [
                driver(4_000_000, json!([operator("TopN[count=10]", 500_000), {"status": {}}])),
                driver(2_000_000, json!([operator("TopN", 1_500_000)]))
            ],
            "plans": [{"description": "node", "logical_optimization_nanos": 250_000, "reduction_nanos": 0}]
        }});
        let expected = json!({
            "query.took_ms": 5, "data.number": 2, "data.took_ms": 4, "data.cpu_ms": 2,
            "data.took_total_ms": 6, "data.cpu_total_ms": 3,
            "data.TopN.process_ms": 2, "data.TopN.processed_slices": 4,
            "node.logical_optimization.took_ms": 0.25
        });
        assert_eq!(details(DetailsKind::EsqlProfile, &body), expected);
        assert_eq!(ResponseDetails::new(DetailsKind::EsqlProfile, b"{\"took\":1}").to_json(), None);
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
}
