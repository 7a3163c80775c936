//! The figures of the profile of an ES|QL query, under the names that Rally gives them.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::response::brief::{
    Object, entry, fields_of, optional, optional_list, optional_long_text, optional_object, optional_text,
    shortened,
};
use crate::response::json_scan::{Elements, InvalidJson};

/// Number of figures that are kept of a profile. A profile of a query on hundreds of nodes has some hundred, because
/// those of drivers and operators with the same name are one figure.
const MAX_FIGURES: usize = 2000;

const PHASES: [&str; 6] =
    ["query", "planning", "parsing", "preanalysis", "dependency_resolution", "analysis"];

const OPTIMIZATIONS: [&str; 3] = ["logical_optimization", "physical_optimization", "reduction"];

/// Figures by name.
#[derive(Default)]
struct Figures(BTreeMap<String, f64>);

impl Figures {
    fn add(&mut self, name: String, value: f64) {
        if let Some(known) = entry(&mut self.0, name, MAX_FIGURES) {
            *known += value;
        }
    }

    fn add_positive(&mut self, name: impl FnOnce() -> String, value: f64) {
        if value > 0.0 {
            self.add(name(), value);
        }
    }

    fn raise(&mut self, name: String, value: f64) {
        if let Some(known) = entry(&mut self.0, name, MAX_FIGURES) {
            *known = known.max(value);
        }
    }

    fn add_phase(&mut self, phase: &str, profile: &[u8]) {
        let nanos = fields_of(profile, ["took_nanos"]).map_or(0.0, |[nanos]| number(nanos));
        self.add_positive(|| format!("{phase}.took_ms"), milliseconds(nanos));
    }

    fn add_driver(&mut self, driver: &[u8]) -> Result<(), InvalidJson> {
        let fields = ["description", "took_nanos", "cpu_nanos", "operators"];
        let [description, took_nanos, cpu_nanos, operators] = fields_of(driver, fields)?;
        let name = optional_text(description)?.unwrap_or_else(|| "unknown".into());
        let took_ms = milliseconds(optional(took_nanos)?.unwrap_or(0.0));
        let cpu_ms = milliseconds(optional(cpu_nanos)?.unwrap_or(0.0));
        self.add(format!("{name}.number"), 1.0);
        self.raise(format!("{name}.took_ms"), took_ms);
        self.raise(format!("{name}.cpu_ms"), cpu_ms);
        self.add(format!("{name}.took_total_ms"), took_ms);
        self.add(format!("{name}.cpu_total_ms"), cpu_ms);
        let operators = optional_list(operators)?.into_iter().flat_map(Elements::new);
        operators.enumerate().for_each(|(position, operator)| self.add_operator(&name, position, operator));
        Ok(())
    }

    fn add_operator(&mut self, driver: &str, position: usize, operator: &[u8]) {
        let [name, status] = fields_of(operator, ["operator", "status"]).unwrap_or_default();
        let name = match optional_long_text(name) {
            // The arguments follow the name in brackets.
            Ok(Some(text)) => shortened(text.split('[').next().unwrap_or(&text)),
            _ => format!("operator_{position}"),
        };
        let names = ["process_nanos", "receive_nanos", "emit_nanos", "processed_slices"];
        let status = status.and_then(|status| fields_of(status, names).ok()).unwrap_or_default();
        let [process, receive, emit, slices] = status.map(number);
        let nanos = process + receive + emit;
        self.add_positive(|| format!("{driver}.{name}.process_ms"), milliseconds(nanos));
        self.add_positive(|| format!("{driver}.{name}.processed_slices"), slices);
    }

    fn add_plan(&mut self, plan: &[u8]) {
        let [description] = fields_of(plan, ["description"]).unwrap_or_default();
        let name = optional_text(description).ok().flatten().unwrap_or_else(|| "unknown".into());
        for optimization in OPTIMIZATIONS {
            let nanos = fields_of(plan, [format!("{optimization}_nanos").as_str()]);
            let nanos = nanos.map_or(0.0, |[nanos]| number(nanos));
            self.add_positive(|| format!("{name}.{optimization}.took_ms"), milliseconds(nanos));
        }
    }
}

/// Returns the figures of a response, which is valid JSON.
///
/// # Errors
///
/// [`InvalidJson`] if it has no profile, or a value of the wrong type there.
pub fn profile_figures(body: &[u8]) -> Result<Object, InvalidJson> {
    let [profile] = fields_of(body, ["profile"])?;
    let profile = optional_object(profile)?.ok_or(InvalidJson)?;
    let [drivers, plans] = fields_of(profile, ["drivers", "plans"])?;
    let mut figures = Figures::default();
    for (phase, text) in PHASES.into_iter().zip(fields_of(profile, PHASES)?) {
        figures.add_phase(phase, text.unwrap_or_default());
    }
    for driver in optional_list(drivers)?.into_iter().flat_map(Elements::new) {
        figures.add_driver(driver)?;
    }
    optional_list(plans)?.into_iter().flat_map(Elements::new).for_each(|plan| figures.add_plan(plan));
    Ok(figures.0.into_iter().map(|(name, value)| (name, json_number(value))).collect())
}

/// Returns a number, or 0 if there is none.
fn number(text: Option<&[u8]>) -> f64 {
    optional(text).ok().flatten().unwrap_or(0.0)
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
    use serde_json::json;

    use super::*;

    fn figures(body: &Value) -> Result<Object, InvalidJson> {
        profile_figures(body.to_string().as_bytes())
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
        assert_eq!(Value::Object(figures(&body).unwrap()), expected);
    }

    #[test]
    fn a_profile_of_another_form_has_no_figures() {
        let figures = |profile: &Value| figures(&json!({"profile": profile}));
        assert_eq!(profile_figures(b"{\"took\":1}"), Err(InvalidJson));
        for profile in [
            json!(null),
            json!([]),
            json!({"drivers": {}}),
            json!({"drivers": [1]}),
            json!({"drivers": [{"description": 1}]}),
            json!({"drivers": [{"took_nanos": "1"}]}),
            json!({"drivers": [{"operators": {}}]}),
            json!({"plans": {}}),
        ] {
            assert_eq!(figures(&profile), Err(InvalidJson), "{profile}");
        }
        let sparse =
            json!({"query": 1, "drivers": null, "plans": [1, {"description": 1, "reduction_nanos": 1e6}]});
        assert_eq!(figures(&sparse).unwrap(), *json!({"unknown.reduction.took_ms": 1}).as_object().unwrap());
    }

    #[test]
    fn the_names_and_the_number_of_figures_are_limited() {
        let operator = |number: i32| json!({"operator": format!("{number}{}[x]", "o".repeat(if number > 0 { 200 } else { 99 })), "status": {"process_nanos": 5, "x": {}}});
        let operators: Vec<Value> = (0..5000).map(operator).collect();
        let driver = json!({"description": "d".repeat(100_000), "operators": operators});
        let plan = json!({"description": "p".repeat(100_000), "reduction_nanos": 1});
        let body = json!({"profile": {"plans": [plan], "drivers": [driver], "other": [{}]}});
        let figures = figures(&body).unwrap();
        assert_eq!(figures.len(), 2000);
        let longest = figures.keys().map(|name| name.chars().count()).max().unwrap();
        assert!(longest < 250, "{longest} characters");
        let whole = format!("0{}.process_ms", "o".repeat(99));
        assert!(
            figures.keys().any(|name| name.ends_with(&whole)),
            "the name of an operator ends before its arguments"
        );
    }
}
