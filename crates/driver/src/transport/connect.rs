//! The way to a host: addresses, proxy, TLS. Prepared once per race, gone by every connection.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use pacenote_plan::{Scheme, Target, TargetHost};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::stream::{Socket, Stream};
use super::tls::{Layer, SystemRoots, Trust, TrustError, tls_error};
use crate::transport::http::authority;

/// How long a host is given to refuse the client's certificate where nothing else tells that it has accepted it.
const LONGEST_VERDICT: Duration = Duration::from_millis(100);
/// Longer answers of a proxy are refused.
const LONGEST_ANSWER: usize = 16 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// The system could not connect, or a name could not be looked up.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The peer and the driver do not come to trust each other.
    #[error("TLS: {0}")]
    Tls(String),
    /// The proxy cannot be reached or leads nowhere.
    #[error("proxy {proxy}: {reason}")]
    Proxy {
        /// Host and port of the proxy.
        proxy: String,
        /// What it, or the system, said.
        reason: String,
    },
}

/// Why a way cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// A name could not be looked up.
    #[error("cannot look up {host}: {source}")]
    LookUp {
        /// Host and port.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// TLS cannot be spoken.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// What a proxy would be told breaks out of its line. It is not shown, it may be secret.
    #[error("proxy {0}: the host or the authorization for it has a blank too many or a control character")]
    Proxy(String),
}

/// The ways to the hosts of a cluster, in their order.
pub type Routes = Arc<[Arc<Route>]>;

/// The way to one host.
#[derive(Debug)]
pub struct Route {
    /// Host and port, for messages.
    name: String,
    /// Of the host, or of the proxy before it. Looked up once, before the race: a look-up per connection would block
    /// threads that nobody accounts for.
    addresses: Vec<SocketAddr>,
    proxy: Option<Through>,
    /// TLS with the host.
    tls: Option<Layer>,
}

/// A proxy on the way.
#[derive(Debug)]
struct Through {
    name: String,
    tls: Option<Layer>,
    /// What opens a tunnel to the host; secret.
    request: Secret,
}

struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("…")
    }
}

impl Route {
    /// The ways to all hosts of a cluster. Look-ups and files block.
    ///
    /// # Errors
    ///
    /// When a name cannot be looked up or TLS cannot be set up.
    pub fn to_all(target: &Target, system: &mut SystemRoots) -> Result<Routes, RouteError> {
        let (tls, hosts) = (&target.tls, &target.hosts);
        let secure = hosts.iter().any(|host| host.scheme == Scheme::Https);
        let secure = secure.then(|| Trust::of_hosts(tls, system)).transpose()?;
        let mut proxies = hosts.iter().filter_map(|host| host.proxy.as_ref());
        let between = proxies.any(|proxy| proxy.scheme == Scheme::Https);
        let between = between.then(|| Trust::of_proxies(tls, system)).transpose()?;
        hosts.iter().map(|host| Self::to(host, secure.as_ref(), between.as_ref()).map(Arc::new)).collect()
    }

    fn to(host: &TargetHost, secure: Option<&Trust>, between: Option<&Trust>) -> Result<Self, RouteError> {
        let name = authority(&host.host, host.port);
        let secure = secure.filter(|_| host.scheme == Scheme::Https);
        let tls = secure.map(|trust| trust.with(&host.host)).transpose()?;
        let Some(proxy) = &host.proxy else {
            return Ok(Self { addresses: look_up(&host.host, host.port)?, name, proxy: None, tls });
        };
        let mut request = format!("CONNECT {name} HTTP/1.1\r\nhost: {name}\r\nuser-agent: pacenote\r\n");
        if let Some(authorization) = &proxy.authorization {
            request.extend(["proxy-authorization: ", authorization, "\r\n"]);
        }
        request.push_str("\r\n");
        let secret = proxy.authorization.as_deref().unwrap_or_default();
        if name.contains(char::is_whitespace)
            || [&name, secret].iter().any(|text| text.contains(char::is_control))
        {
            return Err(RouteError::Proxy(authority(&proxy.host, proxy.port)));
        }
        let between = between.filter(|_| proxy.scheme == Scheme::Https);
        let through = Through {
            name: authority(&proxy.host, proxy.port),
            tls: between.map(|trust| trust.with(&proxy.host)).transpose()?,
            request: Secret(request.into_bytes()),
        };
        Ok(Self { addresses: look_up(&proxy.host, proxy.port)?, name, proxy: Some(through), tls })
    }

    /// The way to an address without anything in between.
    #[must_use]
    pub fn plain(addresses: Vec<SocketAddr>) -> Self {
        let name = addresses.first().map_or_else(String::new, SocketAddr::to_string);
        Self { name, addresses, proxy: None, tls: None }
    }

    /// Host and port, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens a connection until `deadline`, for the `client`th client of the host: of several addresses it takes the
    /// one at its number modulo their count, so that clients spread over them, and where that one does not answer the
    /// next.
    ///
    /// # Errors
    ///
    /// [`DialError`].
    pub async fn dial(&self, client: usize, deadline: Instant) -> Result<Stream, DialError> {
        let proxy = self.proxy.as_ref();
        let connected = self.connect(client, deadline).await;
        let socket = connected.map_err(|error| match proxy {
            None => DialError::Io(error),
            Some(through) => through.failed(&error.to_string()),
        })?;
        let before = proxy.and_then(|through| Some((through, through.tls.as_ref()?)));
        let mut stream = match (before, &self.tls) {
            (None, None) => return Ok(Stream::Plain(socket)),
            (Some((through, before)), None) => {
                let shaken = shake(before, socket, deadline).await;
                Stream::Tls(Box::new(shaken.map_err(|error| through.distrusted(error))?))
            }
            (None, Some(tls)) => {
                let socket = self.tunnel(socket, deadline).await?;
                Stream::Tls(Box::new(shake(tls, socket, deadline).await?))
            }
            (Some((through, before)), Some(tls)) => {
                let shaken = shake(before, socket, deadline).await;
                let outer = shaken.map_err(|error| through.distrusted(error))?;
                let outer = self.tunnel(outer, deadline).await?;
                Stream::Nested(Box::new(shake(tls, outer, deadline).await?))
            }
        };
        if self.awaits_verdict(&stream) {
            hear_verdict(&mut stream).await?;
        }
        Ok(stream)
    }

    async fn connect(&self, client: usize, deadline: Instant) -> io::Result<Socket> {
        let mut refused = None;
        let (after, first) = self.addresses.split_at(client % self.addresses.len().max(1));
        for (address, left) in first.iter().chain(after).zip((1..=self.addresses.len()).rev()) {
            // One that says nothing at all leaves the others their share of the time.
            let share = deadline.saturating_duration_since(Instant::now()).div_f64(left as f64);
            match within(Instant::now() + share, TcpStream::connect(address)).await {
                Ok(tcp) => return Socket::new(tcp),
                Err(error) => drop(refused.get_or_insert(error)),
            }
        }
        Err(refused.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable)))
    }

    /// Has the proxy, if there is one, open a tunnel to the host.
    async fn tunnel<S>(&self, mut stream: S, deadline: Instant) -> Result<S, DialError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if let Some(through) = &self.proxy {
            let answer = within(deadline, ask(&mut stream, &through.request.0)).await;
            let status = answer.map_err(|error| through.failed(&error.to_string()))?;
            if !(200..300).contains(&status) {
                return Err(through.failed(&format!("answers CONNECT {} with status {status}", self.name)));
            }
        }
        Ok(stream)
    }

    fn awaits_verdict(&self, stream: &Stream) -> bool {
        match (stream, &self.tls) {
            (Stream::Tls(stream), Some(tls)) => tls.awaits_verdict(stream),
            (Stream::Nested(stream), Some(tls)) => tls.awaits_verdict(stream),
            _ => false,
        }
    }
}

impl Through {
    fn failed(&self, reason: &str) -> DialError {
        DialError::Proxy { proxy: self.name.clone(), reason: reason.to_owned() }
    }

    /// It was the proxy, not the host, that there is no trust in.
    fn distrusted(&self, error: DialError) -> DialError {
        match error {
            DialError::Tls(reason) => DialError::Tls(format!("proxy {}: {reason}", self.name)),
            other => other,
        }
    }
}

fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, RouteError> {
    let found = (host, port).to_socket_addrs();
    found.map(Iterator::collect).map_err(|source| RouteError::LookUp { host: authority(host, port), source })
}

async fn within<T>(deadline: Instant, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let done = tokio::time::timeout_at(deadline.into(), work).await;
    done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn shake<S>(
    layer: &Layer,
    stream: S,
    deadline: Instant,
) -> Result<tokio_rustls::client::TlsStream<S>, DialError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    within(deadline, layer.shake(stream)).await.map_err(|error| refused(&error))
}

/// Whatever ends a handshake, the peer's silence included, is why there is no trust.
fn refused(error: &io::Error) -> DialError {
    DialError::Tls(match tls_error(error) {
        Some(said) => said.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection was closed during the handshake".into()
        }
        None => format!("{error} during the handshake"),
    })
}

/// Sends a request that opens a tunnel; the status of the answer.
async fn ask<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, request: &[u8]) -> io::Result<u16> {
    let malformed = || io::Error::other("its answer to CONNECT is not HTTP/1.1");
    stream.write_all(request).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    while answer.len() < LONGEST_ANSWER {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(io::Error::other("it closed the connection instead of opening a tunnel"));
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut reply = httparse::Response::new(&mut headers);
        match reply.parse(&answer) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(length)) => {
                let status = reply.code.unwrap_or_default();
                // The host says nothing before the driver does: what follows a tunnel's opening is not from it.
                let garbage = answer.len() > length && status < 300;
                return if garbage { Err(malformed()) } else { Ok(status) };
            }
            Err(_) => return Err(malformed()),
        }
    }
    Err(malformed())
}

/// Waits until the host has said something after the handshake: tickets for further sessions if it accepts the
/// client's certificate, an alert if it does not. Without this an alert might be lost: a host that closes the
/// connection while a request is on its way to it resets it.
async fn hear_verdict(stream: &mut Stream) -> Result<(), DialError> {
    let before = stream.crossed().inward;
    let heard = poll_fn(|context| match stream.poll_byte(context) {
        Poll::Pending if stream.crossed().inward == before => Poll::Pending,
        Poll::Pending => Poll::Ready(Ok(())),
        Poll::Ready(Ok(1..)) => Poll::Ready(Err(io::Error::other("the host spoke before it was asked"))),
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
    });
    let silent = Ok(());
    tokio::time::timeout(LONGEST_VERDICT, heard).await.unwrap_or(silent).map_err(|error| refused(&error))
}
