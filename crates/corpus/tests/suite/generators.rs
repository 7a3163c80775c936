//! Checks every generator: its bytes are stable on any number of threads, it writes the files that it announces, and
//! its documents have only fields of the track's mapping and the size of those in the public corpus.

use std::collections::{BTreeMap, BTreeSet};

use pacenote_corpus::{FileSpec, generate};
use serde_json::Value;

use crate::support::{bytes, of, parsed};

/// Facts about a corpus: its fields, and the numbers of bytes and documents that the track declares.
struct Facts {
    corpus: &'static str,
    fields: &'static str,
    bytes: u64,
    documents: u64,
    files: &'static [&'static str],
}

const NOAA: &str = "AWDR AWND DAPR DASF DATN DATX DWPR EVAP MDPR MDSF MDTN MDTRANGE.gte MDTRANGE.lte MDTX MNPN MXPN PGTM \
    PRCP PSUN SN31 SN32 SN33 SN35 SN36 SN51 SN52 SN53 SN55 SN56 SN57 SNOW SNWD SX31 SX32 SX33 SX35 SX36 SX51 SX52 SX53 \
    SX55 SX56 SX57 TAVG THIC TMAX TMIN TOBS TRANGE.gte TRANGE.lte TSUN WDF2 WDF5 WDFG WDMV WESD WESF WSF2 WSF5 WSFG WSFI \
    WT01 WT02 WT03 WT04 WT05 WT06 WT07 WT08 WT09 WT10 WT11 WT17 WT18 date station.country station.country_code \
    station.elevation station.gsn_flag station.hcn_crn_flag station.id station.location.lat station.location.lon \
    station.name station.state station.state_code station.wmo_id";

const FACTS: [Facts; 17] = [
    Facts {
        corpus: "geonames",
        fields: "elevation name geonameid feature_class location cc2 timezone dem country_code admin1_code admin2_code \
            admin3_code admin4_code feature_code alternatenames asciiname population",
        bytes: 3_547_613_828,
        documents: 11_396_503,
        files: &["documents-2.json"],
    },
    Facts {
        corpus: "http_logs",
        fields: "@timestamp clientip request status size",
        bytes: 33_365_244_237,
        documents: 247_249_096,
        files: &[
            "documents-181998.json",
            "documents-191998.json",
            "documents-201998.json",
            "documents-211998.json",
            "documents-221998.json",
            "documents-231998.json",
            "documents-241998.json",
        ],
    },
    Facts {
        corpus: "http_logs_unparsed",
        fields: "message",
        bytes: 27_925_764_083,
        documents: 247_249_096,
        files: &[
            "documents-181998.unparsed.json",
            "documents-191998.unparsed.json",
            "documents-201998.unparsed.json",
            "documents-211998.unparsed.json",
            "documents-221998.unparsed.json",
            "documents-231998.unparsed.json",
            "documents-241998.unparsed.json",
        ],
    },
    Facts {
        corpus: "nyc_taxis",
        fields: "surcharge dropoff_datetime trip_type mta_tax rate_code_id passenger_count pickup_datetime tolls_amount \
            tip_amount payment_type extra vendor_id store_and_fwd_flag improvement_surcharge fare_amount ehail_fee \
            cab_color dropoff_location vendor_name total_amount trip_distance pickup_location",
        bytes: 79_802_445_255,
        documents: 165_346_692,
        files: &["documents.json"],
    },
    Facts {
        corpus: "nyc_payment_types",
        fields: "type name fare",
        bytes: 245,
        documents: 5,
        files: &["nyc_payment_types.json"],
    },
    Facts {
        corpus: "nyc_rate_codes",
        fields: "id name fare",
        bytes: 337,
        documents: 7,
        files: &["nyc_rate_codes.json"],
    },
    Facts {
        corpus: "nyc_trip_types",
        fields: "type name",
        bytes: 75,
        documents: 2,
        files: &["nyc_trip_types.json"],
    },
    Facts { corpus: "nyc_vendors", fields: "id name", bytes: 67, documents: 2, files: &["nyc_vendors.json"] },
    Facts {
        corpus: "pmc",
        fields: "name journal date volume issue accession timestamp pmid body",
        bytes: 23_256_051_757,
        documents: 574_199,
        files: &["documents.json"],
    },
    Facts {
        corpus: "geopoint",
        fields: "location",
        bytes: 2_448_564_579,
        documents: 60_844_404,
        files: &["documents.json"],
    },
    Facts {
        corpus: "geopointshape",
        fields: "location",
        bytes: 2_780_550_484,
        documents: 60_844_404,
        files: &["documents.json"],
    },
    Facts {
        corpus: "noaa",
        fields: NOAA,
        bytes: 9_684_262_698,
        documents: 33_659_481,
        files: &["documents.json"],
    },
    Facts {
        corpus: "noaa-sql",
        fields: NOAA,
        bytes: 9_684_262_698,
        documents: 33_659_481,
        files: &["documents.json"],
    },
    Facts {
        corpus: "nested",
        fields: "user creationDate title qid tag answer_count answers answers.user answers.date",
        bytes: 3_637_747_670,
        documents: 11_203_029,
        files: &["documents.json"],
    },
    Facts {
        corpus: "percolator",
        fields: "query.match.body.query",
        bytes: 110_039_748,
        documents: 2_000_000,
        files: &["queries-2.json"],
    },
    Facts {
        corpus: "so",
        fields: "user creationDate title questionId answerId acceptedAnswerId tags body type",
        bytes: 35_564_808_298,
        documents: 36_062_278,
        files: &["posts.json"],
    },
    Facts {
        corpus: "big5",
        fields: "message process.name aws.cloudwatch.ingestion_time aws.cloudwatch.log_group aws.cloudwatch.log_stream \
            tags meta.file cloud.region @timestamp input.type metrics.tmin metrics.size log.file.path event.id \
            event.dataset event.ingested agent.id agent.name agent.ephemeral_id agent.type agent.version",
        bytes: 1_084_097_769_420,
        documents: 1_171_840_430,
        files: &[
            "logs-1.ndjson",
            "logs-2.ndjson",
            "logs-3.ndjson",
            "logs-4.ndjson",
            "logs-5.ndjson",
            "logs-6.ndjson",
            "logs-7.ndjson",
            "logs-8.ndjson",
        ],
    },
];

/// Returns a number of documents that includes all kinds; it is smaller for `pmc`, whose articles are long.
fn enough(corpus: &str) -> u64 {
    if corpus == "pmc" { 200 } else { 1_000 }
}

/// Collects the names of all fields that have a value, as they appear in a mapping.
fn fields(prefix: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                fields(&name, inner, found);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            for inner in list {
                fields(prefix, inner, found);
            }
        }
        _ => {
            found.insert(prefix.to_owned());
        }
    }
}

/// Returns the 64-bit FNV-1a hash.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[test]
fn there_is_a_generator_for_every_corpus() {
    let names: Vec<&str> = generate::names().collect();
    assert_eq!(names, FACTS.map(|facts| facts.corpus));
    for facts in FACTS {
        let files = of(facts.corpus).files(facts.documents);
        assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), facts.files);
        assert_eq!(files.iter().map(|file| file.documents).sum::<u64>(), facts.documents);
    }
    assert_eq!(
        of("big5").files(1_171_840_430)[3].documents,
        155_215_122,
        "the track declares a different number"
    );
}

#[test]
fn documents_have_only_fields_of_the_mapping() {
    for facts in FACTS {
        let known: BTreeSet<String> = facts.fields.split_whitespace().map(str::to_owned).collect();
        let mut found = BTreeSet::new();
        for document in parsed(facts.corpus, enough(facts.corpus), 3) {
            assert!(document.is_object());
            fields("", &document, &mut found);
        }
        let unknown: Vec<_> = found.difference(&known).collect();
        assert!(unknown.is_empty(), "{}: the mapping would reject {unknown:?}", facts.corpus);
    }
}

#[test]
fn documents_are_as_long_as_those_in_the_public_corpus() {
    for facts in FACTS {
        let documents = if facts.documents < 10 { facts.documents } else { enough(facts.corpus) };
        let files = of(facts.corpus).files(documents);
        let made: usize = files.iter().map(|file| bytes(facts.corpus, file, 4, 1).len()).sum();
        let (mean, real) = (made as f64 / documents as f64, facts.bytes as f64 / facts.documents as f64);
        assert!(
            (mean / real - 1.0).abs() < 0.15,
            "{}: {mean:.1} bytes per document, {real:.1} in the public corpus",
            facts.corpus
        );
    }
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    for facts in FACTS {
        let documents = if facts.corpus == "pmc" { 24 } else { 5_000 };
        let file = of(facts.corpus).files(documents).pop().unwrap();
        let alone = bytes(facts.corpus, &file, 5, 1);
        assert!(alone == bytes(facts.corpus, &file, 5, 3), "{}", facts.corpus);
        let lookup = facts.documents < 10;
        assert!(
            lookup || alone != bytes(facts.corpus, &file, 6, 1),
            "{}: two seeds give the same bytes",
            facts.corpus
        );
        // Files with different names differ in content, but have about the same size.
        let other = FileSpec { name: format!("other-{}", file.name), ..file.clone() };
        let other = bytes(facts.corpus, &other, 5, 1);
        assert!(lookup || other != alone, "{}: two file names give the same bytes", facts.corpus);
        assert_eq!(other.split(|byte| *byte == b'\n').count() as u64, file.documents + 1);
    }
}

#[test]
fn tiny_files_are_complete() {
    for facts in FACTS {
        for documents in [0, 1, 2] {
            let file = FileSpec { name: "tiny.json".to_owned(), documents };
            let lines = bytes(facts.corpus, &file, 1, 2).split(|byte| *byte == b'\n').count() as u64;
            assert_eq!(lines, documents + 1, "{}", facts.corpus);
        }
    }
}

#[test]
fn bytes_never_change() {
    // If this test fails after an intended change, raise the generator's version and replace the hash.
    let versions: BTreeMap<&str, u32> = generate::names().map(|name| (name, of(name).version())).collect();
    assert!(versions.values().all(|version| *version == 1), "{versions:?}");
    let mut found = Vec::new();
    for facts in FACTS {
        let documents = if facts.corpus == "pmc" { 20 } else { 2_000 };
        let file = of(facts.corpus).files(documents).pop().unwrap();
        found.push((facts.corpus, hash(&bytes(facts.corpus, &file, 42, 1))));
    }
    let expected = HASHES.to_vec();
    let listed: Vec<String> =
        found.iter().map(|(name, hash)| format!("(\"{name}\", {hash:#018x}),")).collect();
    assert_eq!(found, expected, "\n{}", listed.join("\n"));
}

/// Hashes of each corpus's last file, with 2,000 documents (20 articles for `pmc`) and the seed 42.
const HASHES: [(&str, u64); 17] = [
    ("geonames", 0x8a0e_e224_8918_f953),
    ("http_logs", 0xb3da_143e_1a2f_6e40),
    ("http_logs_unparsed", 0x5526_1313_17c0_9e53),
    ("nyc_taxis", 0x6b5d_51c6_534f_802d),
    ("nyc_payment_types", 0x2b35_eb38_1c6f_0555),
    ("nyc_rate_codes", 0xac77_10e4_598f_e78c),
    ("nyc_trip_types", 0xd443_0501_9ddb_daed),
    ("nyc_vendors", 0x44f7_51b4_02ec_f125),
    ("pmc", 0x5ec4_e8fa_1f03_3303),
    ("geopoint", 0x8911_a939_2eae_5d78),
    ("geopointshape", 0x8c1c_f75a_5441_2196),
    ("noaa", 0x9866_8255_9ae8_70d4),
    ("noaa-sql", 0x9866_8255_9ae8_70d4),
    ("nested", 0x15cc_b190_4f5c_f602),
    ("percolator", 0xaf59_a586_cc4c_4e7e),
    ("so", 0x370c_2503_7cc5_d61d),
    ("big5", 0xe73a_2281_5dbe_aa0c),
];
