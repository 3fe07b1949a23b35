//! The frames between broker and cage: a head as JSON, then a body, each after its length in four bytes.

use std::os::unix::net::UnixStream as StdUnixStream;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::fetch::{Answer, Fetcher};
use super::target::Refusal;

const HEAD_MAX: u32 = 256 * 1024;

/// One request as the executor wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    #[serde(skip)]
    pub(super) body: Vec<u8>,
}

/// Serves requests one after the other until the cage is gone or breaks the framing.
pub(super) async fn serve(socket: StdUnixStream, mut fetcher: Fetcher) {
    let served = async {
        let mut socket = UnixStream::from_std(socket)?;
        while let Some(request) = read_request(&mut socket, fetcher.max_request_bytes()).await? {
            let answer = match request {
                Ok(request) => fetcher.fetch(request).await,
                Err(refusal) => Err(refusal),
            };
            write_answer(&mut socket, answer).await?;
        }
        Ok::<(), std::io::Error>(())
    };
    if let Err(error) = served.await {
        tracing::debug!(%error, "a broker's cage went away");
    }
}

async fn read_request(socket: &mut UnixStream, body_max: u64) -> std::io::Result<Option<Result<Request, Refusal>>> {
    let head_length = match socket.read_u32().await {
        Ok(length) => length,
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    if head_length > HEAD_MAX {
        return Err(std::io::Error::other("a request's head is too long"));
    }
    let mut head = vec![0; head_length as usize];
    socket.read_exact(&mut head).await?;
    let body_length = u64::from(socket.read_u32().await?);
    if body_length > body_max {
        // Read past it, so that the next request is found, and keep none of it.
        tokio::io::copy(&mut socket.take(body_length), &mut tokio::io::sink()).await?;
        return Ok(Some(Err(Refusal::new(
            "too_large",
            format!("a request of {body_length} bytes is more than the {body_max} that are allowed"),
        ))));
    }
    let mut body = vec![0; usize::try_from(body_length).map_err(std::io::Error::other)?];
    socket.read_exact(&mut body).await?;
    Ok(Some(match serde_json::from_slice::<Request>(&head) {
        Ok(request) => Ok(Request { body, ..request }),
        Err(error) => Err(Refusal::new("invalid_args", format!("the request is not understood: {error}"))),
    }))
}

async fn write_answer(socket: &mut UnixStream, answer: Result<Answer, Refusal>) -> std::io::Result<()> {
    let (head, body) = match answer {
        Ok(answer) => (
            json!({"status": answer.status, "url": answer.url, "headers": answer.headers, "truncated": answer.truncated}),
            answer.body,
        ),
        Err(refusal) => (json!({"error_class": refusal.class, "error": refusal.message}), Vec::new()),
    };
    let head = head.to_string();
    for part in [head.as_bytes(), &body] {
        socket.write_u32(u32::try_from(part.len()).map_err(std::io::Error::other)?).await?;
        socket.write_all(part).await?;
    }
    Ok(())
}
