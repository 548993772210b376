//! A server of one page. It has no TLS and no passwords: it listens on the loopback interface or on a Unix socket, and a
//! proxy in front of it has both. One connection at a time, each with little time and little room.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iosched_result::failure::Failure;

use super::text::Format;

/// For a whole request, and again for its answer.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_REQUEST: usize = 8 << 10;
const HEADERS: usize = 64;

pub enum Server {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// A connection, of either kind.
trait Stream: Read + Write {
    fn limit(&self, time: Duration) -> std::io::Result<()>;
}

impl Stream for std::net::TcpStream {
    fn limit(&self, time: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl Stream for UnixStream {
    fn limit(&self, time: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

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
        Ok(Server::Tcp(listener))
    }

    /// Readable and writable for its group; a socket that is there from an exporter that was killed is replaced.
    pub fn unix(path: &Path) -> Result<Server> {
        let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path)
                .with_context(|| format!("removing the old socket {}", path.display()))?;
        }
        let listener = UnixListener::bind(path).map_err(|error| cannot(&path.display(), &error))?;
        listener.set_nonblocking(true)?;
        Ok(Server::Unix(listener, path.to_owned()))
    }

    pub fn name(&self) -> String {
        match self {
            Server::Tcp(listener) => match listener.local_addr() {
                Ok(address) => format!("http://{address}/metrics"),
                Err(_) => "http".to_owned(),
            },
            Server::Unix(_, path) => format!("{} (a Unix socket)", path.display()),
        }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Server::Tcp(listener) => listener.as_fd(),
            Server::Unix(listener, _) => listener.as_fd(),
        }
    }

    /// Answers who waits, if somebody does. Err: the page could not be made; what a client does wrong ends its own
    /// connection only.
    pub fn answer(&self, page: &mut dyn FnMut(Format) -> Result<Vec<u8>>) -> Result<()> {
        let mut stream: Box<dyn Stream> = match self {
            Server::Tcp(listener) => match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    Box::new(stream)
                }
                Err(_) => return Ok(()),
            },
            Server::Unix(listener, _) => match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    Box::new(stream)
                }
                Err(_) => return Ok(()),
            },
        };
        let Some(asked) = asked(&mut *stream) else {
            return Ok(());
        };
        let answer = match asked {
            Asked::Metrics { format, is_head } => {
                let page = page(format)?;
                let body = if is_head { &[][..] } else { &page };
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
        };
        write_in_time(&mut *stream, &answer);
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Server::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
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

/// None: nothing that can be answered came in time.
fn asked(stream: &mut dyn Stream) -> Option<Asked> {
    let end = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = end.checked_duration_since(Instant::now())?;
        stream.limit(left.max(Duration::from_millis(1))).ok()?;
        let read = stream.read(&mut part).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&part[..read]);
        if request.len() > LONGEST_REQUEST {
            return Some(Asked::Other("431 Request Header Fields Too Large"));
        }
        if let Some(asked) = parsed(&request) {
            return Some(asked);
        }
    }
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

/// `length`: of the whole body, which an answer to HEAD leaves out.
fn response(status: &str, kind: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A client that reads slowly gets a part of it.
fn write_in_time(stream: &mut dyn Stream, mut answer: &[u8]) {
    let end = Instant::now() + PATIENCE;
    while let Some(left) = end.checked_duration_since(Instant::now())
        && !answer.is_empty()
    {
        if stream.limit(left.max(Duration::from_millis(1))).is_err() {
            return;
        }
        match stream.write(answer) {
            Ok(written) if written > 0 => answer = &answer[written..],
            _ => return,
        }
    }
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
