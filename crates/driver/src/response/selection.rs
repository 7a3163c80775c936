//! The fields and the format that a request asks for in its response.

/// Returns whether a request selects the fields of its response (`filter_path`), so that any of them may be missing.
pub fn filters_fields(path: &str) -> bool {
    query_value(path, "filter_path").is_some_and(|fields| !fields.is_empty())
}

/// Returns whether a request asks for a response in a format other than JSON, which the driver does not read. As in the
/// engines, the parameter `format` takes precedence over the header `accept`.
pub fn asks_for_other_format<'a>(path: &str, headers: impl Iterator<Item = &'a (String, String)>) -> bool {
    // The SQL plug-in of OpenSearch has two formats that are JSON: `jdbc` and `json`.
    let is_json = |format: &str| ["", "json", "jdbc"].contains(&format.to_ascii_lowercase().as_str());
    // The last header of a name is sent.
    let of_header = |types, (name, value): &'a (String, String)| {
        if name.eq_ignore_ascii_case("accept") { Some(value.as_str()) } else { types }
    };
    match (query_value(path, "format"), headers.fold(None, of_header)) {
        (Some(format), _) => !is_json(format),
        (None, Some(types)) => !["json", "*/*", "application/*"].iter().any(|json| types.contains(json)),
        (None, None) => false,
    }
}

/// Returns the value of a parameter in the query string of a path; if there are several, that of the last.
fn query_value<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    let parameters = query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
    parameters.fold(None, |found, (key, value)| if key == name { Some(value) } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parameter_itself_selects_fields() {
        for path in ["/_bulk?filter_path=errors", "/_bulk?pretty&filter_path=errors,took"] {
            assert!(filters_fields(path), "{path}");
        }
        for path in [
            "/filter_path=a/_bulk",
            "/_bulk?pipeline=filter_path=a",
            "/_bulk?filter_path",
            "/_bulk?filter_path=",
        ] {
            assert!(!filters_fields(path), "{path}");
        }
    }

    #[test]
    fn the_format_is_that_of_the_parameter_or_of_the_header() {
        let other = |path: &str, accept: &[&str]| {
            let headers: Vec<_> =
                accept.iter().map(|types| ("Accept".to_owned(), (*types).to_owned())).collect();
            asks_for_other_format(path, headers.iter())
        };
        for format in ["csv", "tsv", "txt", "yaml", "cbor", "smile", "arrow", "raw", "CSV"] {
            assert!(other(&format!("/_query?format={format}"), &["application/json"]), "{format}");
        }
        for path in
            ["/_query", "/_query?format=json", "/_query?format=JSON", "/_sql?format=jdbc", "/_query?format"]
        {
            assert!(!other(path, &[]), "{path}");
        }
        for types in
            ["text/csv", "application/yaml", "application/vnd.apache.arrow.stream", "application/cbor"]
        {
            assert!(other("/_query", &[types]), "{types}");
            assert!(!other("/_query?format=json", &[types]), "{types}");
        }
        let json =
            ["application/json", "application/vnd.elasticsearch+json;compatible-with=8", "text/html, */*"];
        for types in json {
            assert!(!other("/_query", &["text/csv", types]), "the last header is sent: {types}");
        }
    }
}
