//! TLS configuration: the accepted authorities and the client certificate. It is built once per cluster and shared by
//! all of its connections, which can therefore resume each other's sessions.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pacenote_plan::TlsOptions;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, DigitallySignedStruct, InconsistentKeys, ProtocolVersion, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::client::TlsStream;

/// An error from configuring TLS as specified in the plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsSettingsError {
    /// A file cannot be used. Its content is not shown, because it may be secret.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The system has no certificate authorities.
    #[error(
        "this system has no certificate authorities{0}: specify the file with the cluster's authority in ca_certs"
    )]
    NoAuthorities(String),
    /// The name of a host cannot be verified.
    #[error("{0:?} is not a name that a certificate can be issued for")]
    ServerName(String),
    /// The TLS library rejects the configuration.
    #[error("TLS cannot be configured: {0}")]
    Config(rustls::Error),
}

/// The system's certificate authorities, loaded when first needed.
#[derive(Debug, Default)]
pub struct SystemRoots(Option<Arc<RootCertStore>>);

impl SystemRoots {
    fn get(&mut self) -> Result<Arc<RootCertStore>, TlsSettingsError> {
        if let Some(loaded) = &self.0 {
            return Ok(Arc::clone(loaded));
        }
        let native = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(native.certs);
        if roots.is_empty() {
            let cause = native.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
            return Err(TlsSettingsError::NoAuthorities(cause));
        }
        Ok(Arc::clone(self.0.insert(Arc::new(roots))))
    }
}

/// TLS settings for the hosts of a cluster, or for its proxies.
#[derive(Debug, Clone)]
pub struct TlsSettings {
    config: Arc<ClientConfig>,
    server_name: Option<String>,
    client_cert: Arc<ClientCertResolver>,
}

impl TlsSettings {
    /// Reads the certificate files and creates the settings for the hosts of a cluster.
    ///
    /// # Errors
    ///
    /// [`TlsSettingsError`] if a file cannot be used, or no authority is accepted.
    pub fn for_hosts(tls: &TlsOptions, system: &mut SystemRoots) -> Result<Self, TlsSettingsError> {
        let ca_file = tls.ca_file.as_deref();
        Self::new(tls, if tls.verify { Some(TrustAnchors::new(ca_file, system)?) } else { None })
    }

    /// Creates the settings for the proxies of a cluster. Their certificates are verified, even if those of the hosts
    /// are not, against the system's authorities and those in the cluster's file. The client certificate is not sent to
    /// proxies.
    ///
    /// # Errors
    ///
    /// The errors of [`TlsSettings::for_hosts`].
    pub fn for_proxies(tls: &TlsOptions, system: &mut SystemRoots) -> Result<Self, TlsSettingsError> {
        let mut anchors = TrustAnchors::new(tls.ca_file.as_deref(), system)?;
        if tls.ca_file.is_some()
            && let Ok(system_roots) = system.get()
        {
            anchors.roots =
                Arc::new(anchors.roots.roots.iter().chain(&system_roots.roots).cloned().collect());
        }
        let proxy_tls = TlsOptions {
            client_cert: None,
            client_key: None,
            server_name: None,
            verify_host: true,
            ..tls.clone()
        };
        Self::new(&proxy_tls, Some(anchors))
    }

    fn new(tls: &TlsOptions, anchors: Option<TrustAnchors>) -> Result<Self, TlsSettingsError> {
        let provider = Arc::new(default_provider());
        let path = tls.client_cert.as_ref();
        let key =
            path.map(|path| client_certificate(path, tls.client_key.as_ref(), &provider)).transpose()?;
        let requested = AtomicBool::new(false);
        let client_cert = Arc::new(ClientCertResolver { key: key.map(Arc::new), requested });
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsSettingsError::Config)?;
        let verifier = CertVerifier { anchors, verify_names: tls.verify_host, provider };
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let resolver = Arc::clone(&client_cert) as Arc<dyn ResolvesClientCert>;
        let config = builder.with_client_cert_resolver(resolver);
        Ok(Self { config: Arc::new(config), server_name: tls.server_name.clone(), client_cert })
    }

    /// Returns a connector for one host. The server name in the plan, if there is one, is used instead of the host's
    /// name.
    ///
    /// # Errors
    ///
    /// [`TlsSettingsError::ServerName`] if no certificate can be issued for the name.
    pub fn connector(&self, host: &str) -> Result<TlsConnector, TlsSettingsError> {
        let name = self.server_name.as_deref().unwrap_or(host);
        let server_name = ServerName::try_from(name.to_owned())
            .map_err(|_| TlsSettingsError::ServerName(name.to_owned()))?;
        let client_cert = Arc::clone(&self.client_cert);
        Ok(TlsConnector { config: Arc::clone(&self.config), server_name, client_cert })
    }
}

/// Opens TLS sessions with one host.
#[derive(Debug, Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    client_cert: Arc<ClientCertResolver>,
}

impl TlsConnector {
    /// Performs the handshake.
    ///
    /// # Errors
    ///
    /// The operating system's error, or a TLS error: see [`tls_error`].
    pub async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&self.config));
        connector.connect(self.server_name.clone(), stream).await
    }

    /// Returns whether the host has yet to accept or reject the client certificate: in TLS 1.3, it does so after the
    /// handshake.
    pub fn awaits_client_auth<S>(&self, stream: &TlsStream<S>) -> bool {
        let version = stream.get_ref().1.protocol_version();
        version == Some(ProtocolVersion::TLSv1_3) && self.client_cert.requested.load(Ordering::Relaxed)
    }
}

/// Returns the TLS error inside an I/O error, if there is one.
#[must_use]
pub fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// The client certificate, and whether any host has requested one.
#[derive(Debug)]
struct ClientCertResolver {
    key: Option<Arc<CertifiedKey>>,
    requested: AtomicBool,
}

impl ResolvesClientCert for ClientCertResolver {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.requested.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        // If this were `false`, rustls would not call `resolve`, and a request for a certificate would go unnoticed.
        true
    }
}

/// The certificates that are accepted.
#[derive(Debug)]
struct TrustAnchors {
    roots: Arc<RootCertStore>,
    /// All certificates in the user's file. A host that presents one of them needs no authority; otherwise, self-signed
    /// certificates that are marked as authorities, like those created by OpenSSL, would not be accepted.
    pinned: Vec<CertificateDer<'static>>,
}

impl TrustAnchors {
    fn new(ca_file: Option<&str>, system: &mut SystemRoots) -> Result<Self, TlsSettingsError> {
        let Some(path) = ca_file else { return Ok(Self { roots: system.get()?, pinned: Vec::new() }) };
        let pinned = read_certificates(path)?;
        let mut roots = RootCertStore::empty();
        for (index, certificate) in pinned.iter().enumerate().filter(|(_, pinned)| is_authority(pinned)) {
            let unreadable =
                |error| file_error(path, format!("certificate {} cannot be read: {error}", index + 1));
            roots.add(certificate.clone()).map_err(unreadable)?;
        }
        Ok(Self { roots: Arc::new(roots), pinned })
    }

    /// Returns whether a certificate is accepted although no authority has issued it. Its validity period has already
    /// been verified, and so has its purpose unless it is marked as an authority.
    fn is_pinned(&self, certificate: &CertificateDer<'_>, error: &rustls::Error) -> bool {
        use rustls::CertificateError::{Other, UnknownIssuer};
        matches!(error, rustls::Error::InvalidCertificate(UnknownIssuer | Other(_)))
            && self.pinned.contains(certificate)
    }
}

/// Returns whether a certificate in the user's file is that of a valid authority. A host's certificate must not become
/// an anchor: webpki accepts any anchor as an issuer, so the key of one host could be used to impersonate all others.
fn is_authority(certificate: &CertificateDer<'_>) -> bool {
    // X.509 version 1 certificates are never marked as authorities, and this parser rejects them. The root store
    // reports certificates that cannot be read at all.
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return true };
    let algorithms = default_provider().signature_verification_algorithms.all;
    let no_roots = RootCertStore::empty();
    let verified =
        verify_server_cert_signed_by_trust_anchor(&parsed, &no_roots, &[], UnixTime::now(), algorithms);
    // webpki rejects an authority as a server certificate before it searches for the issuer.
    matches!(verified, Err(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(_))))
}

/// Verifies server certificates as strictly as the plan requires.
#[derive(Debug)]
struct CertVerifier {
    /// `None` accepts every certificate.
    anchors: Option<TrustAnchors>,
    /// Whether certificates must be issued for the name of the host.
    verify_names: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for CertVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(anchors) = &self.anchors else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        let roots = &anchors.roots;
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, intermediates, now, algorithms)
            .or_else(|error| if anchors.is_pinned(certificate, &error) { Ok(()) } else { Err(error) })?;
        if self.verify_names {
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
        self.verify_signature(|algorithms| {
            verify_tls12_signature(message, certificate, signature, algorithms)
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify_signature(|algorithms| {
            verify_tls13_signature(message, certificate, signature, algorithms)
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl CertVerifier {
    /// Verifies a signature, unless every certificate is accepted: in that case a signature proves nothing, and the
    /// keys of some certificates, such as X.509 version 1 certificates, cannot be read.
    fn verify_signature(
        &self,
        verify: impl FnOnce(&WebPkiSupportedAlgorithms) -> Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        if self.anchors.is_some() { verify(algorithms) } else { Ok(HandshakeSignatureValid::assertion()) }
    }
}

fn file_error(path: &str, reason: impl Into<String>) -> TlsSettingsError {
    TlsSettingsError::File { path: path.to_owned(), reason: reason.into() }
}

fn read_file(path: &str) -> Result<Vec<u8>, TlsSettingsError> {
    fs::read(path).map_err(|error| file_error(path, error.to_string()))
}

fn read_certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, TlsSettingsError> {
    let text = read_file(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = certificates.map_err(|_| file_error(path, "a certificate in it is not valid PEM"))?;
    if certificates.is_empty() {
        return Err(file_error(path, "it contains no certificate (PEM)"));
    }
    Ok(certificates)
}

/// Returns the client certificate with its key, which may be in the same file.
fn client_certificate(
    path: &str,
    key: Option<&String>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsSettingsError> {
    let chain = read_certificates(path)?;
    let key_path = key.map_or(path, String::as_str);
    let key = read_private_key(key_path)?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            file_error(key_path, format!("the private key does not belong to the certificate in {path}"))
        }
        rustls::Error::InvalidCertificate(problem) => {
            file_error(path, format!("the certificate cannot be read: {problem:?}"))
        }
        _ => file_error(key_path, "the private key is neither RSA, ECDSA nor Ed25519"),
    })
}

/// Reads a private key. Errors never contain the file's content.
fn read_private_key(path: &str) -> Result<PrivateKeyDer<'static>, TlsSettingsError> {
    let text = read_file(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let encrypted = memchr::memmem::find(&text, b"ENCRYPTED").is_some();
        file_error(
            path,
            match error {
                _ if encrypted => "the private key is encrypted: decrypt it, for example with openssl pkey",
                PemError::NoItemsFound => "it contains no private key (PEM: PKCS#8, PKCS#1 or SEC1)",
                _ => "the private key in it is not valid PEM",
            },
        )
    })
}
