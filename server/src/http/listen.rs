//! The accept loop: what the framework's own one leaves out — a time-out for slow headers, no
//! delay for small packets, a cap on connections, and an end with a deadline.

use super::{State, router, status};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use backend::Backend;
use bytes::Bytes;
use futures::future::{BoxFuture, Either as EitherFuture, Ready, ready};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// Connections of one process; more are told to come again.
const CONNECTIONS_MAX: usize = 30_000;
/// Connections that are being told so; more are closed without a word.
const TOLD_MAX: usize = 1_000;
/// When they may come again, at least.
const FULL_AGAIN_MS: u32 = 2_000;
/// How long telling may take.
const TELL_TIMEOUT: Duration = Duration::from_secs(1);
/// Whoever takes longer to send headers holds a connection for nothing.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest header section.
const HEADERS_MAX_BYTES: usize = 32 * 1024;
/// How much of what was written may wait in the kernel for a client that reads slowly, behind what is on
/// its way: the usual buffers grow to megabytes, and a live map's reader would be shown all of that,
/// old as it is, before it is given a snapshot.
const UNSENT_MAX_BYTES: u32 = 32 * 1024;
/// How long requests and sockets under way may take once the process winds down.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

/// What one connection's requests meet first: polls of the status are answered here where that needs no waiting,
/// everything else goes to the router.
struct Entrance {
    backend: Arc<Backend>,
    router: Router,
    peer: SocketAddr,
}

/// An answer made here, or the router's.
type Answer = Result<http::Response<Either<Full<Bytes>, Body>>, Infallible>;

impl hyper::service::Service<http::Request<Incoming>> for Entrance {
    type Response = http::Response<Either<Full<Bytes>, Body>>;
    type Error = Infallible;
    type Future = EitherFuture<Ready<Answer>, BoxFuture<'static, Answer>>;

    fn call(&self, mut request: http::Request<Incoming>) -> Self::Future {
        if let Some(response) = status::at_hand(&self.backend, &request) {
            return EitherFuture::Left(ready(Ok(response.map(Either::Left))));
        }
        request.extensions_mut().insert(ConnectInfo::<SocketAddr>(self.peer));
        let answer = self.router.clone().oneshot(request);
        EitherFuture::Right(Box::pin(async move {
            answer.await.map(|response| response.map(Either::<Full<Bytes>, Body>::Right))
        }))
    }
}

/// Serves until `state.stop`, then lets requests under way finish and sockets close, within a bound.
///
/// # Errors
/// Never by a client's doing; a listener that is broken for good ends the loop.
pub async fn serve(listener: TcpListener, state: State) -> std::io::Result<()> {
    let (sockets, stop) = (Arc::clone(&state.sockets), state.stop.clone());
    let backend = Arc::clone(&state.backend);
    let (router, load) = (router(state), backend.load());
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let telling = Arc::new(Semaphore::new(TOLD_MAX));
    let connections = TaskTracker::new();
    let mut server = hyper::server::conn::http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIMEOUT)
        .max_buf_size(HEADERS_MAX_BYTES.max(8192))
        .keep_alive(true);
    loop {
        load.note_connections(CONNECTIONS_MAX - slots.available_permits(), CONNECTIONS_MAX);
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, or a client that left: others may still come.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else {
            if let Ok(telling) = Arc::clone(&telling).try_acquire_owned() {
                tokio::spawn(tell_full(stream, load.spread_ms(FULL_AGAIN_MS), telling));
            }
            continue;
        };
        if let Err(error) = tune(&stream) {
            tracing::debug!(%error, "a connection keeps its defaults");
        }
        let entrance = Entrance { backend: Arc::clone(&backend), router: router.clone(), peer };
        let connection = server.serve_connection(TokioIo::new(stream), entrance).with_upgrades();
        let stopping = stop.clone();
        connections.spawn(async move {
            let mut connection = std::pin::pin!(connection);
            let outcome = tokio::select! {
                outcome = connection.as_mut() => outcome,
                () = stopping.cancelled() => {
                    // The request under way is answered, then the connection closes.
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = outcome {
                tracing::trace!(%error, "a connection ended early");
            }
            drop(slot);
        });
    }
    drop(listener);
    connections.close();
    // A connection becomes a socket when it is upgraded: these are waited for first.
    let drained = async {
        connections.wait().await;
        sockets.ended().await;
    };
    if tokio::time::timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!("some requests or sockets did not end in time");
    }
    Ok(())
}

/// Tells a client that as many as allowed are connected: at once, rather than never.
async fn tell_full(mut stream: TcpStream, again_ms: u32, _telling: OwnedSemaphorePermit) {
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        again_ms.div_ceil(1_000)
    );
    let told = async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    };
    metrics::counter!("stararena_connections_refused_total").increment(1);
    // A client that does not listen is gone.
    drop(tokio::time::timeout(TELL_TIMEOUT, told).await);
}

/// Small packets at once, and a short queue for who reads slowly.
fn tune(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_MAX_BYTES)
}
