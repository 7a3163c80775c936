//! Checks which certificates are accepted, and how failed handshakes and unusable files are reported.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, TcpListener};
use std::path::Path;

use pacenote_driver::{Race, ResponseMemory};
use pacenote_plan::Plan;
use pacenote_record::ErrorClass;
use rcgen::{IsCa, KeyPair};
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};

use super::certificates::{Authority, ClientAuth, path_text, self_signed, server_config, traditional_key};
use crate::support::server::{Handshake, Options};
use crate::support::{self, Finished, Server, request_task, run, success_response};

/// Builds a plan in which one client sends three searches to a TLS server, with these settings.
fn plan(port: u16, tls: &Value) -> Value {
    let mut plan = support::plan(port, &[request_task("search", 1, 3)]);
    plan["target"]["hosts"][0]["scheme"] = "https".into();
    for (key, value) in tls.as_object().unwrap() {
        plan["target"]["tls"][key] = value.clone();
    }
    plan
}

fn assert_succeeds(plan: &Value) -> Finished {
    let race = run(plan);
    assert_eq!((&race.summary.error, &race.summary.aborted), (&None, &None));
    let accounting = race.task("search").operation_totals;
    assert_eq!((accounting.succeeded, accounting.failed, accounting.reconnects), (3, 0, 0));
    race
}

/// Returns the reason why the driver cannot connect. Asserts that it is the same before the race and, in a race that
/// continues, for each operation.
fn connect_error(plan: &Value) -> String {
    let mut plan = plan.clone();
    let error = run(&plan).summary.error.expect("the race started");
    plan["driver"]["on_error"] = "continue-on-network".into();
    plan["tasks"][0]["bound"]["measured"] = 1.into();
    let race = run(&plan);
    let failure = &race.task("search").errors[0];
    assert_eq!((failure.error_class.as_str(), failure.count), (ErrorClass::Tls.name(), 1), "{failure:?}");
    let host = format!("cannot connect to 127.0.0.1:{}: ", plan["target"]["hosts"][0]["port"]);
    // The error for an expired certificate contains the time of the verification, in seconds, which differs between the
    // two.
    let stable = |reason: &str| reason.split("verification time").next().map(str::to_owned);
    assert_eq!(error.strip_prefix(&host).and_then(stable), stable(&failure.reason), "{error}");
    failure.reason.clone()
}

#[test]
fn a_certificate_of_the_authority_is_accepted_in_tls_1_2_and_1_3() {
    let authority = Authority::new("ours");
    let issued = authority.server(&["127.0.0.1"]);
    for version in [&TLS12, &TLS13] {
        let server = Server::start_tls(server_config(&issued, &[version], ClientAuth::None));
        assert_succeeds(&plan(server.port, &json!({"ca_file": path_text(&authority.file())})));
        assert_eq!(server.requests().len(), 3, "{version:?}");
        // An IP address is not sent as a server name (SNI).
        let expected = Handshake { server_name: None, has_client_certificate: false };
        assert_eq!(server.handshakes(), [expected], "{version:?}");
    }
}

#[test]
fn an_ipv6_address_is_verified() {
    let authority = Authority::new("ours");
    let tls = Some(server_config(&authority.server(&["::1"]), &[&TLS13], ClientAuth::None));
    let options = Options { address: Ipv6Addr::LOCALHOST.into(), tls, ..Options::default() };
    let server = Server::bind(options, |_, _| success_response());
    server.open();
    let mut plan = plan(server.port, &json!({"ca_file": path_text(&authority.file())}));
    plan["target"]["hosts"][0]["host"] = "::1".into();
    assert_succeeds(&plan);
    assert!(server.requests()[0].headers.contains(&format!("host: [::1]:{}", server.port)));
}

#[test]
fn an_invalid_certificate_is_rejected_with_the_reason_unless_verification_is_off() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let ca = path_text(&ours.file());
    let here = &["127.0.0.1"];
    let cases = [
        (theirs.server(here), "UnknownIssuer", false),
        (ours.expired_server(here), "certificate expired", false),
        (ours.server(&["elsewhere.example"]), "not valid for name", true),
    ];
    for (issued, said, only_the_name_is_wrong) in cases {
        let server = Server::start_tls(server_config(&issued, &[&TLS12, &TLS13], ClientAuth::None));
        let reason = connect_error(&plan(server.port, &json!({"ca_file": ca})));
        assert!(reason.starts_with("TLS: ") && reason.contains(said), "{reason}");
        let any_name = plan(server.port, &json!({"ca_file": ca, "verify_host": false}));
        if only_the_name_is_wrong {
            assert_succeeds(&any_name);
        } else {
            assert!(connect_error(&any_name).contains(said));
        }
        // Without verification, no file is read.
        assert_succeeds(&plan(server.port, &json!({"ca_file": "/nowhere", "verify": false})));
    }
}

#[test]
fn a_pinned_certificate_needs_no_authority_but_its_dates_and_name_are_verified() {
    let authority = Authority::new("theirs");
    let here = &["127.0.0.1"];
    let cases = [
        (self_signed(here, 2200), None),
        (authority.server(here), None),
        (self_signed(&["elsewhere.example"], 2200), Some("not valid for name")),
        (self_signed(here, 2020), Some("certificate expired")),
    ];
    for (issued, said) in cases {
        let server = Server::start_tls(server_config(&issued, &[&TLS12, &TLS13], ClientAuth::None));
        let file = authority.write("own.pem", &issued.certificate.pem());
        let plan = plan(server.port, &json!({"ca_file": path_text(&file)}));
        if let Some(said) = said {
            assert!(connect_error(&plan).contains(said));
        } else {
            assert_succeeds(&plan);
        }
    }
    let server = Server::start_tls(server_config(&self_signed(here, 2200), &[&TLS13], ClientAuth::None));
    connect_error(&plan(server.port, &json!({"ca_file": path_text(&authority.file())})));
}

#[test]
fn a_pinned_host_certificate_is_not_accepted_as_an_issuer() {
    for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa] {
        let host = Authority::with_constraint("host.example", is_ca);
        let server = Server::start_tls(server_config(
            &host.server(&["127.0.0.1"]),
            &[&TLS12, &TLS13],
            ClientAuth::None,
        ));
        let reason = connect_error(&plan(server.port, &json!({"ca_file": path_text(&host.file())})));
        assert!(reason.contains("UnknownIssuer"), "{reason}");
    }
}

#[test]
fn a_proxy_is_verified_even_if_hosts_are_not_and_receives_no_client_certificate() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let client = ours.client(KeyPair::generate().unwrap());
    let certificate = ours.write("client.pem", &(client.certificate.pem() + &client.key.serialize_pem()));
    let issued = ours.server(&["127.0.0.1"]);
    let plan_with_proxy = |server: &Server, tls: &Value| {
        let mut plan = plan(server.port, tls);
        plan["target"]["hosts"][0]["scheme"] = "http".into();
        plan["target"]["hosts"][0]["proxy"] =
            json!({"scheme": "https", "host": "127.0.0.1", "port": server.port, "authorization": null});
        plan
    };
    let server = Server::start_tls(server_config(&issued, &[&TLS12, &TLS13], ClientAuth::None));
    let settings = json!({"ca_file": path_text(&ours.file()), "verify": false, "server_name": "es.example"});
    assert_succeeds(&plan_with_proxy(&server, &settings));
    let line = server.requests()[0].line.clone();
    assert!(line.contains(&format!(" http://127.0.0.1:{}/", server.port)), "{line}");
    let settings = json!({"ca_file": path_text(&theirs.file()), "verify": false, "verify_host": false});
    let reason = connect_error(&plan_with_proxy(&server, &settings));
    assert!(reason.starts_with(&format!("TLS: proxy 127.0.0.1:{}: ", server.port)), "{reason}");
    assert!(reason.contains("UnknownIssuer"), "{reason}");
    let requesting = Server::start_tls(server_config(&issued, &[&TLS12], ClientAuth::Required(&ours)));
    let settings = json!({"ca_file": path_text(&ours.file()), "client_cert": path_text(&certificate)});
    connect_error(&plan_with_proxy(&requesting, &settings));
    assert_succeeds(&plan(requesting.port, &settings));
}

#[test]
fn the_server_name_of_the_plan_is_sent_and_verified() {
    let authority = Authority::new("ours");
    let server = Server::start_tls(server_config(
        &authority.server(&["es.example"]),
        &[&TLS12, &TLS13],
        ClientAuth::None,
    ));
    let settings = |name: &str| json!({"ca_file": path_text(&authority.file()), "server_name": name});
    assert_succeeds(&plan(server.port, &settings("es.example")));
    assert_eq!(server.handshakes()[0].server_name.as_deref(), Some("es.example"));
    assert!(connect_error(&plan(server.port, &settings("other.example"))).contains("not valid for name"));
    let error = start_error(&plan(server.port, &settings("no name")));
    assert_eq!(error, "\"no name\" is not a name that a certificate can be issued for");
}

#[test]
fn a_client_certificate_is_presented_with_keys_in_any_form() {
    let authority = Authority::new("ours");
    let ca = path_text(&authority.file());
    let elliptic = authority.client(KeyPair::generate().unwrap());
    // ring does not generate RSA keys.
    let rsa = authority.client(KeyPair::from_pem(include_str!("rsa-key.pem")).unwrap());
    let forms = [
        (&elliptic, elliptic.key.serialize_pem()),
        (&elliptic, traditional_key(&elliptic.key, "EC PRIVATE KEY")),
        (&rsa, traditional_key(&rsa.key, "RSA PRIVATE KEY")),
    ];
    let issued = authority.server(&["127.0.0.1"]);
    for version in [&TLS12, &TLS13] {
        let server = Server::start_tls(server_config(&issued, &[version], ClientAuth::Required(&authority)));
        for (client, key) in &forms {
            let certificate = authority.write("client.pem", &client.certificate.pem());
            let key_file = authority.write("key.pem", key);
            let apart = json!({"ca_file": ca, "client_cert": path_text(&certificate), "client_key": path_text(&key_file)});
            assert_succeeds(&plan(server.port, &apart));
            let both = authority.write("both.pem", &format!("{}{key}", client.certificate.pem()));
            assert_succeeds(&plan(server.port, &json!({"ca_file": ca, "client_cert": path_text(&both)})));
        }
        assert!(server.handshakes().iter().all(|handshake| handshake.has_client_certificate));
    }
}

#[test]
fn a_missing_or_unknown_client_certificate_is_reported() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let ca = path_text(&ours.file());
    let stranger = theirs.client(KeyPair::generate().unwrap());
    let stranger = format!("{}{}", stranger.certificate.pem(), stranger.key.serialize_pem());
    let stranger = path_text(&theirs.write("both.pem", &stranger));
    for version in [&TLS12, &TLS13] {
        let server = Server::start_tls(server_config(
            &ours.server(&["127.0.0.1"]),
            &[version],
            ClientAuth::Required(&ours),
        ));
        let reason = connect_error(&plan(server.port, &json!({"ca_file": ca})));
        assert!(reason.contains("CertificateRequired"), "{reason}");
        let reason = connect_error(&plan(server.port, &json!({"ca_file": ca, "client_cert": stranger})));
        assert!(reason.contains("fatal alert"), "{reason}");
    }
}

#[test]
fn a_server_without_tls_is_recognized() {
    let authority = Authority::new("ours");
    let settings = json!({"ca_file": path_text(&authority.file())});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let reason = connect_error(&plan(port, &settings));
    assert!(reason.contains("InvalidContentType"), "{reason}");
    // A client without TLS receives no HTTP from a TLS server.
    let server =
        Server::start_tls(server_config(&authority.server(&["127.0.0.1"]), &[&TLS13], ClientAuth::None));
    let race = run(&support::plan(server.port, &[request_task("search", 1, 1)]));
    assert_eq!(race.task("search").errors[0].error_class, "protocol");
}

fn start_error(plan: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::from_json(&plan.to_string()).unwrap();
    let race = Race::start(plan, folder.path(), ResponseMemory::default());
    race.expect_err("the race started").to_string()
}

#[test]
fn unusable_files_are_reported_before_the_race_without_their_content() {
    let authority = Authority::new("ours");
    let ca = path_text(&authority.file());
    let client = authority.client(KeyPair::generate().unwrap());
    let certificate = path_text(&authority.write("client.pem", &client.certificate.pem()));
    let key = client.key.serialize_pem();
    let secret = key.lines().nth(1).unwrap();
    let file = |name: &str, content: &str| path_text(&authority.write(name, content));
    let empty = file("empty.pem", "nothing\n");
    let truncated = file("truncated.pem", &key.replace("-----END", "-----"));
    let odd = file("odd.pem", &key.replace(&secret[..4], "{%!}"));
    let locked = file("locked.pem", &key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"));
    let other = file("other.pem", &KeyPair::generate().unwrap().serialize_pem());
    let with_key = |key: &str| json!({"ca_file": ca, "client_cert": certificate, "client_key": key});
    let cases = [
        (json!({"ca_file": "/no/such.pem"}), "/no/such.pem", "No such file"),
        (json!({"ca_file": empty}), empty.as_str(), "it contains no certificate"),
        (json!({"ca_file": ca, "client_cert": certificate}), &certificate, "it contains no private key"),
        (with_key("/no/key.pem"), "/no/key.pem", "No such file"),
        (with_key(&empty), &empty, "it contains no private key"),
        (with_key(&truncated), &truncated, "the private key in it is not valid PEM"),
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
    // Without TLS, no file is read.
    let server = Server::start(|_, _| Some(success_response()));
    let mut plain = plan(server.port, &json!({"ca_file": "/no/such.pem"}));
    plain["target"]["hosts"][0]["scheme"] = "http".into();
    assert_succeeds(&plain);
}
