//! Compares this client with hyper over real sockets: on responses that both accept, they must agree; every other
//! difference must have its reason in a table.
//!
//! The server runs on the same thread as the clients, so that the pieces of a response arrive one at a time.

use std::collections::BTreeMap;
use std::error::Error;
use std::rc::Rc;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use pacenote_driver::transport::http::{ExchangeError, ResponseReader};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{connect, edge_cases, head};
use crate::transport::runtime;

/// Responses that this client rejects and hyper accepts: part of this client's error message, and the reason.
const STRICTER: [(&str, &str); 9] = [
    ("HTTP/1.0", "engines send HTTP/1.1; anything else was not sent by the engine under test"),
    ("unexpected data", "RFC 9112 section 9.2: unsolicited data is not a response; hyper keeps it for later"),
    ("does not start", "RFC 9112 section 4: a response starts with its status line; hyper skips empty lines"),
    (
        "transfer-encoding is",
        "RFC 9112 section 6.1: an encoding that was not requested; hyper leaves the body encoded",
    ),
    ("switches protocols", "RFC 9110 section 15.2.2: only after an Upgrade; hyper returns the connection"),
    ("interim responses", "RFC 9110 section 15.2 sets no limit, so a server could send them forever"),
    ("head is longer than", "RFC 9112 section 3 leaves the limit to the reader"),
    ("more than 64 trailers", "RFC 9112 section 7.1.2 leaves the limit to the reader; hyper's is 100"),
    (
        "a chunk's size is longer",
        "RFC 9112 section 7.1.1: extensions have to be limited; hyper's limit is larger",
    ),
];

/// Responses that hyper rejects and this client accepts: part of hyper's error message, and the reason.
const LOOSER: [(&str, &str); 1] = [(
    "head is too large",
    "engines send one warning line for each deprecated feature; hyper accepts 100 lines",
)];

/// Returns the reason why this client closes a connection that hyper keeps, or `None` if there is no reason.
fn not_kept(response: &[u8]) -> Option<&'static str> {
    let head = String::from_utf8_lossy(response).to_ascii_lowercase();
    let has = |name: &str| head.contains(name);
    (has("content-length") && has("transfer-encoding")).then_some(
        "RFC 9112 section 6.3: a response with both headers may be an attempt at response splitting",
    )
}

/// The result of a client for a response.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Accepted { status: u16, body: Vec<u8>, kept: bool },
    Refused(String),
}

/// A response, and the method of its request.
#[derive(Debug, Clone)]
struct Case {
    method: &'static str,
    response: Vec<u8>,
}

/// The response to a second request.
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

/// Returns the hand-written cases.
fn hand_written() -> Vec<Case> {
    let to_get = edge_cases::responses()
        .into_iter()
        .map(|response| Case { method: "GET", response: latin1(&response) });
    to_get
        .chain(edge_cases::TO_HEAD.map(|response| Case { method: "HEAD", response: response.into() }))
        .collect()
}

/// Encodes characters as single bytes, so that the result need not be UTF-8.
fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect()
}

/// Returns mutations of the hand-written cases: with bytes and phrases inserted, removed or replaced; truncated; and
/// two concatenated.
fn mutated(originals: &[Case], number: usize) -> Vec<Case> {
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
        let mut case = originals[random.below(originals.len())].clone();
        if case.response.is_empty() || case.response.len() > 2000 {
            continue;
        }
        for _ in 0..=random.below(3) {
            let at = random.below(case.response.len().max(1)).min(case.response.len());
            match random.below(6) {
                0 if at < case.response.len() => case.response[at] = BYTES[random.below(BYTES.len())],
                1 => case.response.insert(at, BYTES[random.below(BYTES.len())]),
                2 if at < case.response.len() => drop(case.response.remove(at)),
                3 => drop(case.response.splice(at..at, random.pick(&phrases).iter().copied())),
                4 if random.below(3) == 0 => case.response.truncate(at),
                5 if random.below(3) == 0 => {
                    let other = &originals[random.below(originals.len())].response;
                    case.response.extend_from_slice(&other[..other.len().min(500)]);
                }
                _ => {}
            }
        }
        cases.push(case);
    }
    cases
}

/// Serves one connection: the path of the request contains the index of the case and whether the connection is kept
/// afterwards.
async fn serve(mut stream: TcpStream, cases: Rc<Vec<Case>>) {
    stream.set_nodelay(true).unwrap();
    let Some(request) = read_request(&mut stream).await else { return };
    let path = request.split(' ').nth(1).unwrap();
    let (index, keep) = path[1..].split_once('/').unwrap();
    let index: usize = index.parse().unwrap();
    let mut random = Random(index as u64);
    let mut rest = cases[index].response.as_slice();
    while !rest.is_empty() {
        // About half of the pieces contain the entire rest of the response.
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

/// Returns the outcome of this client. Depending on when trailing data arrives, it is an error or prevents reuse of the
/// connection: both count as rejected.
async fn ours(port: u16, index: usize, case: &Case) -> Outcome {
    let refused = |error: ExchangeError| Outcome::Refused(error.to_string());
    let mut connection = connect(port).await;
    let response =
        match connection.exchange(&mut head(port, case.method, &format!("/{index}/close")), b"").await {
            Ok(response) if response.total_len < case.response.len() as u64 => {
                return refused(ExchangeError::Malformed("unexpected data"));
            }
            Ok(response) => response,
            Err(error) => return refused(error),
        };
    let (status, body) = (response.status, connection.body(&response).to_vec());
    if response.close {
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

/// Returns the outcome of hyper. Reuse of the connection is tested only if the response is `framed`, that is, does not
/// end with the connection.
async fn theirs(port: u16, index: usize, case: &Case, framed: bool) -> Outcome {
    let seen = hyper_exchange(port, &format!("/{index}/close"), case.method, false).await;
    match seen {
        Ok((status, body, _)) if framed => {
            let (again, same, kept) =
                hyper_exchange(port, &format!("/{index}/keep"), case.method, true).await.unwrap();
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

async fn hyper_exchange(
    port: u16,
    path: &str,
    method: &str,
    twice: bool,
) -> Result<(u16, Vec<u8>, bool), hyper::Error> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut builder = hyper::client::conn::http1::Builder::new();
    // RFC 9112 section 5.2 requires this from a user agent.
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
    let response = sender.send_request(request(method, path)).await?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes().to_vec();
    let kept = twice && sender.ready().await.is_ok() && {
        match sender.send_request(request("GET", "/")).await {
            Ok(second) => second.status() == 203,
            Err(_) => false,
        }
    };
    Ok((status, body, kept))
}

/// Returns whether the response ends when the connection is closed.
fn ends_with_connection(case: &Case) -> bool {
    let mut reader = ResponseReader::default();
    reader.reset(case.method == "HEAD");
    reader.receive_buffer().extend_from_slice(&case.response);
    matches!(reader.advance(), Ok(None)) && reader.finish().is_ok()
}

/// Returns the reason why two outcomes differ: `Some("")` if they agree, or `None` if no reason is known.
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
        ) if (status, body) == (other_status, other_body) => not_kept(&case.response),
        _ => None,
    }
}

#[test]
fn this_client_and_hyper_agree_or_differ_for_a_known_reason() {
    let mut cases = hand_written();
    let hand_written = cases.len();
    cases.extend(mutated(&cases, 900));
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
                    "{index} {} {:?}\n  driver {ours:?}\n  hyper {theirs:?}",
                    case.method,
                    String::from_utf8_lossy(&case.response)
                )),
            }
        }
    });
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    for (part, why) in STRICTER.iter().chain(&LOOSER) {
        assert!(reasons.contains_key(why), "no case differs because of {part:?}");
    }
    assert!(hand_written > 300 && accepted > 200, "{hand_written} {accepted}");
}
