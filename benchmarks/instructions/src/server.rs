//! A server that answers all its clients together, as soon as each of them has sent a request.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The response to a search.
const SEARCH_RESPONSE: &str = r#"{"took":3,"timed_out":false,"_shards":{"total":5,"successful":5,"skipped":0,"failed":0},"hits":{"total":{"value":10000,"relation":"gte"},"max_score":1.0,"hits":[{"_index":"logs-211998","_id":"kE0","_score":1.0},{"_index":"logs-211998","_id":"kE1","_score":1.0}]}}"#;
/// The response to a bulk. A driver reads a response without errors up to its first item.
const BULK_RESPONSE: &str = r#"{"took":30,"errors":false,"items":[{"index":{"status":201}}]}"#;

/// Prints the server's port and serves one race after another, each with `clients` clients, until the process is
/// killed.
pub fn serve(clients: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut out = io::stdout();
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;
    loop {
        let mut connections = Vec::new();
        for _ in 0..clients {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            connections.push(Connection { stream, received: Vec::new(), is_bulk: false });
        }
        serve_race(&mut connections)?;
    }
}

/// Serves until one of the clients closes its connection.
fn serve_race(connections: &mut [Connection]) -> io::Result<()> {
    let (search, bulk) = (response(SEARCH_RESPONSE), response(BULK_RESPONSE));
    loop {
        for connection in &mut *connections {
            if !connection.read_request()? {
                return Ok(());
            }
        }
        for connection in &mut *connections {
            let response = if connection.is_bulk { &bulk } else { &search };
            connection.stream.write_all(response)?;
        }
    }
}

fn response(body: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
    format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes()
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    /// Whether the last request of the client was a bulk.
    is_bulk: bool,
}

impl Connection {
    /// Reads one entire request; returns `false` if the client has closed the connection.
    fn read_request(&mut self) -> io::Result<bool> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            if request_length(&self.received).is_some_and(|length| length <= self.received.len()) {
                self.is_bulk = self.received.starts_with(b"POST /_bulk");
                // Clients do not pipeline requests.
                self.received.clear();
                return Ok(true);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return Ok(false),
                Ok(read) => self.received.extend_from_slice(&buffer[..read]),
            }
        }
    }
}

/// Returns the length of a request in bytes, or `None` while its head is incomplete.
fn request_length(request: &[u8]) -> Option<usize> {
    let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
    let body =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    Some(end + 4 + body.unwrap_or(0))
}
