//! Every generated corpus contains what the operations of its track search for, even with only 1,000 documents, the
//! number per file in test mode.

use std::collections::HashSet;

use pacenote_corpus::FileSpec;
use serde_json::Value;

use crate::support::{bytes, parsed};

fn text<'a>(document: &'a Value, field: &str) -> &'a str {
    document[field].as_str().unwrap_or("")
}

fn number(document: &Value, field: &str) -> f64 {
    document[field].as_f64().unwrap_or(f64::NAN)
}

/// Counts the documents that meet a condition.
fn count(documents: &[Value], wanted: impl Fn(&Value) -> bool) -> usize {
    documents.iter().filter(|document| wanted(document)).count()
}

/// Returns the words of a text in lower case, as an analyzer would.
fn words(text: &str) -> HashSet<String> {
    let split = text.split(|letter: char| !letter.is_alphanumeric());
    split.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[test]
fn geonames_contains_what_the_track_searches_for() {
    for seed in [1, 2] {
        let places = parsed("geonames", 1_000, seed);
        let is = |field: &'static str, value: &'static str| count(&places, |d| text(d, field) == value);
        assert!(is("country_code", "AT") >= 5);
        assert!(is("feature_class", "T") > 50 && is("feature_class", "A") > 20);
        assert!(count(&places, |d| text(d, "name").starts_with("Sankt Georgen")) >= 2);
        let american = count(&places, |d| text(d, "timezone").starts_with("America/"));
        assert!((250..600).contains(&american), "{american}");
        assert!(count(&places, |d| words(text(d, "alternatenames")).contains("street")) >= 5);
        assert!(count(&places, |d| number(d, "population") > 1e6) >= 3);
        assert!(count(&places, |d| number(d, "geonameid") < 5e6) > 300);
        assert!(count(&places, |d| number(d, "geonameid") > 5e6) > 300);
        // Names from the track's terms.txt, including mountains.
        let terms =
            ["San Juan", "Mill Creek", "Bear Creek", "Solheim", "Cerro Alto", "Rampur", "Cedar Creek"];
        assert!(count(&places, |d| terms.contains(&text(d, "name"))) >= 1);
        let ids: HashSet<u64> = places.iter().map(|d| d["geonameid"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), places.len());
        assert!(places.iter().all(|d| text(d, "asciiname").is_ascii()));
        let position = |d: &Value, axis: usize| d["location"][axis].as_f64().unwrap();
        assert!(places.iter().all(|d| position(d, 0).abs() < 180.0 && position(d, 1).abs() < 90.0));
    }
}

#[test]
fn nyc_taxis_contains_what_the_track_searches_for() {
    let rides = parsed("nyc_taxis", 1_000, 1);
    assert!(count(&rides, |d| (5.0..15.0).contains(&number(d, "total_amount"))) > 300);
    let flat = count(&rides, |d| text(d, "rate_code_id") == "2" && number(d, "total_amount") > 60.0);
    assert!(flat >= 4, "{flat}");
    assert_eq!(count(&rides, |d| !(0.0..50.0).contains(&number(d, "trip_distance"))), 0);
    let before = |day: &'static str| count(&rides, |d| text(d, "dropoff_datetime") < day);
    assert!(before("2015-01-15") > 20 && before("2015-03-01") > 120 && before("2015-10-01") > 700);
    assert!(before("2016-01-01") > 990);
    for (field, values) in
        [("vendor_id", 2), ("payment_type", 3), ("trip_type", 1), ("passenger_count", 5), ("rate_code_id", 2)]
    {
        let seen: HashSet<String> = rides.iter().filter_map(|d| d.get(field)).map(Value::to_string).collect();
        assert!(seen.len() >= values, "{field}: {seen:?}");
    }
    for ride in &rides {
        let parts =
            ["fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge"];
        let sum: f64 = parts.iter().map(|part| number(ride, part)).sum();
        assert!((sum - number(ride, "total_amount")).abs() < 0.001, "{ride}");
        assert!(text(ride, "pickup_datetime") < text(ride, "dropoff_datetime"));
    }
}

#[test]
fn pmc_contains_what_the_track_searches_for() {
    let articles = parsed("pmc", 200, 1);
    let physician = count(&articles, |d| text(d, "body").contains("physician"));
    assert!((6..60).contains(&physician), "{physician}");
    assert_eq!(count(&articles, |d| text(d, "body").contains("newspaper coverage")), 3);
    let months: HashSet<&str> = articles.iter().map(|d| &text(d, "timestamp")[..7]).collect();
    assert!(months.len() > 60, "{}", months.len());
    let words: HashSet<String> = articles.iter().flat_map(|d| words(text(d, "body"))).collect();
    assert!(words.len() > 6_000, "{} distinct words", words.len());
}

/// Returns the distance from (7, 55) in metres.
fn from_the_sea(lon: f64, lat: f64) -> f64 {
    let (here, there) = (55_f64.to_radians(), lat.to_radians());
    let (north, east) = ((there - here) / 2.0, (lon - 7.0).to_radians() / 2.0);
    let half = north.sin().powi(2) + here.cos() * there.cos() * east.sin().powi(2);
    2.0 * 6_371_008.771_4 * half.sqrt().asin()
}

#[test]
fn geopoint_contains_what_the_track_searches_for() {
    for seed in [1, 2] {
        let location = |d: &Value| {
            let list = d["location"].as_array().unwrap();
            (list[0].as_f64().unwrap(), list[1].as_f64().unwrap())
        };
        let points: Vec<(f64, f64)> = parsed("geopoint", 1_000, seed).iter().map(location).collect();
        let within = |wanted: &dyn Fn(f64, f64) -> bool| points.iter().filter(|p| wanted(p.0, p.1)).count();
        assert!(points.iter().all(|p| p.0.abs() <= 180.0 && p.1.abs() <= 90.0));
        let boxed = within(&|lon, lat| (-0.1..15.0).contains(&lon) && (48.0..61.0).contains(&lat));
        assert!((200..700).contains(&boxed), "{boxed}");
        assert!(within(&|lon, lat| (2.2..2.4).contains(&lon) && (48.75..48.95).contains(&lat)) > 5);
        for ring in [0.0, 100e3, 200e3, 300e3] {
            let hits = within(&|lon, lat| (ring..ring + 100e3).contains(&from_the_sea(lon, lat)));
            assert!(hits > 3, "{hits} hits in the ring that begins at {ring} m");
        }
        let exact = within(&|lon, lat| (73_204.77..73_204.78).contains(&from_the_sea(lon, lat)));
        assert!(exact >= 2, "{exact}");
        // Geohash u0 and the tile 6/32/22.
        assert!(within(&|lon, lat| (0.0..11.25).contains(&lon) && (45.0..50.625).contains(&lat)) > 20);
        assert!(within(&|lon, lat| (0.0..5.625).contains(&lon) && (45.1..48.9).contains(&lat)) > 10);
        // The shapes have the same distribution.
        let shapes = parsed("geopointshape", 1_000, seed);
        let point = |d: &Value| {
            let inner = text(d, "location").strip_prefix("POINT (").and_then(|rest| rest.strip_suffix(')'));
            let (lon, lat) = inner.unwrap().split_once(' ').unwrap();
            (lon.parse::<f64>().unwrap(), lat.parse::<f64>().unwrap())
        };
        let paris = |(lon, lat)| (2.2..2.4).contains(&lon) && (48.75..48.95).contains(&lat);
        assert!(count(&shapes, |d| paris(point(d))) > 5);
    }
}

#[test]
fn noaa_contains_what_the_tracks_search_for() {
    for seed in [1, 2] {
        let days = parsed("noaa", 1_000, seed);
        let of_station = |d: &Value, field: &str| d["station"][field].as_str().unwrap_or("").to_owned();
        let elevation = |d: &Value| d["station"]["elevation"].as_f64().unwrap();
        let in_country = |code: &'static str| count(&days, |d| of_station(d, "country_code") == code);
        assert!(in_country("US") > 350 && (2..40).contains(&in_country("JA")));
        for code in ["AS", "CA", "SW", "RS"] {
            assert!(in_country(code) > 5, "{code}");
        }
        for name in ["MARSHALL", "NEWPORT", "JACKSON", "FAIRFIELD", "HILLSBORO"] {
            assert!(count(&days, |d| of_station(d, "name") == name) > 0, "{name}");
        }
        let range = |d: &Value, low: f64, high: f64| {
            number(&d["TRANGE"], "lte") >= low && number(&d["TRANGE"], "gte") <= high
        };
        assert!(count(&days, |d| range(d, 0.0, 30.0)) > 300);
        assert!(count(&days, |d| range(d, -20.0, -10.0)) > 10);
        assert!(
            count(&days, |d| range(d, -20.0, -10.0) && of_station(d, "country_code") == "JA") > 1,
            "there are too few cold days in Japan"
        );
        assert!(count(&days, |d| elevation(d) > 1000.0 && d.get("TMAX").is_some()) > 50);
        assert!(count(&days, |d| elevation(d) > 2800.0 && of_station(d, "name").starts_with("SA")) > 1);
        let early_2016 = |d: &Value| ("2015-12-31".."2016-04-01").contains(&&text(d, "date")[..10]);
        assert!(count(&days, early_2016) > 40);
        assert!(
            count(&days, |d| d.get("AWDR").is_some() && d.get("MNPN").is_some()) > 0,
            "no document has the fields of deep-terms"
        );
        let west = |d: &Value| (-135.0..-90.0).contains(&number(&d["station"]["location"], "lon"));
        assert!(count(&days, west) > 100, "there are too few points in the geohashes 9 and c");
        assert!(days.iter().all(|d| number(&d["station"]["location"], "lat").abs() < 85.0));
    }
}

#[test]
fn nested_has_an_early_answer_for_each_tag() {
    let asked = "java c# javascript php android jquery python html c++ ios mysql css sql asp.net objective-c \
        ruby-on-rails .net iphone c arrays sql-server angularjs ruby json ajax regex xml asp.net-mvc r linux wpf django \
        node.js database xcode";
    for seed in [1, 2] {
        let questions = parsed("nested", 1_000, seed);
        for tag in asked.split_whitespace() {
            let has = |d: &Value| d["tag"].as_array().unwrap().iter().any(|one| one == tag);
            let early = |d: &Value| {
                d["answers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|answer| text(answer, "date") < "2010-09-27T15:38")
            };
            assert!(count(&questions, |d| has(d) && early(d)) > 0, "{tag}");
        }
        let last = questions.iter().map(|d| text(d, "creationDate")).max().unwrap();
        assert!(("2016-05".."2016-07").contains(&last), "{last}");
        for question in &questions {
            let asked = text(question, "creationDate");
            let answers = question["answers"].as_array().unwrap();
            assert!(answers.iter().all(|answer| text(answer, "date") >= asked), "{question}");
        }
    }
}

#[test]
fn percolator_contains_what_the_track_searches_for() {
    let queries = parsed("percolator", 1_000, 1);
    let query = |d: &Value| d["query"]["match"]["body"]["query"].as_str().unwrap().to_owned();
    let ariel = "Israeli prime minister Ariel Sharon suffers a massive stroke; he is replaced by acting prime \
        minister Ehud Olmert";
    for document in ["president bush", "saddam hussein", "hurricane katrina", "google", ariel] {
        let content = words(document);
        assert!(count(&queries, |d| !words(&query(d)).is_disjoint(&content)) > 0, "{document}");
    }
    assert_eq!(count(&queries, |d| query(d) == "ignore me"), 990);
}

#[test]
fn so_contains_what_the_track_searches_for() {
    let posts = parsed("so", 1_000, 1);
    let questions = count(&posts, |d| text(d, "type") == "question");
    assert!((300..480).contains(&questions), "{questions}");
    for tag in ["python", "java"] {
        let sets = count(&posts, |d| {
            d["tags"].as_array().is_some_and(|tags| tags.len() > 2 && tags.iter().any(|one| one == tag))
        });
        assert!(sets > 3, "{tag}: {sets}");
    }
    assert!(count(&posts, |d| d.get("acceptedAnswerId").is_some()) > 100);
    assert!(posts.iter().all(|d| (text(d, "type") == "answer") == d.get("answerId").is_some()));
}

#[test]
fn big5_contains_what_the_track_searches_for() {
    for seed in [1, 2] {
        let logs = parsed("big5", 1_000, seed);
        let between = |from: &'static str, to: &'static str| {
            move |d: &Value| (from..to).contains(&text(d, "@timestamp"))
        };
        for (from, to) in [
            ("2023-01-01", "2023-01-03"),
            ("2023-01-05T00", "2023-01-05T05"),
            ("2023-01-02T00", "2023-01-02T10"),
            ("2022-12-30", "2023-01-07T12"),
        ] {
            assert!(count(&logs, between(from, to)) > 5, "{from}");
        }
        assert!(logs.iter().all(between("2022-12-30", "2023-01-13")));
        let process = |d: &Value| d["process"]["name"].as_str().unwrap().to_owned();
        assert!(count(&logs, |d| process(d) == "kernel" && between("2023-01-01", "2023-01-03")(d)) > 5);
        assert!(count(&logs, |d| process(d) == "systemd" && number(&d["metrics"], "size") <= 100.0) > 0);
        assert!(count(&logs, |d| (10.0..=20.0).contains(&number(&d["metrics"], "size"))) > 0);
        for stream in ["fuschiashoulder", "solarshark", "birdknight", "indigodagger"] {
            let path = format!("/var/log/messages/{stream}");
            assert!(count(&logs, |d| text(d, "log.file.path") == path) > 0, "{stream}");
            assert!(count(&logs, |d| text(&d["aws.cloudwatch"], "log_stream") == stream) > 0);
        }
        let said = |d: &Value| {
            let said = words(text(d, "message"));
            ["monkey", "jackal", "bear"].iter().any(|animal| said.contains(*animal))
        };
        assert!(count(&logs, |d| said(d) && between("2023-01-03T00", "2023-01-03T10")(d)) > 0);
        assert!(count(&logs, |d| text(d, "message").contains("50-136-239-27")) > 0);
    }
}

#[test]
fn unparsed_lines_describe_the_same_requests_as_parsed_ones() {
    let parsed_ones = parsed("http_logs", 2_000, 9);
    let lines = parsed("http_logs_unparsed", 2_000, 9);
    for (document, line) in parsed_ones.iter().zip(&lines) {
        let line = text(line, "message");
        let said = format!(
            "\"{}\" {} {}",
            text(document, "request"),
            document["status"].as_u64().unwrap(),
            document["size"].as_u64().unwrap()
        );
        assert!(line.ends_with(&said), "{line}");
        assert!(line.starts_with(&format!("{} - - [1998-", text(document, "clientip"))), "{line}");
        let seconds = document["@timestamp"].as_u64().unwrap() % 60;
        assert!(line.contains(&format!(":{seconds:02}-05:00] ")), "{line}");
    }
    // The name of a file also determines its format.
    let file = FileSpec { name: "documents-181998.unparsed-1k.json".to_owned(), documents: 3 };
    assert!(bytes("http_logs", &file, 1, 1).starts_with(b"{\"message\" : \""));
}
