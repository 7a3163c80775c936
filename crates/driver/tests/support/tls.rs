//! An authority, those it vouches for, and a server that speaks TLS with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};

use crate::support::server::read_request;
use crate::support::{Seen, good};

/// An authority with a folder for what it writes.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub folder: tempfile::TempDir,
}

/// A certificate that an authority made out, with its key.
pub struct Vouched {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        Self::with(name, IsCa::Ca(BasicConstraints::Unconstrained))
    }

    /// Somebody who signs without being an authority.
    pub fn none(name: &str, is_ca: IsCa) -> Self {
        Self::with(name, is_ca)
    }

    fn with(name: &str, is_ca: IsCa) -> Self {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = is_ca;
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer, folder: tempfile::tempdir().unwrap() }
    }

    /// Its own certificate, in a file.
    pub fn file(&self) -> PathBuf {
        self.write("ca.pem", &self.issuer.pem())
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn server(&self, names: &[&str]) -> Vouched {
        self.vouch(names, ExtendedKeyUsagePurpose::ServerAuth, 2200, KeyPair::generate().unwrap())
    }

    pub fn expired_server(&self, names: &[&str]) -> Vouched {
        self.vouch(names, ExtendedKeyUsagePurpose::ServerAuth, 2020, KeyPair::generate().unwrap())
    }

    pub fn client(&self, key: KeyPair) -> Vouched {
        self.vouch(&["client"], ExtendedKeyUsagePurpose::ClientAuth, 2200, key)
    }

    fn vouch(&self, names: &[&str], purpose: ExtendedKeyUsagePurpose, until: i32, key: KeyPair) -> Vouched {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![purpose];
        params.not_before = date_time_ymd(2010, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Vouched { certificate, key }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        Arc::new(roots)
    }
}

/// A certificate that vouches for itself, and says that it is an authority, as OpenSSL makes them.
pub fn own(names: &[&str], until: i32) -> Vouched {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2010, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Vouched { certificate, key }
}

/// What a server asks of its clients.
#[derive(Clone, Copy)]
pub enum Asks<'a> {
    Nothing,
    /// A certificate of this authority.
    Certificate(&'a Authority),
}

/// How a server speaks TLS. It sends no tickets, so that what crosses the wire is handshakes and requests alone.
pub fn config(
    vouched: &Vouched,
    versions: &[&'static SupportedProtocolVersion],
    asks: Asks<'_>,
) -> ServerConfig {
    let provider = Arc::new(default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions).unwrap();
    let builder = match asks {
        Asks::Nothing => builder.with_no_client_auth(),
        Asks::Certificate(authority) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(authority.roots(), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(vouched.key.serialize_der()).unwrap();
    let mut config = builder.with_single_cert(vec![vouched.certificate.der().clone()], key).unwrap();
    config.send_tls13_tickets = 0;
    config
}

/// What a server has seen.
#[derive(Default)]
pub struct Log {
    pub seen: Vec<Seen>,
    /// Of every connection that shook hands: the name that was asked for, and whether the client showed a certificate.
    pub greeted: Vec<(Option<String>, bool)>,
    /// Bytes that came after the handshakes, as they crossed the socket.
    pub bytes_in: u64,
    /// Bytes that went out after the handshakes, likewise.
    pub bytes_out: u64,
}

/// A server that runs until the test's process ends.
pub struct TlsServer {
    pub port: u16,
    log: Arc<Mutex<Log>>,
}

impl TlsServer {
    /// Listens at an address and answers every request well.
    pub fn start_at(address: &str, config: ServerConfig) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let log: Arc<Mutex<Log>> = Arc::default();
        let (theirs, config) = (Arc::clone(&log), Arc::new(config));
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (log, config) = (Arc::clone(&theirs), Arc::clone(&config));
                thread::spawn(move || serve(stream.unwrap(), connection, config, &log));
            }
        });
        Self { port, log }
    }

    pub fn start(config: ServerConfig) -> Self {
        Self::start_at("127.0.0.1", config)
    }

    pub fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }
}

fn serve(tcp: TcpStream, connection: usize, config: Arc<ServerConfig>, log: &Mutex<Log>) {
    tcp.set_nodelay(true).unwrap();
    let mut socket = Records { tcp, header: Vec::new(), left: 0, bytes_in: 0, bytes_out: 0 };
    let mut tls = ServerConnection::new(config).unwrap();
    if tls.complete_io(&mut socket).is_err() {
        return;
    }
    let greeted = (tls.server_name().map(str::to_owned), tls.peer_certificates().is_some());
    log.lock().unwrap().greeted.push(greeted);
    let (mut in_before, mut out_before) = (socket.bytes_in, socket.bytes_out);
    let mut reader = BufReader::new(StreamOwned::new(tls, socket));
    while let Some(seen) = read_request(&mut reader, connection) {
        // Counted before the reply is there: nobody sees the one without the other.
        let mut log = log.lock().unwrap();
        let closes = seen.line.contains("close");
        let stream = reader.get_mut();
        stream.write_all(&good()).unwrap();
        stream.flush().unwrap();
        let socket = &stream.sock;
        log.bytes_in += socket.bytes_in - in_before;
        log.bytes_out += socket.bytes_out - out_before;
        (in_before, out_before) = (socket.bytes_in, socket.bytes_out);
        log.seen.push(seen);
        if closes {
            return;
        }
    }
}

/// Counts what crosses a socket, and reads no further than to the end of a record of TLS: what comes after the
/// handshake is not counted as a part of it.
struct Records {
    tcp: TcpStream,
    header: Vec<u8>,
    left: usize,
    bytes_in: u64,
    bytes_out: u64,
}

impl Read for Records {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = if self.left > 0 { self.left } else { 5 - self.header.len() };
        let most = room.min(into.len());
        let read = self.tcp.read(&mut into[..most])?;
        self.bytes_in += read as u64;
        if self.left > 0 {
            self.left -= read;
        } else {
            self.header.extend_from_slice(&into[..read]);
            if let [_, _, _, high, low] = self.header[..] {
                self.left = usize::from(high) << 8 | usize::from(low);
                self.header.clear();
            }
        }
        Ok(read)
    }
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.tcp.write(bytes)?;
        self.bytes_out += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

/// A key in PKCS#8 as its inner form: PKCS#1 of an RSA key, SEC1 of an elliptic one.
pub fn inner_key(key: &KeyPair, label: &str) -> String {
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

/// Tag and content of a DER element, and what follows it.
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

/// A path as a plan has it.
pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
