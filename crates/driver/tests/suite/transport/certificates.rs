//! Certificate authorities, the certificates they issue, and the configuration of TLS servers that use them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

/// A certificate authority with a folder for its files.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub folder: tempfile::TempDir,
}

/// A certificate with its key.
pub struct Issued {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        Self::with(name, IsCa::Ca(BasicConstraints::Unconstrained))
    }

    /// Creates an issuer whose own certificate has the given CA constraint.
    pub fn with_constraint(name: &str, is_ca: IsCa) -> Self {
        Self::with(name, is_ca)
    }

    fn with(name: &str, is_ca: IsCa) -> Self {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = is_ca;
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer, folder: tempfile::tempdir().unwrap() }
    }

    /// Writes the authority's own certificate to a file.
    pub fn file(&self) -> PathBuf {
        self.write("ca.pem", &self.issuer.pem())
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn server(&self, names: &[&str]) -> Issued {
        self.issue(names, ExtendedKeyUsagePurpose::ServerAuth, 2200, KeyPair::generate().unwrap())
    }

    pub fn expired_server(&self, names: &[&str]) -> Issued {
        self.issue(names, ExtendedKeyUsagePurpose::ServerAuth, 2020, KeyPair::generate().unwrap())
    }

    pub fn client(&self, key: KeyPair) -> Issued {
        self.issue(&["client"], ExtendedKeyUsagePurpose::ClientAuth, 2200, key)
    }

    fn issue(&self, names: &[&str], purpose: ExtendedKeyUsagePurpose, until: i32, key: KeyPair) -> Issued {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![purpose];
        params.not_before = date_time_ymd(2010, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate, key }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        Arc::new(roots)
    }
}

/// Creates a self-signed certificate that is marked as an authority, like those that OpenSSL creates.
pub fn self_signed(names: &[&str], until: i32) -> Issued {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2010, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Issued { certificate, key }
}

/// Whether a server requests a client certificate.
#[derive(Clone, Copy)]
pub enum ClientAuth<'a> {
    None,
    /// Requires a certificate issued by this authority.
    Required(&'a Authority),
}

/// Configures a TLS server that sends no session tickets, so that only handshakes, requests and responses are on the
/// wire.
pub fn server_config(
    issued: &Issued,
    versions: &[&'static SupportedProtocolVersion],
    client_auth: ClientAuth<'_>,
) -> ServerConfig {
    let provider = Arc::new(default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions).unwrap();
    let builder = match client_auth {
        ClientAuth::None => builder.with_no_client_auth(),
        ClientAuth::Required(authority) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(authority.roots(), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(issued.key.serialize_der()).unwrap();
    let mut config = builder.with_single_cert(vec![issued.certificate.der().clone()], key).unwrap();
    config.send_tls13_tickets = 0;
    config
}

/// Returns the key as PEM in the traditional format that PKCS#8 wraps: PKCS#1 for RSA, SEC 1 for elliptic curves.
pub fn traditional_key(key: &KeyPair, label: &str) -> String {
    use base64::Engine;
    let whole = key.serialize_der();
    // SEQUENCE { version, algorithm, OCTET STRING { the key } }
    let (_, fields, _) = element(&whole);
    let (_, _, rest) = element(fields);
    let (_, _, rest) = element(rest);
    let (tag, inner, _) = element(rest);
    assert_eq!(tag, 4);
    let text = base64::engine::general_purpose::STANDARD.encode(inner);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Returns the tag and the content of a DER element, and the bytes after it.
fn element(bytes: &[u8]) -> (u8, &[u8], &[u8]) {
    let (length, at) = match bytes[1] {
        short @ 0..0x80 => (usize::from(short), 2),
        long => {
            let digits = usize::from(long & 0x7f);
            (bytes[2..2 + digits].iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), 2 + digits)
        }
    };
    (bytes[0], &bytes[at..at + length], &bytes[at + length..])
}

/// Returns a path as text, as it appears in the plan.
pub fn path_text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
