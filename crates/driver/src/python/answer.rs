//! What a runner says about its operation.

use pacenote_record::ErrorClass;
use serde::Deserialize;

use crate::response::outcome::ReplyOutcome;

/// The reason of a failure for which a runner gives none.
const NO_SUCCESS: &str = "its runner says that the operation was no success";

/// Every class that a runner may name.
const CLASSES: [ErrorClass; 12] = [
    ErrorClass::Connect,
    ErrorClass::Reset,
    ErrorClass::Timeout,
    ErrorClass::Protocol,
    ErrorClass::HttpStatus,
    ErrorClass::BulkItem,
    ErrorClass::ShardFailure,
    ErrorClass::SearchTimeout,
    ErrorClass::Condition,
    ErrorClass::Partial,
    ErrorClass::Assertion,
    ErrorClass::Plugin,
];

/// What a runner says about its operation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// Work done, or attempted when it was no success.
    pub weight: u64,
    /// Its unit.
    pub unit: String,
    /// Whether the operation succeeded.
    pub success: bool,
    /// No operation follows.
    pub last: bool,
    /// Why it failed.
    pub error: Option<Complaint>,
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complaint {
    /// One of the error classes.
    #[serde(deserialize_with = "class")]
    pub class: ErrorClass,
    /// The engine's error type, or the exception's name.
    pub kind: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// In the engine's or the exception's words.
    pub reason: String,
}

fn class<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<ErrorClass, D::Error> {
    let name = std::borrow::Cow::<'de, str>::deserialize(reader)?;
    let found = CLASSES.iter().find(|class| class.name() == name);
    found.copied().ok_or_else(|| serde::de::Error::custom(format!("there is no error class {name:?}")))
}

impl Done {
    /// What it means.
    pub fn result(&self) -> ReplyOutcome {
        if self.success {
            return ReplyOutcome::success(self.weight, -1);
        }
        let result = match &self.error {
            Some(error) => ReplyOutcome::failure(
                error.class,
                error.status.unwrap_or(0),
                &error.kind,
                error.reason.clone(),
            ),
            None => ReplyOutcome::failure(ErrorClass::Condition, 0, "", NO_SUCCESS.into()),
        };
        ReplyOutcome { rejected: self.weight, ..result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_carries_its_class_and_its_work_is_not_done() {
        let text = r#"{"weight": 3, "unit": "docs", "success": false, "last": false, "error":
            {"class": "http-status", "kind": "rejected", "status": 429, "reason": "queue is full"}}"#;
        let result = serde_json::from_str::<Done>(text).unwrap().result();
        assert_eq!((result.class, result.accepted, result.rejected), (ErrorClass::HttpStatus, 0, 3));
        assert_eq!((result.failures[0].status, result.failures[0].kind.as_str()), (429, "rejected"));
        let wrong = text.replace("http-status", "bad luck");
        let error = serde_json::from_str::<Done>(&wrong).unwrap_err().to_string();
        assert!(error.contains("there is no error class \"bad luck\""), "{error}");
    }
}
