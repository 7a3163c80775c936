//! The same replies, over real sockets, for this client and for hyper's: where both accept one they agree on what it
//! says, and every other difference has its reason in a table.

use std::collections::BTreeMap;
use std::error::Error;
use std::rc::Rc;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use pacenote_driver::transport::http::{ExchangeError, ResponseReader};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{connect, edges, head, runtime};

/// What this client refuses and hyper does not: part of the message, and why.
const STRICTER: [(&str, &str); 8] = [
    (
        "unexpected data",
        "RFC 9112 section 9.2: what nobody asked for answers nothing; hyper keeps it for later",
    ),
    (
        "does not start",
        "RFC 9112 section 4: a reply begins with its status line; hyper passes over empty lines",
    ),
    (
        "transfer-encoding is",
        "RFC 9112 section 6.1: a coding that was not asked for; hyper leaves the body coded",
    ),
    ("switches protocols", "RFC 9110 section 15.2.2: only after an Upgrade; hyper hands the connection over"),
    ("interim responses", "RFC 9110 section 15.2 sets no bound, so a server could send them for ever"),
    ("head is longer than", "RFC 9112 section 3 leaves the bound to the reader"),
    ("more than 64 trailers", "RFC 9112 section 7.1.2 leaves the bound to the reader; hyper's is 100"),
    (
        "a chunk's size is longer",
        "RFC 9112 section 7.1.1: extensions are to be bounded; hyper's bound is larger",
    ),
];

/// What hyper refuses and this client does not: part of its message, and why.
const LOOSER: [(&str, &str); 1] = [(
    "head is too large",
    "engines warn of every deprecated thing in a line of its own; hyper takes 100 lines",
)];

/// Whether a connection that hyper keeps is rightly given up, and why.
fn not_kept(reply: &[u8]) -> Option<&'static str> {
    let head = String::from_utf8_lossy(reply).to_ascii_lowercase();
    let has = |name: &str| head.contains(name);
    (has("content-length") && has("transfer-encoding"))
        .then_some("RFC 9112 section 6.3: a reply with both may be an attempt to smuggle another")
}

/// What a client made of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Accepted { status: u16, body: Vec<u8>, kept: bool },
    Refused(String),
}

/// A reply, and the method of the request it answers.
#[derive(Debug, Clone)]
struct Case {
    method: &'static str,
    reply: Vec<u8>,
}

/// What the server answers to a second request.
const SECOND: &[u8] = b"HTTP/1.1 203 Second\r\ncontent-length: 6\r\n\r\nsecond";

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, among: &[&'a T]) -> &'a T {
        among[self.below(among.len())]
    }
}

/// What was written by hand.
fn written() -> Vec<Case> {
    let to_get = edges::replies().into_iter().map(|reply| Case { method: "GET", reply: latin(&reply) });
    to_get.chain(edges::TO_HEAD.map(|reply| Case { method: "HEAD", reply: reply.into() })).collect()
}

/// Characters as single bytes, so that not every text is UTF-8.
fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect()
}

/// Variations of what was written: bytes and phrases put in, taken out, replaced; ends cut off; two in one.
fn varied(written: &[Case], number: usize) -> Vec<Case> {
    const BYTES: &[u8] = b"\r\n\t \0:;,059afAFx\x80\xff";
    let phrases: [&[u8]; 14] = [
        b"\r\n",
        b"\r\n\r\n",
        b"\n\n",
        b"chunked",
        b"transfer-encoding: chunked\r\n",
        b"content-length: 5\r\n",
        b"connection: close\r\n",
        b"0\r\n\r\n",
        b"5\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"\r\n ",
        b"close",
        b", ",
    ];
    let mut random = Random(20_250_101);
    let mut cases = Vec::new();
    while cases.len() < number {
        let mut case = written[random.below(written.len())].clone();
        if case.reply.is_empty() || case.reply.len() > 2000 {
            continue;
        }
        for _ in 0..=random.below(3) {
            let at = random.below(case.reply.len().max(1)).min(case.reply.len());
            match random.below(6) {
                0 if at < case.reply.len() => case.reply[at] = BYTES[random.below(BYTES.len())],
                1 => case.reply.insert(at, BYTES[random.below(BYTES.len())]),
                2 if at < case.reply.len() => drop(case.reply.remove(at)),
                3 => drop(case.reply.splice(at..at, random.pick(&phrases).iter().copied())),
                4 if random.below(3) == 0 => case.reply.truncate(at),
                5 if random.below(3) == 0 => {
                    let other = &written[random.below(written.len())].reply;
                    case.reply.extend_from_slice(&other[..other.len().min(500)]);
                }
                _ => {}
            }
        }
        cases.push(case);
    }
    cases
}

/// Serves one connection: the request names the case, and whether the connection is kept after the reply.
async fn serve(mut stream: TcpStream, cases: Rc<Vec<Case>>) {
    stream.set_nodelay(true).unwrap();
    let Some(request) = read_request(&mut stream).await else { return };
    let path = request.split(' ').nth(1).unwrap();
    let (index, keep) = path[1..].split_once('/').unwrap();
    let index: usize = index.parse().unwrap();
    let mut random = Random(index as u64);
    let mut rest = cases[index].reply.as_slice();
    while !rest.is_empty() {
        // The last piece is often all of it.
        let (piece, after) = rest.split_at((1 + random.below(2 * rest.len())).min(rest.len()));
        if stream.write_all(piece).await.is_err() {
            return;
        }
        rest = after;
        tokio::task::yield_now().await;
    }
    if keep == "keep" && read_request(&mut stream).await.is_some() {
        let _ = stream.write_all(SECOND).await;
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(request).ok()
}

/// This client on one reply. What comes after a reply is refused with it or keeps the connection from being used again,
/// depending on when it comes: both are told as refused.
async fn ours(port: u16, index: usize, case: &Case) -> Outcome {
    let refused = |error: ExchangeError| Outcome::Refused(error.to_string());
    let mut connection = connect(port).await;
    let reply = match connection.exchange(&mut head(port, case.method, &format!("/{index}/close")), b"").await
    {
        Ok(reply) if reply.bytes_in < case.reply.len() as u64 => {
            return refused(ExchangeError::Malformed("unexpected data"));
        }
        Ok(reply) => reply,
        Err(error) => return refused(error),
    };
    let (status, body) = (reply.status, connection.body(&reply).to_vec());
    if reply.close {
        return Outcome::Accepted { status, body, kept: false };
    }
    let mut connection = connect(port).await;
    let again = &mut head(port, case.method, &format!("/{index}/keep"));
    let first = connection.exchange(again, b"").await.unwrap();
    assert_eq!((first.status, connection.body(&first)), (status, body.as_slice()));
    let kept = connection.is_ready() && {
        let second = connection.exchange(&mut head(port, "GET", "/"), b"").await.unwrap();
        (second.status, connection.body(&second)) == (203, b"second")
    };
    Outcome::Accepted { status, body, kept }
}

/// Hyper on one reply; whether the connection can be used again is only asked where `framed` says that the reply has an
/// end of its own.
async fn theirs(port: u16, index: usize, case: &Case, framed: bool) -> Outcome {
    let seen = hypers(port, &format!("/{index}/close"), case.method, false).await;
    match seen {
        Ok((status, body, _)) if framed => {
            let (again, same, kept) =
                hypers(port, &format!("/{index}/keep"), case.method, true).await.unwrap();
            assert_eq!((again, &same), (status, &body));
            Outcome::Accepted { status, body, kept }
        }
        Ok((status, body, _)) => Outcome::Accepted { status, body, kept: false },
        Err(error) => {
            let mut text = error.to_string();
            let mut source = error.source();
            while let Some(error) = source {
                text = format!("{text}: {error}");
                source = error.source();
            }
            Outcome::Refused(text)
        }
    }
}

async fn hypers(
    port: u16,
    path: &str,
    method: &str,
    twice: bool,
) -> Result<(u16, Vec<u8>, bool), hyper::Error> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut builder = hyper::client::conn::http1::Builder::new();
    // RFC 9112 section 5.2: a user agent has to.
    builder.allow_obsolete_multiline_headers_in_responses(true);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    tokio::task::spawn_local(connection);
    let request = |method: &str, path: &str| {
        hyper::Request::builder()
            .method(method)
            .uri(path)
            .header("host", "x")
            .body(Empty::<Bytes>::new())
            .unwrap()
    };
    let reply = sender.send_request(request(method, path)).await?;
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await?.to_bytes().to_vec();
    let kept = twice && sender.ready().await.is_ok() && {
        match sender.send_request(request("GET", "/")).await {
            Ok(second) => second.status() == 203,
            Err(_) => false,
        }
    };
    Ok((status, body, kept))
}

/// Whether it is the end of the connection that ends a reply.
fn ends_with_connection(case: &Case) -> bool {
    let mut reader = ResponseReader::default();
    reader.reset(case.method == "HEAD");
    reader.read_buffer().extend_from_slice(&case.reply);
    matches!(reader.advance(), Ok(None)) && reader.finish().is_ok()
}

/// The reason why two outcomes differ; `None` when there is none, `Some("")` when they do not differ.
fn reason(case: &Case, ours: &Outcome, theirs: &Outcome) -> Option<&'static str> {
    let row = |table: &[(&str, &'static str)], text: &str| {
        table.iter().find(|(part, _)| text.contains(part)).map(|(_, why)| *why)
    };
    match (ours, theirs) {
        (Outcome::Refused(_), Outcome::Refused(_)) => Some(""),
        (Outcome::Refused(error), Outcome::Accepted { .. }) => row(&STRICTER, error),
        (Outcome::Accepted { .. }, Outcome::Refused(error)) => row(&LOOSER, error),
        (ours, theirs) if ours == theirs => Some(""),
        (
            Outcome::Accepted { status, body, kept: false },
            Outcome::Accepted { status: other_status, body: other_body, kept: true },
        ) if (status, body) == (other_status, other_body) => not_kept(&case.reply),
        _ => None,
    }
}

#[test]
fn this_client_and_hyper_agree_or_differ_for_a_reason() {
    let mut cases = written();
    let by_hand = cases.len();
    cases.extend(varied(&cases, 600));
    let cases = Rc::new(cases);
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut accepted, mut unexplained) = (0, Vec::new());
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime(), async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Rc::clone(&cases);
        tokio::task::spawn_local(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::task::spawn_local(serve(stream, Rc::clone(&served)));
            }
        });
        for (index, case) in cases.iter().enumerate() {
            let ours = ours(port, index, case).await;
            let framed = matches!(&ours, Outcome::Accepted { .. }) && !ends_with_connection(case);
            let theirs = theirs(port, index, case, framed).await;
            accepted += usize::from(matches!(ours, Outcome::Accepted { .. }));
            match reason(case, &ours, &theirs) {
                Some(why) => *reasons.entry(why).or_default() += 1,
                None => unexplained.push(format!(
                    "{index} {} {:?}\n  ours {ours:?}\n  hyper {theirs:?}",
                    case.method,
                    String::from_utf8_lossy(&case.reply)
                )),
            }
        }
    });
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    for (part, why) in STRICTER.iter().chain(&LOOSER) {
        assert!(reasons.contains_key(why), "nothing differs because of {part:?} any more");
    }
    assert!(by_hand > 300 && accepted > 200, "{by_hand} {accepted}");
}
