//! A scripted HTTP server on real sockets, with or without TLS. A script determines the answer to each request: its
//! bytes, when and in how many pieces they are sent, and how the connection ends. The server logs all requests and
//! their times, which tests compare with what the driver records.
//!
//! Each connection has its own thread, which may block. Times are in nanoseconds since the server was started, on the
//! same clock that the driver reads.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use socket2::{Domain, SockRef, Socket, Type};

/// A request as the server received it, and its response.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    pub line: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    pub connection: usize,
    /// Size of the whole request, in bytes.
    pub bytes: usize,
    /// When its last byte was read.
    pub arrived: u64,
    /// When the server was about to write the last byte of the response, or `None` if it never was.
    pub responded: Option<u64>,
    /// Number of bytes of the response that were written.
    pub response_bytes: usize,
}

/// What the server does with the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The server waits for the next request.
    Keep,
    /// The server closes the connection.
    Close,
    /// The server resets the connection: the client's read fails instead of returning the end of the stream.
    Reset,
    /// The server closes its sending side and continues to read.
    HalfClose,
    /// The server closes the connection and accepts no new one before [`Server::open`]. Requires a backlog of 0.
    Shut,
}

/// The server's answer to a request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The bytes to write, or `None` to write nothing.
    response: Option<Vec<u8>>,
    after: Duration,
    pieces: usize,
    over: Duration,
    end: End,
}

impl Answer {
    /// Sends no response; the connection stays open until the client closes it, unless [`Answer::then`] ends it.
    pub fn silence() -> Self {
        Self { response: None, after: Duration::ZERO, pieces: 1, over: Duration::ZERO, end: End::Keep }
    }

    /// Sends the response after this delay.
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// Sends the response in this number of pieces, the last one after `over` has passed since the first.
    pub fn trickled(self, pieces: usize, over: Duration) -> Self {
        Self { pieces, over, ..self }
    }

    /// Sets what happens to the connection after the answer.
    pub fn then(self, end: End) -> Self {
        Self { end, ..self }
    }
}

impl From<Vec<u8>> for Answer {
    fn from(response: Vec<u8>) -> Self {
        let closes = response.windows(17).any(|part| part.eq_ignore_ascii_case(b"connection: close"));
        let end = if closes { End::Close } else { End::Keep };
        Self { response: Some(response), end, ..Self::silence() }
    }
}

impl From<Option<Vec<u8>>> for Answer {
    fn from(response: Option<Vec<u8>>) -> Self {
        response.map_or_else(Self::silence, Self::from)
    }
}

/// Builds a response with a JSON body.
pub fn json_response(status: u16, body: &Value) -> Vec<u8> {
    response_with(status, "", body.to_string().as_bytes())
}

/// Builds a successful response to any request.
pub fn success_response() -> Vec<u8> {
    response_with_took(3)
}

/// Builds a successful response to any request. It reports a duration of `took` milliseconds, which is recorded in the
/// request's sample and thus identifies the request.
pub fn response_with_took(took: usize) -> Vec<u8> {
    let items = json!([{"index": {"status": 201}}]);
    let shards = json!({"failed": 0});
    let body = json!({"took": took, "errors": false, "timed_out": false, "_shards": shards, "items": items});
    json_response(200, &body)
}

/// Builds a response with any body and additional header lines, each including its line break.
pub fn response_with(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Builds a response in chunks of `size` bytes, with chunk extensions and a trailer.
pub fn chunked(status: u16, headers: &str, body: &[u8], size: usize) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status} X\r\n{headers}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(size) {
        write!(bytes, "{:x};x=y\r\n", chunk.len()).unwrap();
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\nx-trailer: yes\r\n\r\n");
    bytes
}

/// Compresses a body with gzip, for the header `content-encoding: gzip`.
pub fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

type Script = dyn Fn(&LoggedRequest, usize) -> Answer + Send + Sync;

/// How a server listens.
pub struct Options {
    /// Address to listen on.
    pub address: IpAddr,
    /// Port to listen on, or 0 for any free one.
    pub port: u16,
    /// Backlog of the listening socket. The kernel establishes one connection more than this; the next one waits until
    /// the client's kernel tries again, after a second.
    pub backlog: i32,
    /// Periods since the first request in which no response is sent; responses are sent at their end.
    pub stalls: Vec<Range<Duration>>,
    /// TLS configuration, or `None` for plain TCP.
    pub tls: Option<ServerConfig>,
}

impl Default for Options {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), port: 0, backlog: 1024, stalls: Vec::new(), tls: None }
    }
}

/// A completed handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// The server name that the client requested (SNI).
    pub server_name: Option<String>,
    /// Whether the client presented a certificate.
    pub has_client_certificate: bool,
}

/// Numbers of bytes on the wire, without handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireBytes {
    /// Bytes that the server received.
    pub received: u64,
    /// Bytes that the server sent.
    pub sent: u64,
}

/// A server that runs until [`Server::kill`] is called or the test process ends.
pub struct Server {
    pub port: u16,
    state: Arc<State>,
}

/// State that all connections share.
struct State {
    script: Box<Script>,
    /// As in [`Options::stalls`].
    stalls: Vec<Range<Duration>>,
    tls: Option<Arc<ServerConfig>>,
    started: Instant,
    first: OnceLock<Instant>,
    log: Mutex<Vec<LoggedRequest>>,
    handshakes: Mutex<Vec<Handshake>>,
    /// Bytes of TLS records after the handshakes.
    tls_bytes: Mutex<WireBytes>,
    /// Every connection, with the time at which it was accepted.
    connections: Mutex<Vec<(u64, Weak<TcpStream>)>>,
    listener: TcpListener,
    open: AtomicBool,
    /// Connections that fill the backlog.
    plugs: Mutex<Vec<TcpStream>>,
}

impl Server {
    /// Starts a server whose `script` answers each request, given the number of requests before it.
    pub fn start<A: Into<Answer>>(
        script: impl Fn(&LoggedRequest, usize) -> A + Send + Sync + 'static,
    ) -> Self {
        Self::stalling(&[], script)
    }

    /// Starts a server that sends no response during these periods, which are relative to the first request.
    pub fn stalling<A: Into<Answer>>(
        stalls: &[Range<Duration>],
        script: impl Fn(&LoggedRequest, usize) -> A + Send + Sync + 'static,
    ) -> Self {
        let server = Self::bind(Options { stalls: stalls.to_vec(), ..Options::default() }, script);
        server.open();
        server
    }

    /// Starts a TLS server that answers each request with [`success_response`].
    pub fn start_tls(config: ServerConfig) -> Self {
        let server =
            Self::bind(Options { tls: Some(config), ..Options::default() }, |_, _| success_response());
        server.open();
        server
    }

    /// Binds a listening socket. Accepts no connection before [`Server::open`].
    pub fn bind<A: Into<Answer>>(
        options: Options,
        script: impl Fn(&LoggedRequest, usize) -> A + Send + Sync + 'static,
    ) -> Self {
        let address = SocketAddr::from((options.address, options.port));
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&address.into()).unwrap();
        socket.listen(options.backlog).unwrap();
        let listener = TcpListener::from(socket);
        let port = listener.local_addr().unwrap().port();
        let state = State {
            script: Box::new(move |seen, before| script(seen, before).into()),
            stalls: options.stalls,
            tls: options.tls.map(Arc::new),
            started: Instant::now(),
            first: OnceLock::new(),
            log: Mutex::default(),
            handshakes: Mutex::default(),
            tls_bytes: Mutex::default(),
            connections: Mutex::default(),
            listener,
            open: AtomicBool::new(false),
            plugs: Mutex::default(),
        };
        let state = Arc::new(state);
        let acceptor = Arc::clone(&state);
        thread::spawn(move || acceptor.accept());
        Self { port, state }
    }

    /// Starts to accept connections.
    pub fn open(&self) {
        self.state.open.store(true, Ordering::Relaxed);
    }

    /// Closes all connections and refuses new ones, as the kernel does when a process is killed.
    pub fn kill(&self) {
        let _ = SockRef::from(&self.state.listener).shutdown(Shutdown::Both);
        for tcp in self.state.connections.lock().unwrap().iter().filter_map(|(_, tcp)| tcp.upgrade()) {
            let _ = tcp.shutdown(Shutdown::Both);
        }
    }

    /// Returns the socket of an open connection, for writing to it between two requests.
    pub fn socket(&self, connection: usize) -> Arc<TcpStream> {
        self.state.connections.lock().unwrap()[connection].1.upgrade().expect("the connection is closed")
    }

    /// Returns the handshakes of all TLS connections.
    pub fn handshakes(&self) -> Vec<Handshake> {
        self.state.handshakes.lock().unwrap().clone()
    }

    /// Returns the numbers of bytes of all requests and responses so far, as on the wire, TLS included.
    pub fn wire_bytes(&self) -> WireBytes {
        if self.state.tls.is_some() {
            return *self.state.tls_bytes.lock().unwrap();
        }
        let seen = self.requests();
        WireBytes {
            received: seen.iter().map(|one| one.bytes as u64).sum(),
            sent: seen.iter().map(|one| one.response_bytes as u64).sum(),
        }
    }

    /// Returns all requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.state.log.lock().unwrap().clone()
    }

    /// Returns when each connection was accepted, in nanoseconds since the server was started.
    pub fn accepted(&self) -> Vec<u64> {
        self.state.connections.lock().unwrap().iter().map(|(accepted, _)| *accepted).collect()
    }

    /// Returns the time in nanoseconds since the server was started.
    pub fn now(&self) -> u64 {
        self.state.now()
    }
}

impl State {
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap()
    }

    /// Accepts connections while the server is open. Returns when the server is killed, which shuts the listener down.
    fn accept(self: &Arc<Self>) {
        loop {
            if !self.open.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let Ok((stream, _)) = self.listener.accept() else { return };
            let (state, tcp) = (Arc::clone(self), Arc::new(stream));
            let connection = {
                let mut connections = state.connections.lock().unwrap();
                connections.push((state.now(), Arc::downgrade(&tcp)));
                connections.len() - 1
            };
            thread::spawn(move || state.serve(&tcp, connection));
        }
    }

    /// Serves a connection until it ends.
    fn serve(&self, tcp: &Arc<TcpStream>, connection: usize) {
        // Without this, the kernel delays responses by up to 50 µs.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).unwrap();
        tcp.set_nodelay(true).unwrap();
        let Some(stream) = self.handshake(tcp) else { return };
        let mut reader = BufReader::new(stream);
        while let Some(mut seen) = read_request(&mut reader, connection) {
            let (arrived, number) = {
                let mut log = self.log.lock().unwrap();
                // The clock is read under the lock, so that the log is in chronological order.
                let arrived = Instant::now();
                self.first.get_or_init(|| arrived);
                seen.arrived = u64::try_from((arrived - self.started).as_nanos()).unwrap();
                log.push(seen.clone());
                (arrived, log.len() - 1)
            };
            let answer = (self.script)(&seen, number);
            if answer.end == End::Shut {
                self.shut();
            }
            let sent = self.send(reader.get_mut(), &answer, arrived, number);
            match answer.end {
                _ if !sent => return,
                End::Keep => {}
                End::HalfClose => tcp.shutdown(Shutdown::Write).unwrap_or_default(),
                End::Close | End::Shut => return,
                // Closing a socket with a linger time of zero resets it.
                End::Reset => {
                    return SockRef::from(&**tcp).set_linger(Some(Duration::ZERO)).unwrap_or_default();
                }
            }
        }
    }

    /// Returns the connection's stream, after the handshake if the server uses TLS, or `None` if the handshake fails.
    fn handshake(&self, tcp: &Arc<TcpStream>) -> Option<Stream> {
        let Some(config) = &self.tls else { return Some(Stream::Plain(Arc::clone(tcp))) };
        let mut socket = RecordSocket::new(Arc::clone(tcp));
        let mut tls = ServerConnection::new(Arc::clone(config)).unwrap();
        tls.complete_io(&mut socket).ok()?;
        self.handshakes.lock().unwrap().push(Handshake {
            server_name: tls.server_name().map(str::to_owned),
            has_client_certificate: tls.peer_certificates().is_some(),
        });
        socket.bytes = WireBytes::default();
        Some(Stream::Tls(Box::new(StreamOwned::new(tls, socket))))
    }

    /// Fills the backlog: one more connection is accepted, one waits in the queue, and the kernel accepts no others.
    fn shut(&self) {
        self.open.store(false, Ordering::Relaxed);
        let here = self.listener.local_addr().unwrap();
        let accepted = || self.connections.lock().unwrap().len();
        let before = accepted();
        let first = TcpStream::connect(here).unwrap();
        for _ in 0..1000 {
            if accepted() > before {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let second = TcpStream::connect_timeout(&here, Duration::from_millis(100)).ok();
        self.plugs.lock().unwrap().extend(std::iter::once(first).chain(second));
    }

    /// Sends an answer when it is due. Returns `false` if the client has closed the connection.
    fn send(&self, stream: &mut Stream, answer: &Answer, arrived: Instant, number: usize) -> bool {
        let Some(response) = &answer.response else { return true };
        let size = response.len().div_ceil(answer.pieces).max(1);
        let last = response.chunks(size).count() - 1;
        for (index, piece) in response.chunks(size).enumerate() {
            let gap = answer.over * u32::try_from(index).unwrap() / u32::try_from(last.max(1)).unwrap();
            self.wait_until(arrived + answer.after + gap);
            {
                // The response is logged before it is sent, because a test may read the log as soon as the client has
                // received the response.
                let seen = &mut self.log.lock().unwrap()[number];
                seen.response_bytes += piece.len();
                seen.responded = (index == last).then(|| self.now());
            }
            if self.write(stream, piece).is_err() {
                return false;
            }
        }
        true
    }

    fn write(&self, stream: &mut Stream, piece: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Plain(tcp) => (&**tcp).write_all(piece),
            Stream::Tls(tls) => {
                // The lock is held until the bytes are counted, so that a test that reads the counts after receiving
                // the response finds them included.
                let mut total = self.tls_bytes.lock().unwrap();
                tls.write_all(piece)?;
                tls.flush()?;
                let bytes = std::mem::take(&mut tls.sock.bytes);
                total.received += bytes.received;
                total.sent += bytes.sent;
                Ok(())
            }
        }
    }

    /// Waits until `instant`, or until the end of a stall that contains it.
    fn wait_until(&self, instant: Instant) {
        let mut until = instant;
        loop {
            thread::sleep(until.saturating_duration_since(Instant::now()));
            let since = self.first.get().unwrap().elapsed();
            let Some(stall) = self.stalls.iter().find(|stall| stall.contains(&since)) else { return };
            until = *self.first.get().unwrap() + stall.end;
        }
    }
}

/// The server's side of a connection.
enum Stream {
    Plain(Arc<TcpStream>),
    Tls(Box<StreamOwned<ServerConnection, RecordSocket>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => (&**tcp).read(buffer),
            Self::Tls(tls) => tls.read(buffer),
        }
    }
}

/// A socket that counts its bytes. It does not read beyond the end of a TLS record, so that bytes that follow the
/// handshake are not counted as part of it.
struct RecordSocket {
    tcp: Arc<TcpStream>,
    header: Vec<u8>,
    left: usize,
    bytes: WireBytes,
}

impl RecordSocket {
    fn new(tcp: Arc<TcpStream>) -> Self {
        Self { tcp, header: Vec::new(), left: 0, bytes: WireBytes::default() }
    }
}

impl Read for RecordSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = if self.left > 0 { self.left } else { 5 - self.header.len() };
        let most = wanted.min(buffer.len());
        let read = (&*self.tcp).read(&mut buffer[..most])?;
        self.bytes.received += read as u64;
        if self.left > 0 {
            self.left -= read;
        } else {
            self.header.extend_from_slice(&buffer[..read]);
            if let [_, _, _, high, low] = self.header[..] {
                self.left = usize::from(high) << 8 | usize::from(low);
                self.header.clear();
            }
        }
        Ok(read)
    }
}

impl Write for RecordSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = (&*self.tcp).write(bytes)?;
        self.bytes.sent += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.tcp).flush()
    }
}

/// A port on which nothing listens, and which no other test and no other process can take.
pub struct ClosedPort {
    pub port: u16,
    _bound: Socket,
}

impl ClosedPort {
    pub fn bind() -> Self {
        let bound = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        bound.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        let port = bound.local_addr().unwrap().as_socket().unwrap().port();
        Self { port, _bound: bound }
    }
}

/// Accepts one connection and passes it to `serve`, for servers that do not behave like HTTP servers. Returns the port.
pub fn accept_one<T: Send + 'static>(
    serve: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (u16, thread::JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, thread::spawn(move || serve(listener.accept().unwrap().0)))
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> Option<LoggedRequest> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        if read == 0 {
            return None;
        }
        bytes += read;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let length =
        lines.iter().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = lines.remove(0);
    bytes += length;
    Some(LoggedRequest {
        line,
        headers: lines,
        body,
        connection,
        bytes,
        arrived: 0,
        responded: None,
        response_bytes: 0,
    })
}
