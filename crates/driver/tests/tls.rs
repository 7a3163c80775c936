//! TLS with real servers and certificates made for the occasion: who is trusted, and what is said of who is not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod support;
#[path = "support/tls.rs"]
mod tls;

use std::net::TcpListener;
use std::path::Path;

use pacenote_driver::Race;
use pacenote_plan::Plan;
use pacenote_record::ErrorClass;
use rcgen::{IsCa, KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};
use support::{Finished, Server, good, request_task, run};
use tls::{Asks, Authority, TlsServer, config, inner_key, own, text};

/// A plan for one client of a server that speaks TLS, three searches long, with these settings.
fn plan(port: u16, tls: &Value) -> Value {
    let mut plan = support::plan(port, &[request_task("search", 1, 3)]);
    plan["target"]["hosts"][0]["scheme"] = "https".into();
    for (key, value) in tls.as_object().unwrap() {
        plan["target"]["tls"][key] = value.clone();
    }
    plan
}

fn succeeds(plan: &Value) -> Finished {
    let race = run(plan);
    assert_eq!((&race.summary.error, &race.summary.aborted), (&None, &None));
    let accounting = race.task("search").accounting;
    assert_eq!((accounting.succeeded, accounting.failed, accounting.reconnects), (3, 0, 0));
    race
}

/// What the driver says when it comes to no trust: before the race, and of each operation if it is to go on.
fn refused(plan: &Value) -> String {
    let mut plan = plan.clone();
    let error = run(&plan).summary.error.expect("the race began");
    plan["driver"]["on_error"] = "continue-on-network".into();
    plan["tasks"][0]["bound"]["measured"] = 1.into();
    let race = run(&plan);
    let failure = &race.task("search").errors[0];
    assert_eq!((failure.error_class.as_str(), failure.count), (ErrorClass::Tls.name(), 1), "{failure:?}");
    let host = format!("cannot connect to 127.0.0.1:{}: ", plan["target"]["hosts"][0]["port"]);
    assert_eq!(error.strip_prefix(&host), Some(failure.reason.as_str()), "{error}");
    failure.reason.clone()
}

#[test]
fn a_server_that_an_authority_vouches_for_is_trusted_in_both_versions() {
    let authority = Authority::new("ours");
    let vouched = authority.server(&["127.0.0.1"]);
    for version in [&TLS12, &TLS13] {
        let server = TlsServer::start(config(&vouched, &[version], Asks::Nothing));
        succeeds(&plan(server.port, &json!({"ca_file": text(&authority.file())})));
        let log = server.log();
        assert_eq!((log.seen.len(), log.greeted.len()), (3, 1), "{version:?}");
        // An address is no name, and is not asked for.
        assert_eq!(log.greeted[0], (None, false));
    }
}

#[test]
fn an_address_of_version_6_is_verified_as_such() {
    let authority = Authority::new("ours");
    let server = TlsServer::start_at("::1", config(&authority.server(&["::1"]), &[&TLS13], Asks::Nothing));
    let mut plan = plan(server.port, &json!({"ca_file": text(&authority.file())}));
    plan["target"]["hosts"][0]["host"] = "::1".into();
    succeeds(&plan);
    assert!(server.log().seen[0].headers.contains(&format!("host: [::1]:{}", server.port)));
}

#[test]
fn whoever_cannot_be_trusted_is_refused_with_the_reason_unless_the_plan_trusts_anyway() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let ca = text(&ours.file());
    let here = &["127.0.0.1"];
    let cases = [
        (theirs.server(here), "UnknownIssuer", false),
        (ours.expired_server(here), "certificate expired", false),
        (ours.server(&["elsewhere.example"]), "not valid for name", true),
    ];
    for (vouched, said, only_the_name) in cases {
        let server = TlsServer::start(config(&vouched, &[&TLS12, &TLS13], Asks::Nothing));
        let reason = refused(&plan(server.port, &json!({"ca_file": ca})));
        assert!(reason.starts_with("TLS: ") && reason.contains(said), "{reason}");
        let any_name = plan(server.port, &json!({"ca_file": ca, "verify_host": false}));
        if only_the_name {
            succeeds(&any_name);
        } else {
            assert!(refused(&any_name).contains(said));
        }
        // Without verification no file is read.
        succeeds(&plan(server.port, &json!({"ca_file": "/nowhere", "verify": false})));
    }
}

#[test]
fn a_certificate_that_is_named_itself_needs_no_authority_but_its_dates_and_name_count() {
    let authority = Authority::new("theirs");
    let here = &["127.0.0.1"];
    let cases = [
        (own(here, 2200), None),
        (authority.server(here), None),
        (own(&["elsewhere.example"], 2200), Some("not valid for name")),
        (own(here, 2020), Some("certificate expired")),
    ];
    for (vouched, said) in cases {
        let server = TlsServer::start(config(&vouched, &[&TLS12, &TLS13], Asks::Nothing));
        let file = authority.write("own.pem", &vouched.certificate.pem());
        let plan = plan(server.port, &json!({"ca_file": text(&file)}));
        if let Some(said) = said {
            assert!(refused(&plan).contains(said));
        } else {
            succeeds(&plan);
        }
    }
    let server = TlsServer::start(config(&own(here, 2200), &[&TLS13], Asks::Nothing));
    refused(&plan(server.port, &json!({"ca_file": text(&authority.file())})));
}

#[test]
fn a_host_that_is_named_itself_vouches_for_no_other() {
    for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa] {
        let host = Authority::none("host.example", is_ca);
        let server = TlsServer::start(config(&host.server(&["127.0.0.1"]), &[&TLS12, &TLS13], Asks::Nothing));
        let reason = refused(&plan(server.port, &json!({"ca_file": text(&host.file())})));
        assert!(reason.contains("UnknownIssuer"), "{reason}");
    }
}

#[test]
fn a_proxy_is_verified_whatever_is_held_of_the_hosts_and_not_shown_who_asks() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let client = ours.client(KeyPair::generate().unwrap());
    let certificate = ours.write("client.pem", &(client.certificate.pem() + &client.key.serialize_pem()));
    let vouched = ours.server(&["127.0.0.1"]);
    let through = |server: &TlsServer, tls: &Value| {
        let mut plan = plan(server.port, tls);
        plan["target"]["hosts"][0]["scheme"] = "http".into();
        plan["target"]["hosts"][0]["proxy"] =
            json!({"scheme": "https", "host": "127.0.0.1", "port": server.port, "authorization": null});
        plan
    };
    let server = TlsServer::start(config(&vouched, &[&TLS12, &TLS13], Asks::Nothing));
    let settings = json!({"ca_file": text(&ours.file()), "verify": false, "server_name": "es.example"});
    succeeds(&through(&server, &settings));
    let line = server.log().seen[0].line.clone();
    assert!(line.contains(&format!(" http://127.0.0.1:{}/", server.port)), "{line}");
    let settings = json!({"ca_file": text(&theirs.file()), "verify": false, "verify_host": false});
    let reason = refused(&through(&server, &settings));
    assert!(reason.starts_with(&format!("TLS: proxy 127.0.0.1:{}: ", server.port)), "{reason}");
    assert!(reason.contains("UnknownIssuer"), "{reason}");
    let curious = TlsServer::start(config(&vouched, &[&TLS12], Asks::Certificate(&ours)));
    let settings = json!({"ca_file": text(&ours.file()), "client_cert": text(&certificate)});
    refused(&through(&curious, &settings));
    succeeds(&plan(curious.port, &settings));
}

#[test]
fn the_name_in_the_plan_is_asked_for_and_verified() {
    let authority = Authority::new("ours");
    let server =
        TlsServer::start(config(&authority.server(&["es.example"]), &[&TLS12, &TLS13], Asks::Nothing));
    let settings = |name: &str| json!({"ca_file": text(&authority.file()), "server_name": name});
    succeeds(&plan(server.port, &settings("es.example")));
    assert_eq!(server.log().greeted[0].0.as_deref(), Some("es.example"));
    assert!(refused(&plan(server.port, &settings("other.example"))).contains("not valid for name"));
    let error = start_error(&plan(server.port, &settings("no name")));
    assert_eq!(error, "\"no name\" is not a name that a certificate can be issued for");
}

#[test]
fn a_client_certificate_is_shown_where_it_is_wanted_whatever_form_its_key_has() {
    let authority = Authority::new("ours");
    let ca = text(&authority.file());
    let elliptic = authority.client(KeyPair::generate().unwrap());
    let rsa = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
    let rsa = authority.client(rsa);
    let forms = [
        (&elliptic, elliptic.key.serialize_pem()),
        (&elliptic, inner_key(&elliptic.key, "EC PRIVATE KEY")),
        (&rsa, inner_key(&rsa.key, "RSA PRIVATE KEY")),
    ];
    let vouched = authority.server(&["127.0.0.1"]);
    for version in [&TLS12, &TLS13] {
        let server = TlsServer::start(config(&vouched, &[version], Asks::Certificate(&authority)));
        for (client, key) in &forms {
            let certificate = authority.write("client.pem", &client.certificate.pem());
            let key_file = authority.write("key.pem", key);
            let apart =
                json!({"ca_file": ca, "client_cert": text(&certificate), "client_key": text(&key_file)});
            succeeds(&plan(server.port, &apart));
            let both = authority.write("both.pem", &format!("{}{key}", client.certificate.pem()));
            succeeds(&plan(server.port, &json!({"ca_file": ca, "client_cert": text(&both)})));
        }
        assert!(server.log().greeted.iter().all(|(_, shown)| *shown));
    }
}

#[test]
fn a_client_without_the_certificate_that_is_wanted_hears_so() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let ca = text(&ours.file());
    let stranger = theirs.client(KeyPair::generate().unwrap());
    let stranger = format!("{}{}", stranger.certificate.pem(), stranger.key.serialize_pem());
    let stranger = text(&theirs.write("both.pem", &stranger));
    for version in [&TLS12, &TLS13] {
        let server =
            TlsServer::start(config(&ours.server(&["127.0.0.1"]), &[version], Asks::Certificate(&ours)));
        let reason = refused(&plan(server.port, &json!({"ca_file": ca})));
        assert!(reason.contains("CertificateRequired"), "{reason}");
        let reason = refused(&plan(server.port, &json!({"ca_file": ca, "client_cert": stranger})));
        assert!(reason.contains("fatal alert"), "{reason}");
    }
}

#[test]
fn a_server_that_does_not_speak_tls_is_known_as_such() {
    let authority = Authority::new("ours");
    let settings = json!({"ca_file": text(&authority.file())});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let reason = refused(&plan(port, &settings));
    assert!(reason.contains("InvalidContentType"), "{reason}");
    // The other way round the reply is no HTTP.
    let server = TlsServer::start(config(&authority.server(&["127.0.0.1"]), &[&TLS13], Asks::Nothing));
    let race = run(&support::plan(server.port, &[request_task("search", 1, 1)]));
    assert_eq!(race.task("search").errors[0].error_class, "protocol");
}

fn start_error(plan: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let race = Race::start(Plan::from_json(&plan.to_string()).unwrap(), folder.path());
    race.expect_err("the race began").to_string()
}

#[test]
fn files_that_are_not_what_they_should_be_are_named_before_the_race_and_not_shown() {
    let authority = Authority::new("ours");
    let ca = text(&authority.file());
    let client = authority.client(KeyPair::generate().unwrap());
    let certificate = text(&authority.write("client.pem", &client.certificate.pem()));
    let key = client.key.serialize_pem();
    let secret = key.lines().nth(1).unwrap();
    let file = |name: &str, text_of_it: &str| text(&authority.write(name, text_of_it));
    let empty = file("empty.pem", "nothing\n");
    let torn = file("torn.pem", &key.replace("-----END", "-----"));
    let odd = file("odd.pem", &key.replace(&secret[..4], "{%!}"));
    let locked = file("locked.pem", &key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"));
    let other = file("other.pem", &KeyPair::generate().unwrap().serialize_pem());
    let with_key = |key: &str| json!({"ca_file": ca, "client_cert": certificate, "client_key": key});
    let cases = [
        (json!({"ca_file": "/no/such.pem"}), "/no/such.pem", "No such file"),
        (json!({"ca_file": empty}), empty.as_str(), "there is no certificate in it"),
        (json!({"ca_file": ca, "client_cert": certificate}), &certificate, "there is no private key in it"),
        (with_key("/no/key.pem"), "/no/key.pem", "No such file"),
        (with_key(&empty), &empty, "there is no private key in it"),
        (with_key(&torn), &torn, "the private key in it is not valid PEM"),
        (with_key(&odd), &odd, "the private key in it is not valid PEM"),
        (with_key(&locked), &locked, "the private key is encrypted"),
        (with_key(&other), &other, "does not belong to the certificate"),
    ];
    for (settings, path, said) in cases {
        let error = start_error(&plan(1, &settings));
        assert!(error.starts_with(&format!("{path}: ")) && error.contains(said), "{error}");
        assert!(!error.contains(secret) && !error.contains('\n'), "{error}");
        assert!(Path::new(&ca).exists());
    }
    // Whom nobody talks to over TLS needs no files.
    let server = Server::start(|_, _| Some(good()));
    let mut plain = plan(server.port, &json!({"ca_file": "/no/such.pem"}));
    plain["target"]["hosts"][0]["scheme"] = "http".into();
    succeeds(&plain);
}
