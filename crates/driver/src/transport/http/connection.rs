//! One connection: a request goes out, a reply comes in.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Instant;

use super::error::{ExchangeError, FOLLOWED};
use super::head::Head;
use super::receiver::{Receiver, Reply};
use crate::transport::connect::{DialError, Route};
use crate::transport::stream::{Crossed, Stream};
use crate::transport::tls::tls_error;

/// A connection to one host.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    receiver: Receiver,
    spent: bool,
}

impl Connection {
    /// Connects until `deadline`; see [`Route::dial`].
    ///
    /// # Errors
    ///
    /// [`DialError`].
    pub async fn open(route: &Route, client: usize, deadline: Instant) -> Result<Self, DialError> {
        let stream = route.dial(client, deadline).await?;
        Ok(Self { stream, receiver: Receiver::default(), spent: false })
    }

    /// Whether another request can be sent: the peer has neither announced nor carried out the end.
    #[must_use]
    pub fn usable(&mut self) -> bool {
        // Between exchanges nothing may come in: a byte is garbage, an end of file a closed connection.
        !self.spent && self.stream.is_silent()
    }

    /// What has crossed the wire so far.
    #[must_use]
    pub fn crossed(&self) -> Crossed {
        self.stream.crossed()
    }

    /// Whether the peer has closed the connection without having announced it.
    #[must_use]
    pub fn was_cut(&mut self) -> bool {
        !self.spent && !self.usable()
    }

    /// Sends one request and reads its reply to the last byte.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`]; the connection is then not [`Connection::usable`] any more.
    pub async fn exchange(&mut self, head: &mut Head, body: &[u8]) -> Result<Reply, ExchangeError> {
        self.spent = true;
        self.receiver.begin(head.bodiless_reply());
        let (head, body) = head.with_body(body);
        let (reply, all_sent) = match self.send(head, body).await {
            Ok(Sent { early: Some(reply), all }) => (reply, all),
            Ok(Sent { early: None, .. }) => (self.receive().await?, true),
            // A server that refuses a large body may answer and close before it has read it all: its answer says more
            // than the broken pipe, and so does an alert of TLS.
            Err(ExchangeError::Io(error)) => match self.receive().await {
                // What ends where the connection breaks may have been longer: enough for a refusal, not for more.
                Ok(reply) if reply.status < 400 && self.receiver.ends_with_connection() => {
                    return Err(error.into());
                }
                read => (read.map_err(|read| worse(read, error))?, false),
            },
            Err(error) => return Err(error),
        };
        self.spent = reply.close || !all_sent;
        Ok(reply)
    }

    /// Decompresses the body of the last reply, if it is compressed: work to be done when the clock has stopped.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] when it is coded otherwise, or broken, or longer than any body may be.
    pub fn decode(&mut self, reply: Reply) -> Result<Reply, ExchangeError> {
        self.receiver.decode(reply)
    }

    /// The headers of the last reply, as the server wrote them; none while there is no whole reply.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        self.receiver.headers()
    }

    /// The body of the last reply: as it came until [`Connection::decode`] has seen it.
    #[must_use]
    pub fn body(&self, reply: &Reply) -> &[u8] {
        self.receiver.body(reply)
    }

    /// Sends head and body, in one system call as long as the socket takes them. While it takes no more, the peer is
    /// listened to: it may answer before it has read everything. If it then closes the connection the rest is not sent
    /// (RFC 9112, section 9.5); otherwise it is, so that the connection can be used again.
    async fn send(&mut self, mut head: &[u8], mut body: &[u8]) -> Result<Sent, ExchangeError> {
        let mut early: Option<Reply> = None;
        while !(head.is_empty() && body.is_empty() && self.stream.is_flushed()) {
            match poll_fn(|context| self.poll_step(head, body, context)).await {
                Ok(Step::Wrote(written)) => {
                    let of_head = written.min(head.len());
                    head = &head[of_head..];
                    body = &body[written - of_head..];
                }
                Ok(Step::Came(1..)) if early.is_none() => early = self.receiver.advance()?,
                stopped => return Ok(Sent { early: Some(self.last_words(early, stopped)?), all: false }),
            }
            if early.as_ref().is_some_and(|reply| reply.close) {
                return Ok(Sent { early, all: false });
            }
        }
        Ok(Sent { early, all: true })
    }

    /// Writes some of the request; if the socket takes none of it, reads some of the reply.
    fn poll_step(&mut self, head: &[u8], body: &[u8], context: &mut Context<'_>) -> Poll<io::Result<Step>> {
        match self.stream.poll_write(head, body, context) {
            Poll::Ready(written) => Poll::Ready(written.map(Step::Wrote)),
            Poll::Pending => {
                pin!(self.stream.read_buf(self.receiver.room())).poll(context).map_ok(Step::Came)
            }
        }
    }

    /// What became of a request that could not be sent to its end.
    fn last_words(
        &mut self,
        early: Option<Reply>,
        stopped: io::Result<Step>,
    ) -> Result<Reply, ExchangeError> {
        match (stopped, early) {
            (Ok(Step::Came(1..)), _) => Err(FOLLOWED),
            (_, Some(reply)) => Ok(reply),
            (Ok(_), None) => self.receiver.end(),
            (Err(error), None) => Err(error.into()),
        }
    }

    async fn receive(&mut self) -> Result<Reply, ExchangeError> {
        loop {
            if let Some(reply) = self.receiver.advance()? {
                return Ok(reply);
            }
            if self.stream.read_buf(self.receiver.room()).await? == 0 {
                return self.receiver.end();
            }
        }
    }
}

/// Which of the errors of a read and of the write before it says more.
fn worse(read: ExchangeError, written: io::Error) -> ExchangeError {
    match read {
        ExchangeError::Io(alert) if tls_error(&alert).is_some() => alert.into(),
        _ => written.into(),
    }
}

/// How far a request was sent.
#[derive(Debug)]
struct Sent {
    /// The reply, if it came before everything was sent.
    early: Option<Reply>,
    /// Everything was sent.
    all: bool,
}

/// What was done next while a request is sent.
#[derive(Debug)]
enum Step {
    /// So many bytes of the request have left.
    Wrote(usize),
    /// So many bytes of the reply have come; none: the peer has closed its side.
    Came(usize),
}
