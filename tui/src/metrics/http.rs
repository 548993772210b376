//! A server of one page. It has no TLS and no passwords: it listens on the loopback interface or on a Unix socket, and a
//! proxy in front of it has both. Each client has little time and little room, and keeps no other from its answer.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched_files::socket::Socket;
use iosched_result::failure::Failure;
use rustix::event::{PollFd, PollFlags, poll};

use super::text::Format;

/// For a whole request, and again for its answer.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_REQUEST: usize = 8 << 10;
const HEADERS: usize = 64;
/// Who has waited longest goes when there are more.
const MOST_CLIENTS: usize = 64;

pub struct Server {
    listener: Listener,
    clients: Vec<Client>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(Socket),
}

/// A connection, of either kind.
trait Stream: Read + Write + AsFd {}

impl Stream for TcpStream {}
impl Stream for UnixStream {}

struct Client {
    stream: Box<dyn Stream>,
    state: State,
    until: Instant,
}

enum State {
    Asks(Vec<u8>),
    /// The answer, and how much of it is written.
    IsTold(Vec<u8>, usize),
    Done,
}

/// Makes the page.
pub type Page<'a> = &'a mut dyn FnMut(Format) -> Result<Vec<u8>>;

impl Server {
    pub fn tcp(address: SocketAddr) -> Result<Server> {
        if !address.ip().is_loopback() {
            return Err(Failure::usage(
                format!("{address} is not an address of the loopback interface"),
                "listen on 127.0.0.1 and let a proxy with TLS and passwords pass it on, or use --unix or --textfile",
            ));
        }
        let listener = TcpListener::bind(address).map_err(|error| cannot(&address, &error))?;
        listener.set_nonblocking(true)?;
        Ok(Server::of(Listener::Tcp(listener)))
    }

    pub fn unix(path: &Path) -> Result<Server> {
        let socket = Socket::bind(path).map_err(|error| cannot(&path.display(), &error))?;
        socket.listener.set_nonblocking(true)?;
        Ok(Server::of(Listener::Unix(socket)))
    }

    fn of(listener: Listener) -> Server {
        Server {
            listener,
            clients: Vec::new(),
        }
    }

    pub fn name(&self) -> String {
        match &self.listener {
            Listener::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("http://{address}/metrics"),
                Err(_) => "http".to_owned(),
            },
            Listener::Unix(socket) => format!("{} (a Unix socket)", socket.path.display()),
        }
    }

    /// Answers clients for at most this time, and returns when something has happened or a signal has come. Err: the page
    /// could not be made; what a client does wrong ends its own connection only.
    pub fn answer(&mut self, at_most: Duration, page: Page<'_>) -> Result<()> {
        let (mut wanted, mut fds) = (Vec::new(), vec![self.listener.fd()]);
        for client in &self.clients {
            wanted.push(match client.state {
                State::IsTold(..) => PollFlags::OUT,
                State::Asks(_) | State::Done => PollFlags::IN,
            });
            fds.push(client.stream.as_fd());
        }
        let flags = [PollFlags::IN].into_iter().chain(wanted);
        let mut fds: Vec<PollFd<'_>> = fds
            .into_iter()
            .zip(flags)
            .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags))
            .collect();
        match poll(&mut fds, Some(&at_most.try_into()?)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("waiting for a connection"),
        }
        let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (client, _) in self
            .clients
            .iter_mut()
            .zip(&is_ready[1..])
            .filter(|(_, is)| **is)
        {
            client.go_on(page)?;
        }
        let now = Instant::now();
        self.clients
            .retain(|client| now < client.until && !matches!(client.state, State::Done));
        while let Some(stream) = self.listener.accepted() {
            if self.clients.len() >= MOST_CLIENTS {
                self.clients.remove(0);
            }
            self.clients.push(Client {
                stream,
                state: State::Asks(Vec::new()),
                until: now + PATIENCE,
            });
        }
        Ok(())
    }
}

impl Listener {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(socket) => socket.listener.as_fd(),
        }
    }

    fn accepted(&self) -> Option<Box<dyn Stream>> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().ok()?;
                stream.set_nonblocking(true).ok()?;
                Some(Box::new(stream))
            }
            Listener::Unix(socket) => {
                let (stream, _) = socket.listener.accept().ok()?;
                stream.set_nonblocking(true).ok()?;
                Some(Box::new(stream))
            }
        }
    }
}

impl Client {
    fn go_on(&mut self, page: Page<'_>) -> Result<()> {
        if let State::Asks(request) = &mut self.state {
            let asked = match read_more(&mut *self.stream, request) {
                Said::All(asked) => asked,
                Said::Part => return Ok(()),
                Said::Nothing => {
                    self.state = State::Done;
                    return Ok(());
                }
            };
            self.state = State::IsTold(answer(&asked, page)?, 0);
            self.until = Instant::now() + PATIENCE;
        }
        if let State::IsTold(answer, written) = &mut self.state {
            match self.stream.write(&answer[*written..]) {
                Ok(0) => self.state = State::Done,
                Ok(more) => {
                    *written += more;
                    if *written == answer.len() {
                        self.state = State::Done;
                    }
                }
                Err(error) if is_passing(&error) => {}
                Err(_) => self.state = State::Done,
            }
        }
        Ok(())
    }
}

fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

enum Said {
    All(Asked),
    Part,
    /// The client is gone.
    Nothing,
}

fn read_more(stream: &mut dyn Stream, request: &mut Vec<u8>) -> Said {
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part) {
            Ok(0) => return Said::Nothing,
            Ok(read) => request.extend_from_slice(&part[..read]),
            Err(error) if is_passing(&error) => return Said::Part,
            Err(_) => return Said::Nothing,
        }
        if let Some(asked) = parsed(request) {
            return Said::All(asked);
        }
        if request.len() > LONGEST_REQUEST {
            return Said::All(Asked::Other("431 Request Header Fields Too Large"));
        }
    }
}

fn cannot(place: &dyn std::fmt::Display, error: &std::io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => "is another exporter running? Choose another port or path",
        _ => "choose another address or path",
    };
    Failure::usage(format!("cannot listen on {place}: {error}"), hint)
}

const ROOT: &str = "<!doctype html><title>iosched</title><a href=\"/metrics\">metrics</a>\n";

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Metrics { format: Format, is_head: bool },
    Root,
    Other(&'static str),
}

/// None: more is to come.
fn parsed(request: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return None,
        Err(_) => return Some(Asked::Other("400 Bad Request")),
    }
    let accept = parsed
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("accept"));
    let accept = accept.map_or("", |header| std::str::from_utf8(header.value).unwrap_or(""));
    let path = parsed.path.unwrap_or("");
    let path = path.split('?').next().unwrap_or(path);
    Some(match (parsed.method.unwrap_or(""), path) {
        (method @ ("GET" | "HEAD"), "/metrics") => Asked::Metrics {
            format: Format::of(accept),
            is_head: method == "HEAD",
        },
        ("GET", "/") => Asked::Root,
        ("GET" | "HEAD", _) => Asked::Other("404 Not Found"),
        _ => Asked::Other("405 Method Not Allowed"),
    })
}

fn answer(asked: &Asked, page: Page<'_>) -> Result<Vec<u8>> {
    Ok(match asked {
        Asked::Metrics { format, is_head } => {
            let page = page(*format)?;
            let body = if *is_head { &[][..] } else { &page };
            response("200 OK", format.content_type(), page.len(), body)
        }
        Asked::Root => {
            let body = ROOT.as_bytes();
            response("200 OK", "text/html; charset=utf-8", body.len(), body)
        }
        Asked::Other(status) => {
            let body = format!("{status}\n");
            let body = body.as_bytes();
            response(status, "text/plain; charset=utf-8", body.len(), body)
        }
    })
}

/// `length`: of the whole body, which an answer to HEAD leaves out.
fn response(status: &str, kind: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_told_from_what_is_not() {
        let metrics = |format, is_head| Some(Asked::Metrics { format, is_head });
        for (request, expected) in [
            (
                "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
                metrics(Format::Plain, false),
            ),
            (
                "GET /metrics?x=1 HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0,text/plain\r\n\r\n",
                metrics(Format::OpenMetrics, false),
            ),
            (
                "HEAD /metrics HTTP/1.0\r\n\r\n",
                metrics(Format::Plain, true),
            ),
            ("GET / HTTP/1.1\r\n\r\n", Some(Asked::Root)),
            (
                "GET /../etc/passwd HTTP/1.1\r\n\r\n",
                Some(Asked::Other("404 Not Found")),
            ),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                Some(Asked::Other("405 Method Not Allowed")),
            ),
            ("\u{0}\r\n\r\n", Some(Asked::Other("400 Bad Request"))),
            ("GET /metrics HTTP/1.1\r\nHost", None),
        ] {
            assert_eq!(parsed(request.as_bytes()), expected, "{request:?}");
        }
    }
}
