//! Heads and bodies that deviate from the standard or reach its limits, in one way at a time.

/// Status lines.
const LINES: &[&str] = &[
    "HTTP/1.1 200 OK",
    "HTTP/1.1 200 ",
    "HTTP/1.1 200",
    "HTTP/1.0 200 OK",
    "HTTP/1.1 404 Not Found",
    "HTTP/1.1 600 New",
    "HTTP/1.1 999 x",
    "HTTP/1.1 099 x",
    "HTTP/1.1 100 Continue",
    "HTTP/1.1 101 Switching",
    "HTTP/1.1 204 No Content",
    "HTTP/1.1 205 Reset",
    "HTTP/1.1 206 Part",
    "HTTP/1.1 304 Same",
    "HTTP/1.1 20 OK",
    "HTTP/1.1 2000 OK",
    "HTTP/1.1  200 OK",
    "HTTP/2 200 OK",
    "HTTP/1.2 200 OK",
    "HTTP/0.9 200 OK",
    "http/1.1 200 OK",
    "ICY 200 OK",
    "\r\nHTTP/1.1 200 OK",
    " HTTP/1.1 200 OK",
    "HTTP/1.1 200 \u{fc}ber",
    "HTTP/1.1 200 O\tK",
    "HTTP/1.1 200 O\rK",
    "HTTP/1.1\t200 OK",
    "",
];

/// Header lines of responses with a body of five bytes.
const HEADERS: &[&str] = &[
    "content-length: 5, 5",
    "content-length: 5\r\ncontent-length: 5",
    "content-length: 5\r\ncontent-length: 6",
    "content-length: 5,",
    "content-length: ,5",
    "content-length: 5,6",
    "content-length:5",
    "content-length: \t5 \t",
    "content-length: +5",
    "content-length: -5",
    "content-length: 0x5",
    "content-length: 5.0",
    "content-length: 5 5",
    "content-length: 05",
    "content-length:",
    "content-length: 18446744073709551615",
    "content-length: 18446744073709551616",
    "content-length: 18446744073709551621",
    "content-length: 600000000",
    "content-length: 4",
    "content-length: 6",
    "content-length: 0",
    "Content-LENGTH: 5",
    "content-length : 5",
    "content-length\t: 5",
    " content-length: 5",
    "content-length:\r\n 5",
    "content-length: 5\r\n ",
    "content-length: 5\r\n\t6",
    "x: y\r\n folded\r\ncontent-length: 5",
    "content-length: 5\nx: y",
    "content-length: 5\r\nno colon",
    "content-length: 5\r\n: x",
    "content-length: 5\r\nx\u{fc}: y",
    "content-length: 5\r\nx: \u{fc}",
    "content-length: 5\r\nx: a\0b",
    "content-length: 5\r\nx: a\u{7f}b",
    "content-length: 5\r\nx: a\rb",
    "content-length: 5\r\nx(y): z",
    "content-length: 5\r\nconnection: close",
    "content-length: 5\r\nconnection: keep-alive",
    "content-length: 5\r\nconnection: Close, x",
    "content-length: 5\r\nconnection: close\r\nconnection: keep-alive",
    "content-length: 5\r\nconnection: keep-alive\r\nconnection: close",
    "content-length: 5\r\nconnection: closed",
    "content-length: 5\r\nconnection: \"close\"",
    "content-length: 5\r\nconnection:",
    "content-length: 5\r\nproxy-connection: close",
    "content-length: 5\r\nkeep-alive: timeout=5",
    "content-length: 5\r\nconnection:\r\n close",
    "content-length: 5\r\ncontent-encoding: gzip",
    "content-length: 5\r\ntransfer-encoding: identity",
    "connection: close",
    "connection: keep-alive",
    "transfer-encoding: gzip",
    "transfer-encoding: gzip\r\ncontent-length: 5",
    "upgrade: h2c\r\ncontent-length: 5",
    "trailer: x\r\ncontent-length: 5",
];

/// Values of `transfer-encoding` in responses with a body in one chunk.
const TRANSFER_CODINGS: &[&str] = &[
    "Chunked",
    "chunked ",
    "\tchunked",
    "chunked, chunked",
    "chunked\r\ntransfer-encoding: chunked",
    "gzip, chunked",
    "chunked, gzip",
    "gzip\r\ntransfer-encoding: chunked",
    "identity, chunked",
    "chunked;q=1",
    "xchunked",
    "chunked,",
    ",chunked",
    "\"chunked\"",
    "",
    "\r\n chunked",
    "chunked\r\ncontent-length: 5",
    "chunked\r\ncontent-length: x",
    "chunked\r\nconnection: close",
    "chunked\r\nconnection: keep-alive",
];

/// Chunked bodies, valid and invalid.
const CHUNKED_BODIES: &[&str] = &[
    "0\r\n\r\n",
    "000\r\n\r\n",
    "5\r\nhello\r\n0\r\n\r\n",
    "05\r\nhello\r\n00\r\n\r\n",
    "a\r\n0123456789\r\n0\r\n\r\n",
    "A\r\n0123456789\r\n0\r\n\r\n",
    "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "5;x\r\nhello\r\n0\r\n\r\n",
    "5;x=y;z=\"a;b\"\r\nhello\r\n0;last\r\n\r\n",
    "5 ;x\r\nhello\r\n0\r\n\r\n",
    "5\t \r\nhello\r\n0\r\n\r\n",
    "5 x\r\nhello\r\n0\r\n\r\n",
    " 5\r\nhello\r\n0\r\n\r\n",
    "5;x\nhello\r\n0\r\n\r\n",
    "5;a\rb\r\nhello\r\n0\r\n\r\n",
    "5;\r\nhello\r\n0\r\n\r\n",
    "5\nhello\n0\n\n",
    "5\r\nhello\n0\r\n\r\n",
    "5\r\nhello\r\n0\n\n",
    "5\r\nhello\r\n0\r\n\n",
    "5\rhello\r\n0\r\n\r\n",
    "5\r;x\r\nhello\r\n0\r\n\r\n",
    "5\u{c}\r\nhello\r\n0\r\n\r\n",
    "5\r\nhell\r\n0\r\n\r\n",
    "5\r\nhello!\r\n0\r\n\r\n",
    "5\r\nhello0\r\n\r\n",
    "5\r\nhello\r\n\r\n0\r\n\r\n",
    "5\r\nhello\r\n0\r\n",
    "5\r\nhello\r\n0\r\n\r",
    "5\r\nhello\r\n",
    "5\r\nhel",
    "5\r\n",
    "5",
    "",
    "\r\n\r\n",
    ";x\r\nhello\r\n0\r\n\r\n",
    "-5\r\nhello\r\n0\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n",
    "g\r\n\r\n",
    "5\r\nhello\r\n0\r\nx: y\r\n\r\n",
    "5\r\nhello\r\n0\r\nx: y\r\nz: a\r\n\r\n",
    "5\r\nhello\r\n0\r\nno colon\r\n\r\n",
    "5\r\nhello\r\n0\r\nx: y\nz: a\r\n\r\n",
    "0\r\nx: y\r\n z\r\n\r\n",
    "0\r\ncontent-length: 7\r\n\r\n",
    "0\r\ntransfer-encoding: gzip\r\n\r\n",
    "0\r\n x: y\r\n\r\n",
    "0\r\n: y\r\n\r\n",
    "0\r\nx: y\r\n",
    "0\r\n\r\nmore",
    "0\r\n\r\n0\r\n\r\n",
    "fffffff\r\nhello\r\n0\r\n\r\n",
    "ffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "10000000000000000\r\nhello\r\n0\r\n\r\n",
    "10000000000000005\r\nhello\r\n0\r\n\r\n",
    "00000000000000000005\r\nhello\r\n0\r\n\r\n",
];

const WITH_LENGTH: &str = "content-length: 5\r\n\r\nhello";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const INTERIM: &str = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\ncontent-length: 3\r\n\r\n";

/// Returns responses to GET; each character stands for one byte.
pub fn responses() -> Vec<String> {
    let mut responses: Vec<String> = Vec::new();
    for line in LINES {
        responses.push(format!("{line}\r\n{WITH_LENGTH}"));
        responses.push(format!("{line}\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
        responses.push(format!("{line}\r\n\r\n"));
    }
    for headers in HEADERS {
        responses.push(format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\nhello"));
    }
    for coding in TRANSFER_CODINGS {
        let body = "5\r\nhello\r\n0\r\n\r\n";
        responses.push(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {coding}\r\n\r\n{body}"));
    }
    for connection in ["keep-alive", "close", "x"] {
        responses.push(format!("HTTP/1.0 200 OK\r\nconnection: {connection}\r\n{WITH_LENGTH}"));
    }
    responses.extend(CHUNKED_BODIES.iter().map(|body| format!("{CHUNKED}{body}")));
    responses.extend(at_the_limits());
    let whole = format!("HTTP/1.1 200 OK\r\n{WITH_LENGTH}");
    responses.extend(["\r\n", "x", "\0", &whole, INTERIM].map(|tail| format!("{whole}{tail}")));
    responses.extend((0..whole.len()).map(|end| whole[..end].to_owned()));
    responses
}

/// Returns responses with many or long elements.
fn at_the_limits() -> Vec<String> {
    let mut responses = Vec::new();
    for many in [1, 2, 5, 32, 33, 40] {
        responses.push(format!("{}HTTP/1.1 200 OK\r\n{WITH_LENGTH}", INTERIM.repeat(many)));
    }
    for many in [63, 64, 65, 99, 100, 101, 500] {
        responses
            .push(format!("HTTP/1.1 200 OK\r\n{}{WITH_LENGTH}", "warning: 299 - \"old\"\r\n".repeat(many)));
        responses.push(format!("{CHUNKED}0\r\n{}\r\n", "x: y\r\n".repeat(many)));
    }
    responses.push(format!("HTTP/1.1 200 OK\r\nx: {}\r\n{WITH_LENGTH}", "y".repeat(70_000)));
    responses.push(format!("{CHUNKED}5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(5000)));
    responses.push(format!("{CHUNKED}0\r\nx: {}\r\n\r\n", "y".repeat(17_000)));
    responses
}

/// Responses to HEAD.
pub const TO_HEAD: [&str; 6] = [
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
    CHUNKED,
    "HTTP/1.1 404 No\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
    "HTTP/1.0 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\n",
];
