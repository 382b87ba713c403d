//! Pictures of events: read with limits, drawn anew, kept under the digest of their content.
//!
//! Nothing of the uploaded file reaches a fan but its pixels: no metadata, no second file hidden behind
//! the first.

use super::access::Member;
use super::making::invalid;
use super::storing::write_once;
use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::{catalog, detached};
use bytes::Bytes;
use domain::account::Session;
use domain::organizer::Action;
use domain::{Code, EventId};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::io::Cursor;
use std::sync::Arc;

/// Bytes of one uploaded picture: a large photograph.
pub const PICTURE_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Longest side of an uploaded picture, in pixels.
const SIDE_MAX_PX: u32 = 8_000;
/// Memory that decoding may take: a picture of 8,000 by 4,000 pixels.
const DECODE_MAX_BYTES: u64 = 128 * 1024 * 1024;
/// Width and height of what is served, in pixels: twice the widest cover on a page.
const SERVED_MAX_PX: u32 = 1_600;
/// Quality of what is served, in percent: beyond, files grow faster than anybody sees.
const JPEG_QUALITY: u8 = 82;

impl Backend {
    /// Gives an event a picture: PNG, JPEG or WebP.
    ///
    /// # Errors
    /// `not_found`; `too_large`; `invalid_input` when the picture can't be read.
    pub async fn set_event_picture(self: &Arc<Self>, session: &Session, event: EventId, content: Bytes) -> Result<()> {
        let member = self.editor_of(session, event).await?;
        if content.len() > PICTURE_MAX_BYTES {
            return refuse(
                Code::TooLarge,
                format!("picture: at most {} MiB are expected", PICTURE_MAX_BYTES / 1024 / 1024),
            );
        }
        let turn = self.turn().await?;
        let dir = self.config.pictures_dir();
        let digest = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let served = redraw(&content)?;
            let digest = hex::encode(Sha256::digest(&served));
            std::fs::create_dir_all(&dir)?;
            write_once(&dir.join(format!("{digest}.jpg")), &served)?;
            Ok::<_, Error>(digest)
        })
        .await
        .map_err(|e| Error::Broken(format!("the reading of a picture ended early: {e}")))??;
        self.put_picture(member, event, Some(digest)).await
    }

    /// Takes the picture of an event away: its drawn cover shows again.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn remove_event_picture(self: &Arc<Self>, session: &Session, event: EventId) -> Result<()> {
        let member = self.editor_of(session, event).await?;
        self.put_picture(member, event, None).await
    }

    /// The member, if the role allows changes and the event is the organization's.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn editor_of(&self, session: &Session, event: EventId) -> Result<Member> {
        let member = self.member(session, Action::EditEvents).await?;
        if catalog::owns_event(&self.pg, member.organization, event).await? {
            return Ok(member);
        }
        not_found("event")
    }

    async fn put_picture(self: &Arc<Self>, member: Member, event: EventId, digest: Option<String>) -> Result<()> {
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !catalog::set_picture(&mut *tx, member.organization, event, digest.as_deref()).await? {
                return not_found("event");
            }
            let detail = json!({ "picture": digest });
            this.record(&mut *tx, &member, "event.picture", &format!("event {event}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }
}

/// The picture as it is served: upright, on white, no larger than needed.
fn redraw(content: &[u8]) -> Result<Vec<u8>> {
    let mut reader = ImageReader::new(Cursor::new(content)).with_guessed_format()?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) {
        return invalid("picture: a PNG, JPEG or WebP file is expected");
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX_PX);
    limits.max_image_height = Some(SIDE_MAX_PX);
    limits.max_alloc = Some(DECODE_MAX_BYTES);
    reader.limits(limits);
    let picture = decode(reader).or_else(|e| match e {
        image::ImageError::Limits(_) => {
            invalid(format!("picture: at most {SIDE_MAX_PX} pixels a side, and 32 megapixels, are expected"))
        }
        e => invalid(format!("picture: the file can't be read: {e}")),
    })?;
    let small = if picture.width() > SERVED_MAX_PX || picture.height() > SERVED_MAX_PX {
        picture.resize(SERVED_MAX_PX, SERVED_MAX_PX, FilterType::CatmullRom)
    } else {
        picture
    };
    let mut served = Vec::new();
    JpegEncoder::new_with_quality(&mut served, JPEG_QUALITY)
        .encode_image(&on_white(&small))
        .map_err(|e| Error::Broken(format!("a picture can't be written: {e}")))?;
    Ok(served)
}

fn decode(reader: ImageReader<Cursor<&[u8]>>) -> image::ImageResult<DynamicImage> {
    let mut decoder = reader.into_decoder()?;
    // Not every decoder heeds the limit of memory by itself.
    if decoder.total_bytes() > DECODE_MAX_BYTES {
        return Err(image::ImageError::Limits(image::error::LimitError::from_kind(
            image::error::LimitErrorKind::InsufficientMemory,
        )));
    }
    // Metadata that can't be read turn nothing.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

/// What shines through becomes white: a JPEG has no transparency.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let with_alpha = picture.to_rgba8();
    let mut flat = RgbImage::new(with_alpha.width(), with_alpha.height());
    for (pixel, out) in with_alpha.pixels().zip(flat.pixels_mut()) {
        let [r, g, b, alpha] = pixel.0.map(u32::from);
        // At most 255 x 255, divided by 255: fits a byte.
        let mix = |value: u32| u8::try_from((value * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX);
        *out = Rgb([mix(r), mix(g), mix(b)]);
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{GrayImage, Rgba, RgbaImage};

    fn png(picture: &DynamicImage) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        picture.write_to(&mut file, ImageFormat::Png).unwrap();
        file.into_inner()
    }

    #[track_caller]
    fn refused(content: &[u8]) -> String {
        let refusal = redraw(content).unwrap_err().refusal();
        assert_eq!(refusal.code, Code::InvalidInput);
        assert!(refusal.message.starts_with("picture:"), "{}", refusal.message);
        refusal.message
    }

    #[test]
    fn a_picture_is_served_small_flat_and_without_what_was_behind_its_pixels() {
        let mut file = png(&RgbaImage::from_pixel(3_200, 1_000, Rgba([255, 0, 0, 0])).into());
        file.extend_from_slice(b"<script>alert(1)</script>");
        let served = redraw(&file).unwrap();
        let seen = image::load_from_memory_with_format(&served, ImageFormat::Jpeg).unwrap().to_rgb8();
        assert_eq!((seen.width(), seen.height()), (1_600, 500));
        assert!(seen.get_pixel(800, 250).0.iter().all(|value| *value > 250), "what shines through is white");
        assert!(!served.windows(8).any(|bytes| bytes == b"<script>"));
    }

    #[test]
    fn a_small_picture_keeps_its_size() {
        let served = redraw(&png(&RgbImage::from_pixel(30, 20, Rgb([9, 9, 9])).into())).unwrap();
        let seen = image::load_from_memory(&served).unwrap();
        assert_eq!((seen.width(), seen.height()), (30, 20));
    }

    #[test]
    fn broken_foreign_and_oversized_files_are_refused_with_a_sentence() {
        let good = png(&RgbImage::from_pixel(300, 200, Rgb([9, 9, 9])).into());
        refused(b"");
        refused(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;");
        refused(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>");
        refused(&good[..good.len() / 2]);
        let mut scrambled = good.clone();
        scrambled.iter_mut().skip(40).for_each(|byte| *byte ^= 0x5a);
        refused(&scrambled);
        let wide = png(&GrayImage::new(SIDE_MAX_PX + 1, 1).into());
        assert!(refused(&wide).contains("8000 pixels"), "named");
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unfolded() {
        // Within the sides, beyond the memory; as a file it is small.
        let bomb = png(&GrayImage::new(SIDE_MAX_PX, SIDE_MAX_PX).into());
        assert!(bomb.len() < PICTURE_MAX_BYTES);
        // A header alone may claim 8,000 by 8,000 pixels of four channels.
        let mut claims = bomb.clone();
        claims[25] = 6;
        let crc = crc(&claims[12..29]);
        claims[29..33].copy_from_slice(&crc.to_be_bytes());
        assert!(refused(&claims).contains("megapixels"));
    }

    /// The check sum of a PNG chunk.
    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 })
        })
    }
}
