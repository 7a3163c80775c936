//! Whom a cluster's hosts must be vouched for by, and what they are shown: the configuration of TLS, built once per
//! cluster and shared by all of its connections, which resume each other's sessions.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pacenote_plan::TlsOptions;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, DigitallySignedStruct, InconsistentKeys, ProtocolVersion, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Why TLS cannot be spoken as the plan has it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// A file is not what it should be. What is in it is not shown, it may be secret.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody is trusted.
    #[error("this system trusts no authority{0}: name the file of the cluster's one with ca_certs")]
    Nobody(String),
    /// A host's name is none.
    #[error("{0:?} is no name that a certificate could be made out to")]
    Name(String),
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
}

/// Those whom the system trusts, loaded when they are asked for first.
#[derive(Debug, Default)]
pub struct SystemRoots(Option<Arc<RootCertStore>>);

impl SystemRoots {
    fn get(&mut self) -> Result<Arc<RootCertStore>, TrustError> {
        if let Some(known) = &self.0 {
            return Ok(Arc::clone(known));
        }
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
            return Err(TrustError::Nobody(why));
        }
        Ok(Arc::clone(self.0.insert(Arc::new(roots))))
    }
}

/// See the module documentation.
#[derive(Debug, Clone)]
pub struct Trust {
    config: Arc<ClientConfig>,
    server_name: Option<String>,
    badge: Arc<Badge>,
}

impl Trust {
    /// Trust in the hosts of a cluster. Reads the files.
    ///
    /// # Errors
    ///
    /// When one of them is not what it should be, or nobody is trusted.
    pub fn of_hosts(tls: &TlsOptions, system: &mut SystemRoots) -> Result<Self, TrustError> {
        let ca_file = tls.ca_file.as_deref();
        Self::new(tls, if tls.verify { Some(Trusted::new(ca_file, system)?) } else { None })
    }

    /// Trust in the proxies before them: those whom the system trusts, or the cluster's file names, are verified
    /// whatever is held of the hosts, and are not shown who the client is.
    ///
    /// # Errors
    ///
    /// As [`Trust::of_hosts`].
    pub fn of_proxies(tls: &TlsOptions, system: &mut SystemRoots) -> Result<Self, TrustError> {
        let mut trusted = Trusted::new(tls.ca_file.as_deref(), system)?;
        if tls.ca_file.is_some()
            && let Ok(others) = system.get()
        {
            trusted.roots = Arc::new(trusted.roots.roots.iter().chain(&others.roots).cloned().collect());
        }
        let own = TlsOptions {
            client_cert: None,
            client_key: None,
            server_name: None,
            verify_host: true,
            ..tls.clone()
        };
        Self::new(&own, Some(trusted))
    }

    fn new(tls: &TlsOptions, trusted: Option<Trusted>) -> Result<Self, TrustError> {
        let provider = Arc::new(default_provider());
        let shown = tls.client_cert.as_ref();
        let shown = shown.map(|path| certified(path, tls.client_key.as_ref(), &provider)).transpose()?;
        let badge = Arc::new(Badge { shown: shown.map(Arc::new), asked: AtomicBool::new(false) });
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TrustError::Setup)?;
        let judge = Judge { trusted, names: tls.verify_host, provider };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(judge));
        let config = builder.with_client_cert_resolver(Arc::clone(&badge) as Arc<dyn ResolvesClientCert>);
        let server_name = tls.server_name.clone();
        Ok(Self { config: Arc::new(config), server_name, badge })
    }

    /// TLS with a peer; the name that the plan gives hosts counts more than their own.
    ///
    /// # Errors
    ///
    /// When its name is none.
    pub fn with(&self, peer: &str) -> Result<Layer, TrustError> {
        let name = self.server_name.as_deref().unwrap_or(peer);
        let server = ServerName::try_from(name.to_owned()).map_err(|_| TrustError::Name(name.to_owned()))?;
        Ok(Layer { config: Arc::clone(&self.config), server, badge: Arc::clone(&self.badge) })
    }
}

/// TLS with one peer.
#[derive(Debug, Clone)]
pub struct Layer {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
    badge: Arc<Badge>,
}

impl Layer {
    /// Shakes hands.
    ///
    /// # Errors
    ///
    /// As [`tls_error`] tells it.
    pub async fn shake<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        TlsConnector::from(Arc::clone(&self.config)).connect(self.server.clone(), stream).await
    }

    /// Whether the peer has yet to say what it thinks of the client's certificate: in TLS 1.3 it does so after the
    /// handshake.
    pub fn awaits_verdict<S>(&self, stream: &TlsStream<S>) -> bool {
        let version = stream.get_ref().1.protocol_version();
        version == Some(ProtocolVersion::TLSv1_3) && self.badge.asked.load(Ordering::Relaxed)
    }
}

/// What TLS says is wrong, if it was TLS that failed.
#[must_use]
pub fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// The client's certificate, and whether any host has asked for it.
#[derive(Debug)]
struct Badge {
    shown: Option<Arc<CertifiedKey>>,
    asked: AtomicBool,
}

impl ResolvesClientCert for Badge {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.shown.clone()
    }

    fn has_certs(&self) -> bool {
        // Otherwise it is not even asked, and nobody would know that a host wanted one.
        true
    }
}

/// Whom the user trusts.
#[derive(Debug)]
struct Trusted {
    roots: Arc<RootCertStore>,
    /// What is in the user's file: a host that shows one of these certificates needs no authority. Otherwise one that
    /// vouches for itself could not be trusted if it also says that it is an authority, as OpenSSL makes them.
    listed: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn new(ca_file: Option<&str>, system: &mut SystemRoots) -> Result<Self, TrustError> {
        let Some(path) = ca_file else { return Ok(Self { roots: system.get()?, listed: Vec::new() }) };
        let listed = certificates(path)?;
        let mut roots = RootCertStore::empty();
        for (number, certificate) in listed.iter().enumerate().filter(|(_, listed)| may_vouch(listed)) {
            let bad = |error| wrong(path, format!("certificate {} cannot be read: {error}", number + 1));
            roots.add(certificate.clone()).map_err(bad)?;
        }
        Ok(Self { roots: Arc::new(roots), listed })
    }

    /// Whether it does not matter that no authority vouches for a certificate; its dates still do, and its purpose
    /// unless it says that it is an authority.
    fn itself(&self, certificate: &CertificateDer<'_>, error: &rustls::Error) -> bool {
        use rustls::CertificateError::{Other, UnknownIssuer};
        matches!(error, rustls::Error::InvalidCertificate(UnknownIssuer | Other(_)))
            && self.listed.contains(certificate)
    }
}

/// Whether a certificate of the user's file vouches for others too. A host's own does not: the library would take it
/// for an authority's, and whoever has the key of one host could pass for all. Nor does one that is not valid now.
fn may_vouch(certificate: &CertificateDer<'_>) -> bool {
    // One of version 1 cannot say. What cannot be read at all is complained about by the store.
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return true };
    let algorithms = default_provider().signature_verification_algorithms.all;
    let nobody = RootCertStore::empty();
    let judged =
        verify_server_cert_signed_by_trust_anchor(&parsed, &nobody, &[], UnixTime::now(), algorithms);
    // Taken for a host's, an authority's is refused for what it is before anybody asks who vouches for it.
    matches!(judged, Err(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(_))))
}

/// Trusts as the user says, which may be more than it should.
#[derive(Debug)]
struct Judge {
    /// `None`: anybody.
    trusted: Option<Trusted>,
    /// Whether certificates must be made out to the host's name.
    names: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(trusted) = &self.trusted else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        let roots = &trusted.roots;
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, intermediates, now, algorithms)
            .or_else(|error| if trusted.itself(certificate, &error) { Ok(()) } else { Err(error) })?;
        if self.names {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(|provider| {
            verify_tls12_signature(
                message,
                certificate,
                signature,
                &provider.signature_verification_algorithms,
            )
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(|provider| {
            verify_tls13_signature(
                message,
                certificate,
                signature,
                &provider.signature_verification_algorithms,
            )
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Judge {
    /// Whoever may show any certificate proves nothing with its key; some that only this lets through, such as those
    /// of X.509 version 1, could not even be read.
    fn signature(
        &self,
        verify: impl FnOnce(&CryptoProvider) -> Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.trusted.is_some() { verify(&self.provider) } else { Ok(HandshakeSignatureValid::assertion()) }
    }
}

fn wrong(path: &str, reason: impl Into<String>) -> TrustError {
    TrustError::File { path: path.to_owned(), reason: reason.into() }
}

fn read(path: &str) -> Result<Vec<u8>, TrustError> {
    fs::read(path).map_err(|error| wrong(path, error.to_string()))
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|_| wrong(path, "a certificate in it is no PEM"))?;
    if found.is_empty() {
        return Err(wrong(path, "there is no certificate in it (in PEM form)"));
    }
    Ok(found)
}

/// The client's certificate with its key, which may be in the same file.
fn certified(
    path: &str,
    key: Option<&String>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TrustError> {
    let chain = certificates(path)?;
    let key_path = key.map_or(path, String::as_str);
    let found = private_key(key_path)?;
    CertifiedKey::from_der(chain, found, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            wrong(key_path, format!("the private key does not belong to the certificate in {path}"))
        }
        rustls::Error::InvalidCertificate(problem) => {
            wrong(path, format!("the certificate cannot be read: {problem:?}"))
        }
        _ => wrong(key_path, "the private key is neither RSA, ECDSA nor Ed25519"),
    })
}

/// Says what is wrong without a word of what is in the file.
fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, TrustError> {
    let text = read(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let encrypted = memchr::memmem::find(&text, b"ENCRYPTED").is_some();
        wrong(
            path,
            match error {
                _ if encrypted => "the private key is encrypted: decrypt it, for example with openssl pkey",
                PemError::NoItemsFound => {
                    "there is no private key in it (PKCS#8, PKCS#1 or SEC1 in PEM form)"
                }
                _ => "the private key in it is no PEM",
            },
        )
    })
}
