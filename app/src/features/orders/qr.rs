//! Draws a text as a QR code: one SVG path of the dark modules, a run of a row at a time. Server only.

use qrcode::{Color, EcLevel, QrCode, types::QrError};

/// Light modules around the code that scanners need (ISO/IEC 18004).
const QUIET_ZONE: usize = 4;

/// The side in modules with the quiet zone, and the path.
pub(super) fn draw(text: &str) -> Result<(usize, String), QrError> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M)?;
    let width = code.width();
    let modules = code.to_colors();
    let mut path = String::new();
    for (y, row) in modules.chunks(width).enumerate() {
        let mut x = 0;
        while x < width {
            let run = row[x..].iter().take_while(|color| **color == Color::Dark).count();
            if run > 0 {
                path.push_str(&format!("M{} {}h{run}v1h-{run}z", x + QUIET_ZONE, y + QUIET_ZONE));
            }
            x += run.max(1);
        }
    }
    Ok((width + 2 * QUIET_ZONE, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_code_is_drawn_with_its_quiet_zone() {
        let (side, path) = draw(&"ABCDEFGH".repeat(21)).unwrap();
        assert!(side <= 49 + 2 * QUIET_ZONE, "{side}");
        // The first finder pattern: seven dark modules at the corner of the code.
        assert!(path.starts_with("M4 4h7v1h-7z"), "{path}");
        assert!(!path.contains("M0 ") && !path.contains(" 0h"));
    }
}
