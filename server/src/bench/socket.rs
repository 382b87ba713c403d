//! A light socket to the live map: reads what comes, answers pings, and keeps the payload of frames
//! only where somebody wants it. Thousands of them fit beside the server on two cores.
//!
//! It understands what a server may send by RFC 6455: unmasked frames, unfragmented here.

use crate::rush::http::{open, source_address};
use anyhow::{Context as _, bail, ensure};
use domain::PerformanceId;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a socket may take to open, and to bring its first frame.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest head of the answer to an upgrade.
const HEAD_MAX_BYTES: usize = 8_192;
/// Largest frame: the snapshot of the largest map has 25 KB.
const FRAME_MAX_BYTES: u64 = 1 << 18;
/// Bytes taken in one read.
const READ_BYTES: usize = 16_384;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
/// An empty pong under the mask 0.
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];

/// An open socket.
pub(super) struct Socket {
    stream: TcpStream,
    frames: Frames,
}

/// What a reading found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Binary frames that ended; their payloads where they are kept.
    pub(super) frames: usize,
    pub(super) payloads: Vec<Vec<u8>>,
    /// Bytes of these frames with their heads.
    pub(super) bytes: usize,
    pings: usize,
    closed: bool,
}

impl Socket {
    /// Opens the live map of a performance from a source address of its own.
    pub(super) async fn open(address: SocketAddr, id: PerformanceId, number: usize) -> anyhow::Result<Self> {
        tokio::time::timeout(OPEN_TIMEOUT, Self::upgrade(address, id, number))
            .await
            .context("a socket did not open in time")?
    }

    async fn upgrade(address: SocketAddr, id: PerformanceId, number: usize) -> anyhow::Result<Self> {
        let mut stream = open(address, Some(source_address(number))).await.context("connecting a socket")?;
        // The key is only there to be echoed in a digest, which a client of our own has no use for.
        let request = format!(
            "GET /ws/performances/{id} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\n\
             connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: c3RhcmFyZW5hLWJlbmNoIQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::with_capacity(1_024);
        let end = loop {
            ensure!(stream.read_buf(&mut head).await? > 0, "the server closed a socket before it was open");
            if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            ensure!(head.len() < HEAD_MAX_BYTES, "the answer to an upgrade has no end");
        };
        if !head.starts_with(b"HTTP/1.1 101") {
            bail!("a socket was refused: {}", String::from_utf8_lossy(&head[..end.min(200)]));
        }
        let mut socket = Self { stream, frames: Frames::default() };
        // What came with the head belongs to the frames.
        socket.frames.before = head.split_off(end);
        Ok(socket)
    }

    /// Keeps the payloads of frames from now on.
    pub(super) fn keep(&mut self) {
        self.frames.keep = true;
    }

    /// Waits for bytes and reads them.
    pub(super) async fn read(&mut self) -> anyhow::Result<Found> {
        let mut found = Found::default();
        let before = std::mem::take(&mut self.frames.before);
        if before.is_empty() {
            self.stream.readable().await?;
            // On the stack, and gone before the next wait: a socket keeps no buffer.
            let mut buffer = [0; READ_BYTES];
            match self.stream.try_read(&mut buffer) {
                Ok(0) => bail!("the server closed a socket"),
                Ok(count) => self.frames.feed(&buffer[..count], &mut found)?,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        } else {
            self.frames.feed(&before, &mut found)?;
        }
        for _ in 0..found.pings {
            self.stream.write_all(&PONG).await?;
        }
        ensure!(!found.closed, "the server said goodbye to a socket");
        Ok(found)
    }

    /// Sends a short word, under the mask 0.
    pub(super) async fn say(&mut self, word: &str) -> anyhow::Result<()> {
        let length = u8::try_from(word.len()).ok().filter(|length| *length <= 125).context("a word is short")?;
        let mut frame = vec![0x81, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(word.as_bytes());
        self.stream.write_all(&frame).await?;
        Ok(())
    }

    /// Waits for the first frame: its bytes on the wire.
    pub(super) async fn first_frame(&mut self) -> anyhow::Result<usize> {
        let reading = async {
            loop {
                let found = self.read().await?;
                if let Some(each) = found.bytes.checked_div(found.frames) {
                    return Ok(each);
                }
            }
        };
        tokio::time::timeout(OPEN_TIMEOUT, reading).await.context("a socket brought no frame in time")?
    }
}

/// Where a reading stands among frames.
#[derive(Default)]
struct Frames {
    before: Vec<u8>,
    keep: bool,
    head: [u8; 10],
    head_length: usize,
    in_payload: bool,
    left: u64,
    bytes: usize,
    payload: Vec<u8>,
}

impl Frames {
    fn feed(&mut self, mut bytes: &[u8], found: &mut Found) -> anyhow::Result<()> {
        while let Some((first, rest)) = bytes.split_first() {
            if !self.in_payload {
                self.head[self.head_length] = *first;
                self.head_length += 1;
                bytes = rest;
                let Some(length) = self.length() else { continue };
                ensure!(length <= FRAME_MAX_BYTES, "a frame of {length} bytes is larger than any that is expected");
                self.in_payload = true;
                self.left = length;
                self.bytes = self.head_length + usize::try_from(length)?;
                self.payload.clear();
            } else {
                let count = bytes.len().min(usize::try_from(self.left)?);
                if self.keep {
                    self.payload.extend_from_slice(&bytes[..count]);
                }
                self.left -= u64::try_from(count)?;
                bytes = &bytes[count..];
            }
            if self.in_payload && self.left == 0 {
                self.end(found);
            }
        }
        Ok(())
    }

    /// The length of the payload, once the head is whole.
    fn length(&self) -> Option<u64> {
        let head = &self.head;
        match (self.head_length, head[1] & 0x7f) {
            (2, short @ 0..=125) => Some(u64::from(short)),
            (4, 126) => Some(u64::from(u16::from_be_bytes([head[2], head[3]]))),
            (10, 127) => head[2..].try_into().ok().map(u64::from_be_bytes),
            _ => None,
        }
    }

    fn end(&mut self, found: &mut Found) {
        match self.head[0] & 0x0f {
            BINARY => {
                found.frames += 1;
                found.bytes += self.bytes;
                if self.keep {
                    found.payloads.push(std::mem::take(&mut self.payload));
                }
            }
            PING => found.pings += 1,
            CLOSE => found.closed = true,
            _ => {}
        }
        self.in_payload = false;
        self.head_length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_wherever_a_read_ends() {
        let long = vec![7; 300];
        let mut wire = vec![0x82, 3, 1, 2, 3, 0x89, 0, 0x82, 126, 1, 44];
        wire.extend_from_slice(&long);
        wire.extend_from_slice(&[0x82, 0]);
        for step in [1, 2, 5, 400] {
            let mut frames = Frames { keep: true, ..Frames::default() };
            let mut found = Found::default();
            wire.chunks(step).for_each(|part| frames.feed(part, &mut found).unwrap());
            assert_eq!(found.payloads, [vec![1, 2, 3], long.clone(), Vec::new()], "in steps of {step}");
            assert_eq!((found.frames, found.pings, found.bytes), (3, 1, 5 + 304 + 2));
        }
        let mut found = Found::default();
        Frames::default().feed(&wire, &mut found).unwrap();
        assert_eq!((found.frames, found.payloads.len()), (3, 0), "nothing is kept that nobody wants");
        assert!(Frames::default().feed(&[0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0], &mut found).is_err());
    }
}
