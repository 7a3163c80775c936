//! Connects to a host: tries its addresses, opens a tunnel through a proxy, and performs TLS handshakes. Endpoints are
//! prepared once per race.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use pacenote_plan::{Scheme, Target, TargetHost};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::host_counts::HostCounts;
use super::stream::{CountingStream, MaybeTlsStream};
use super::tls::{SystemRoots, TlsConnector, TlsSettings, TlsSettingsError, tls_error};
use crate::transport::http::{ResponseMemory, authority};

/// How long the client waits for a host to reject its certificate after a TLS 1.3 handshake.
const CLIENT_AUTH_WAIT: Duration = Duration::from_millis(100);
/// Maximum length of a proxy's response to CONNECT, in bytes.
const MAX_PROXY_RESPONSE: usize = 16 * 1024;

/// An error from opening a connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No address accepted the connection in time.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The TLS handshake failed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The proxy cannot be reached, or does not open a tunnel.
    #[error("proxy {proxy}: {reason}")]
    Proxy {
        /// Host and port of the proxy.
        proxy: String,
        /// The operating system's error, or the proxy's response.
        reason: String,
    },
}

/// An error from preparing an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// A host name cannot be resolved.
    #[error("cannot resolve {host}: {source}")]
    Resolve {
        /// Host and port.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// TLS cannot be configured.
    #[error(transparent)]
    Tls(#[from] TlsSettingsError),
    /// The host or the authorization contains a character that is not allowed in the CONNECT request. Neither is shown,
    /// because it may be secret.
    #[error("proxy {0}: the host or the authorization has a space or a control character")]
    Proxy(String),
}

/// The endpoints of a cluster, in the order of its hosts.
pub type Endpoints = Arc<[Arc<Endpoint>]>;

/// Everything that is needed to connect to one host.
#[derive(Debug)]
pub struct Endpoint {
    /// Host and port.
    authority: String,
    /// Addresses of the host, or of its proxy. They are resolved once, before the race: resolving them for each
    /// connection would use blocking threads, whose CPU time cannot be attributed to a task.
    addresses: Vec<SocketAddr>,
    proxy: Option<Proxy>,
    /// TLS with the host.
    tls: Option<TlsConnector>,
    counts: HostCounts,
    /// The memory that the responses of all clusters share.
    response_memory: Arc<ResponseMemory>,
}

/// The proxy in front of a host.
#[derive(Debug)]
struct Proxy {
    /// Host and port.
    authority: String,
    /// TLS with the proxy.
    tls: Option<TlsConnector>,
    /// The CONNECT request that opens a tunnel to the host.
    connect_request: Secret,
}

/// Bytes that are omitted from `Debug` output.
struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("…")
    }
}

/// TLS settings for the hosts of a cluster and for their proxies. Each is `None` if no host or no proxy uses TLS.
#[derive(Debug)]
struct ClusterTls {
    hosts: Option<TlsSettings>,
    proxies: Option<TlsSettings>,
}

impl Endpoint {
    /// Prepares the endpoints of all hosts of a cluster, whose responses occupy a part of this memory. Resolving names
    /// and reading files blocks the thread.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] if a name cannot be resolved or TLS cannot be configured.
    pub fn for_cluster(
        target: &Target,
        system: &mut SystemRoots,
        response_memory: &Arc<ResponseMemory>,
    ) -> Result<Endpoints, EndpointError> {
        let hosts = &target.hosts;
        let is_secure = hosts.iter().any(|host| host.scheme == Scheme::Https);
        let mut proxies = hosts.iter().filter_map(|host| host.proxy.as_ref());
        let proxy_is_secure = proxies.any(|proxy| proxy.scheme == Scheme::Https);
        let tls = ClusterTls {
            hosts: is_secure.then(|| TlsSettings::for_hosts(&target.tls, system)).transpose()?,
            proxies: proxy_is_secure.then(|| TlsSettings::for_proxies(&target.tls, system)).transpose()?,
        };
        let endpoint = |host| {
            let endpoint = Self::for_host(host, &tls)?;
            Ok(Arc::new(Self { response_memory: Arc::clone(response_memory), ..endpoint }))
        };
        hosts.iter().map(endpoint).collect()
    }

    fn for_host(host: &TargetHost, cluster_tls: &ClusterTls) -> Result<Self, EndpointError> {
        let authority_of_host = authority(&host.host, host.port);
        let settings = cluster_tls.hosts.as_ref().filter(|_| host.scheme == Scheme::Https);
        let tls = settings.map(|settings| settings.connector(&host.host)).transpose()?;
        let proxy = match &host.proxy {
            Some(proxy) => Some(Proxy::new(proxy, &authority_of_host, cluster_tls.proxies.as_ref())?),
            None => None,
        };
        let addresses = match &host.proxy {
            Some(proxy) => resolve(&proxy.host, proxy.port)?,
            None => resolve(&host.host, host.port)?,
        };
        Ok(Self { proxy, tls, authority: authority_of_host, ..Self::plain(addresses) })
    }

    /// Creates an endpoint with known addresses, without a proxy or TLS.
    #[must_use]
    pub fn plain(addresses: Vec<SocketAddr>) -> Self {
        let authority = addresses.first().map_or_else(String::new, SocketAddr::to_string);
        let (counts, response_memory) = (HostCounts::default(), Arc::default());
        Self { authority, addresses, proxy: None, tls: None, counts, response_memory }
    }

    /// Returns the host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the number of addresses of the host or, if there is one, of its proxy.
    #[must_use]
    pub fn address_count(&self) -> usize {
        self.addresses.len()
    }

    /// Returns the memory that the responses of all connections share.
    #[must_use]
    pub fn response_memory(&self) -> &Arc<ResponseMemory> {
        &self.response_memory
    }

    /// Returns what happened on the connections to the host.
    #[must_use]
    pub fn counts(&self) -> &HostCounts {
        &self.counts
    }

    /// Opens a connection before `deadline`. `first_address` is the position of the address to try first; the others
    /// are then tried in turn.
    ///
    /// # Errors
    ///
    /// [`ConnectError`].
    pub async fn connect(
        &self,
        first_address: usize,
        deadline: Instant,
    ) -> Result<MaybeTlsStream, ConnectError> {
        let connected = self.connect_tcp(first_address, deadline).await;
        let socket = connected.map_err(|error| match &self.proxy {
            None => ConnectError::Io(error),
            Some(proxy) => proxy.error(&error.to_string()),
        })?;
        let secure_proxy = self.proxy.as_ref().and_then(|proxy| Some((proxy, proxy.tls.as_ref()?)));
        let mut stream = match (secure_proxy, &self.tls) {
            (None, None) => return Ok(MaybeTlsStream::Plain(socket)),
            (Some((proxy, proxy_tls)), None) => {
                let stream = handshake(proxy_tls, socket, deadline).await;
                MaybeTlsStream::Tls(Box::new(stream.map_err(|error| proxy.tls_error(error))?))
            }
            (None, Some(tls)) => {
                let socket = self.open_tunnel(socket, deadline).await?;
                MaybeTlsStream::Tls(Box::new(handshake(tls, socket, deadline).await?))
            }
            (Some((proxy, proxy_tls)), Some(tls)) => {
                let outer = handshake(proxy_tls, socket, deadline).await;
                let outer = outer.map_err(|error| proxy.tls_error(error))?;
                let outer = self.open_tunnel(outer, deadline).await?;
                MaybeTlsStream::TlsInTls(Box::new(handshake(tls, outer, deadline).await?))
            }
        };
        if self.awaits_client_auth(&stream) {
            await_client_auth(&mut stream).await?;
        }
        Ok(stream)
    }

    async fn connect_tcp(&self, first_address: usize, deadline: Instant) -> io::Result<CountingStream> {
        let mut first_error = None;
        let (last, first) = self.addresses.split_at(first_address % self.addresses.len().max(1));
        for (address, left) in first.iter().chain(last).zip((1..=self.addresses.len()).rev()) {
            // An address that does not respond must not use up the time for the others.
            let share = deadline.saturating_duration_since(Instant::now()).div_f64(left as f64);
            match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
                Ok(tcp) => return CountingStream::new(tcp),
                Err(error) => drop(first_error.get_or_insert(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable)))
    }

    /// Opens a tunnel to the host if there is a proxy.
    async fn open_tunnel<S>(&self, mut stream: S, deadline: Instant) -> Result<S, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if let Some(proxy) = &self.proxy {
            let response = timeout_at(deadline, send_connect(&mut stream, &proxy.connect_request.0)).await;
            let status = response.map_err(|error| proxy.error(&error.to_string()))?;
            if !(200..300).contains(&status) {
                return Err(proxy.error(&format!("answers CONNECT {} with status {status}", self.authority)));
            }
        }
        Ok(stream)
    }

    fn awaits_client_auth(&self, stream: &MaybeTlsStream) -> bool {
        match (stream, &self.tls) {
            (MaybeTlsStream::Tls(stream), Some(tls)) => tls.awaits_client_auth(stream),
            (MaybeTlsStream::TlsInTls(stream), Some(tls)) => tls.awaits_client_auth(stream),
            _ => false,
        }
    }
}

impl Proxy {
    fn new(
        proxy: &pacenote_plan::TargetProxy,
        host: &str,
        settings: Option<&TlsSettings>,
    ) -> Result<Self, EndpointError> {
        let own_authority = authority(&proxy.host, proxy.port);
        let mut request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\nuser-agent: pacenote\r\n");
        if let Some(authorization) = &proxy.authorization {
            request.extend(["proxy-authorization: ", authorization, "\r\n"]);
        }
        request.push_str("\r\n");
        let authorization = proxy.authorization.as_deref().unwrap_or_default();
        if host.contains(char::is_whitespace)
            || [host, authorization].iter().any(|text| text.contains(char::is_control))
        {
            return Err(EndpointError::Proxy(own_authority));
        }
        let settings = settings.filter(|_| proxy.scheme == Scheme::Https);
        let tls = settings.map(|settings| settings.connector(&proxy.host)).transpose()?;
        Ok(Self { authority: own_authority, tls, connect_request: Secret(request.into_bytes()) })
    }

    fn error(&self, reason: &str) -> ConnectError {
        ConnectError::Proxy { proxy: self.authority.clone(), reason: reason.to_owned() }
    }

    /// Marks a TLS error as an error from the proxy, not from the host.
    fn tls_error(&self, error: ConnectError) -> ConnectError {
        match error {
            ConnectError::Tls(reason) => ConnectError::Tls(format!("proxy {}: {reason}", self.authority)),
            other => other,
        }
    }
}

fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, EndpointError> {
    let addresses = (host, port).to_socket_addrs();
    addresses
        .map(Iterator::collect)
        .map_err(|source| EndpointError::Resolve { host: authority(host, port), source })
}

async fn timeout_at<T>(deadline: Instant, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let result = tokio::time::timeout_at(deadline.into(), work).await;
    result.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn handshake<S>(
    tls: &TlsConnector,
    stream: S,
    deadline: Instant,
) -> Result<tokio_rustls::client::TlsStream<S>, ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    timeout_at(deadline, tls.handshake(stream)).await.map_err(|error| handshake_error(&error))
}

/// Maps every failed handshake to a TLS error, including a timeout and a closed connection.
fn handshake_error(error: &io::Error) -> ConnectError {
    ConnectError::Tls(match tls_error(error) {
        Some(alert) => alert.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was closed during the handshake".into()
        }
        None => format!("{error} during the handshake"),
    })
}

/// Sends a CONNECT request. Returns the status of the response.
async fn send_connect<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, request: &[u8]) -> io::Result<u16> {
    let malformed = || io::Error::other("its response to CONNECT is not HTTP/1.1");
    stream.write_all(request).await?;
    stream.flush().await?;
    let mut received = Vec::new();
    while received.len() < MAX_PROXY_RESPONSE {
        if stream.read_buf(&mut received).await? == 0 {
            return Err(io::Error::other("it closed the connection instead of opening a tunnel"));
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&received) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(length)) => {
                let status = response.code.unwrap_or_default();
                // The host sends nothing before the driver does, so data after the head does not come from the host.
                let has_trailing_data = received.len() > length && status < 300;
                return if has_trailing_data { Err(malformed()) } else { Ok(status) };
            }
            Err(_) => return Err(malformed()),
        }
    }
    Err(malformed())
}

/// Waits until the host has sent data after the handshake: session tickets if it accepts the client certificate, or an
/// alert if it does not. Without this wait, the alert may be lost, because a host that closes the connection while a
/// request arrives resets it.
async fn await_client_auth(stream: &mut MaybeTlsStream) -> Result<(), ConnectError> {
    let before = stream.byte_counts().received;
    let answered = poll_fn(|context| match stream.poll_read_byte(context) {
        Poll::Pending if stream.byte_counts().received == before => Poll::Pending,
        Poll::Pending => Poll::Ready(Ok(())),
        Poll::Ready(Ok(1..)) => Poll::Ready(Err(io::Error::other("the host sent data before any request"))),
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
    });
    let no_answer = Ok(());
    tokio::time::timeout(CLIENT_AUTH_WAIT, answered)
        .await
        .unwrap_or(no_answer)
        .map_err(|error| handshake_error(&error))
}
