//! A scripted HTTP server on real sockets. A test says what it answers, when, in which pieces, and what becomes of the
//! connection; what it saw and when is written down, and is the truth that recordings are compared with.
//!
//! Every connection has a thread of its own, which may sleep and wait as it likes. Times are nanoseconds since the
//! server was started, on the clock that the driver reads too.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use socket2::{Domain, SockRef, Socket, Type};

/// A request as the server saw it, and its reply.
#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    pub connection: usize,
    /// Bytes of the whole request.
    pub bytes: usize,
    /// When its last byte had been read.
    pub arrived: u64,
    /// When the last byte of its reply was about to be handed to the kernel; `None`: it never was.
    pub replied: Option<u64>,
    /// Bytes of the reply that were handed to the kernel.
    pub bytes_back: usize,
}

/// What becomes of the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The next request is waited for.
    Keep,
    /// It is closed.
    Close,
    /// It is torn down: the other end reads an error, not an end.
    Reset,
    /// Nothing more is written, what comes is still read.
    HalfClose,
    /// It is closed, and no new one is set up before the server is opened. The server was bound with a backlog of 0.
    Shut,
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// `None`: nothing is ever written.
    reply: Option<Vec<u8>>,
    after: Duration,
    pieces: usize,
    over: Duration,
    end: End,
}

impl Answer {
    /// No reply; the connection stays open until the other end closes it, unless it is ended.
    pub fn silence() -> Self {
        Self { reply: None, after: Duration::ZERO, pieces: 1, over: Duration::ZERO, end: End::Keep }
    }

    /// Leaves so long after the request has arrived.
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// Leaves in so many pieces, the last of them so long after the first.
    pub fn trickled(self, pieces: usize, over: Duration) -> Self {
        Self { pieces, over, ..self }
    }

    /// What becomes of the connection then.
    pub fn then(self, end: End) -> Self {
        Self { end, ..self }
    }
}

impl From<Vec<u8>> for Answer {
    fn from(reply: Vec<u8>) -> Self {
        let closes = reply.windows(17).any(|part| part.eq_ignore_ascii_case(b"connection: close"));
        let end = if closes { End::Close } else { End::Keep };
        Self { reply: Some(reply), end, ..Self::silence() }
    }
}

impl From<Option<Vec<u8>>> for Answer {
    fn from(reply: Option<Vec<u8>>) -> Self {
        reply.map_or_else(Self::silence, Self::from)
    }
}

/// A reply with a JSON body.
pub fn reply(status: u16, body: &Value) -> Vec<u8> {
    framed(status, "", body.to_string().as_bytes())
}

/// A good reply to anything.
pub fn good() -> Vec<u8> {
    numbered(3)
}

/// A good reply to anything that says it took so many milliseconds: a sample carries that number, so that it can be
/// told which request it is about.
pub fn numbered(took: usize) -> Vec<u8> {
    reply(200, &json!({"took": took, "errors": false, "timed_out": false, "_shards": {"failed": 0}}))
}

/// A reply with further header lines, each with its line end, around a body of any kind.
pub fn framed(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The same in chunks of so many bytes, with an extension and a trailer.
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

/// A body compressed with gzip; its header is `content-encoding: gzip`.
pub fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

type Script = dyn Fn(&Seen, usize) -> Answer + Send + Sync;

/// A server that runs until the test's process ends, or it is killed.
pub struct Server {
    pub port: u16,
    stage: Arc<Stage>,
}

/// What all connections share.
struct Stage {
    script: Box<Script>,
    /// No reply leaves within these times since the first request arrived; what was held leaves at their end.
    stalls: Vec<Range<Duration>>,
    born: Instant,
    first: OnceLock<Instant>,
    log: Mutex<Vec<Seen>>,
    /// Every connection, as long as it is served, with the time at which it was accepted.
    connections: Mutex<Vec<(u64, Weak<TcpStream>)>>,
    listener: TcpListener,
    open: AtomicBool,
    /// Connections that keep others out.
    plugs: Mutex<Vec<TcpStream>>,
}

impl Server {
    /// Answers every request with what `script` makes of it and of the number of requests before it.
    pub fn start<A: Into<Answer>>(script: impl Fn(&Seen, usize) -> A + Send + Sync + 'static) -> Self {
        Self::stalling(&[], script)
    }

    /// The same, but no reply leaves within some times since the first request.
    pub fn stalling<A: Into<Answer>>(
        stalls: &[Range<Duration>],
        script: impl Fn(&Seen, usize) -> A + Send + Sync + 'static,
    ) -> Self {
        let server = Self::bind(stalls, 1024, script);
        server.open();
        server
    }

    /// Listens without accepting anyone; so many connections and one more are set up before the next has to wait until the
    /// kernel of the other end tries again, after a second.
    pub fn bind<A: Into<Answer>>(
        stalls: &[Range<Duration>],
        backlog: i32,
        script: impl Fn(&Seen, usize) -> A + Send + Sync + 'static,
    ) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        socket.listen(backlog).unwrap();
        let listener = TcpListener::from(socket);
        let port = listener.local_addr().unwrap().port();
        let stage = Stage {
            script: Box::new(move |seen, before| script(seen, before).into()),
            stalls: stalls.to_vec(),
            born: Instant::now(),
            first: OnceLock::new(),
            log: Mutex::default(),
            connections: Mutex::default(),
            listener,
            open: AtomicBool::new(false),
            plugs: Mutex::default(),
        };
        let stage = Arc::new(stage);
        let door = Arc::clone(&stage);
        thread::spawn(move || door.accept());
        Self { port, stage }
    }

    /// Begins to accept connections.
    pub fn open(&self) {
        self.stage.open.store(true, Ordering::Relaxed);
    }

    /// Ends all connections and refuses new ones, as the kernel does for a process that was killed.
    pub fn kill(&self) {
        let _ = SockRef::from(&self.stage.listener).shutdown(Shutdown::Both);
        for stream in self.stage.connections.lock().unwrap().iter().filter_map(|(_, stream)| stream.upgrade())
        {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// All requests so far, in the order in which they arrived.
    pub fn seen(&self) -> Vec<Seen> {
        self.stage.log.lock().unwrap().clone()
    }

    /// When every connection was accepted.
    pub fn accepted(&self) -> Vec<u64> {
        self.stage.connections.lock().unwrap().iter().map(|(accepted, _)| *accepted).collect()
    }

    /// Nanoseconds since the server was started.
    pub fn now(&self) -> u64 {
        self.stage.now()
    }
}

impl Stage {
    fn now(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_nanos()).unwrap()
    }

    /// Accepts connections while the server is open, until it is killed, which shuts the listener down.
    fn accept(self: &Arc<Self>) {
        loop {
            if !self.open.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let Ok((stream, _)) = self.listener.accept() else { return };
            let (stage, stream) = (Arc::clone(self), Arc::new(stream));
            let connection = {
                let mut connections = stage.connections.lock().unwrap();
                connections.push((stage.now(), Arc::downgrade(&stream)));
                connections.len() - 1
            };
            thread::spawn(move || stage.serve(&stream, connection));
        }
    }

    fn serve(&self, stream: &TcpStream, connection: usize) {
        // Replies are to leave when the script says so, not when it suits the kernel.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(mut seen) = read_request(&mut reader, connection) {
            let arrived = Instant::now();
            self.first.get_or_init(|| arrived);
            seen.arrived = u64::try_from((arrived - self.born).as_nanos()).unwrap();
            let number = {
                let mut log = self.log.lock().unwrap();
                log.push(seen.clone());
                log.len() - 1
            };
            let answer = (self.script)(&seen, number);
            if answer.end == End::Shut {
                self.shut();
            }
            let sent = self.reply(stream, &answer, arrived, number);
            match answer.end {
                _ if !sent => return,
                End::Keep => {}
                End::HalfClose => stream.shutdown(Shutdown::Write).unwrap_or_default(),
                End::Close | End::Shut => return,
                // What is closed without lingering is reset.
                End::Reset => {
                    return SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap_or_default();
                }
            }
        }
    }

    /// Lets the queue of connections fill up: one is accepted yet, one waits in the queue, and for others there is no room.
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

    /// Sends an answer in its time; `false` when the other end has gone.
    fn reply(&self, mut stream: &TcpStream, answer: &Answer, arrived: Instant, number: usize) -> bool {
        let Some(reply) = &answer.reply else { return true };
        let size = reply.len().div_ceil(answer.pieces).max(1);
        let last = reply.chunks(size).count() - 1;
        for (index, piece) in reply.chunks(size).enumerate() {
            let gap = answer.over * u32::try_from(index).unwrap() / u32::try_from(last.max(1)).unwrap();
            self.wait_until(arrived + answer.after + gap);
            {
                // Written down first: who has read the reply may look into the log at once.
                let seen = &mut self.log.lock().unwrap()[number];
                seen.bytes_back += piece.len();
                seen.replied = (index == last).then(|| self.now());
            }
            if stream.write_all(piece).is_err() {
                return false;
            }
        }
        true
    }

    /// Waits for an instant, and for the end of a stall that it falls into.
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

pub fn read_request(reader: &mut impl BufRead, connection: usize) -> Option<Seen> {
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
    Some(Seen { line, headers: lines, body, connection, bytes, arrived: 0, replied: None, bytes_back: 0 })
}
