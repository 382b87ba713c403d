//! Tickets as PDF files: one page of A4 a ticket, made for paper and readable on a phone.
//!
//! No font travels in the file. Latin letters are those that every reader has, Chinese, Japanese and Korean
//! ones come from the font for them that the reader's system has (`letters.rs`). What neither covers is on the
//! ticket's page alone, and the paper says so in its place.

mod letters;
mod page;
mod words;

use backend::Papers;
use domain::ticket::change::HeldTicket;
use letters::Fonts;
use page::Sheet;
use pdf_writer::{Finish as _, Pdf, Rect, Ref, TextStr};
use qrcode::{EcLevel, QrCode};
use words::Words;

/// A4 upright, in points of 1/72 inch.
const WIDTH: f32 = 595.0;
const HEIGHT: f32 = 842.0;

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the code of ticket {ticket} does not fit into a QR code")]
pub struct PaperError {
    ticket: domain::TicketId,
    #[source]
    source: qrcode::types::QrError,
}

/// The file of some tickets, each on a page of its own.
///
/// # Errors
/// When a code does not fit into a QR code: all that are issued do.
pub fn pdf(papers: &Papers) -> Result<Vec<u8>, PaperError> {
    let words = words::of(&papers.lang);
    let mut ids = (1..).map(Ref::new);
    let mut next = || ids.next().unwrap_or(Ref::new(i32::MAX));
    let (catalog, tree, info) = (next(), next(), next());
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree).lang(TextStr(words.lang));
    let fonts = Fonts::write(&mut pdf, &mut next);
    let count = papers.tickets.len();
    let mut pages = Vec::with_capacity(count);
    for (index, ticket) in papers.tickets.iter().enumerate() {
        let (page_id, content_id) = (next(), next());
        let content = draw(ticket, words, (index + 1, count))?;
        let mut page = pdf.page(page_id);
        page.parent(tree).media_box(Rect::new(0.0, 0.0, WIDTH, HEIGHT)).contents(content_id);
        let mut resources = page.resources();
        fonts.list(&mut resources.fonts());
        resources.finish();
        page.finish();
        pdf.stream(content_id, &content);
        pages.push(page_id);
    }
    pdf.pages(tree).kids(pages).count(i32::try_from(count).unwrap_or(i32::MAX));
    let title = papers.tickets.first().map(|ticket| ticket.event.clone()).unwrap_or_default();
    pdf.document_info(info).title(TextStr(&title)).creator(TextStr("StarArena"));
    Ok(pdf.finish())
}

/// What is drawn on the page of one ticket.
fn draw(ticket: &HeldTicket, words: &Words, (number, count): (usize, usize)) -> Result<Vec<u8>, PaperError> {
    const LEFT: f32 = 48.0;
    const INNER: f32 = WIDTH - 2.0 * LEFT;
    const QR_SIDE: f32 = 268.0;
    let mut sheet = Sheet::new(words.elsewhere);
    sheet.line(LEFT, HEIGHT - 46.0, "StarArena", 12.0, true);
    sheet.line_to(WIDTH - LEFT, HEIGHT - 46.0, &format!("{number} / {count}"), 11.0);
    sheet.rule(LEFT, HEIGHT - 60.0, INNER);

    let mut y = HEIGHT - 100.0;
    y = sheet.block(LEFT, y, INNER, &ticket.artist, 34.0, 2);
    y = sheet.block(LEFT, y - 2.0, INNER, &ticket.event, 17.0, 2) - 12.0;
    let half = INNER / 2.0 - 8.0;
    let when = sheet.field(LEFT, y, half, words.when, &(words.moment)(&ticket.starts), 15.0);
    let place = format!("{}, {}", ticket.venue, ticket.city);
    let venue = sheet.field(LEFT + half + 16.0, y, half, words.venue, &place, 15.0);
    y = when.min(venue) - 16.0;

    let third = INNER / 3.0 - 10.0;
    let section = sheet.field(LEFT, y, third, words.section, &ticket.section, 30.0);
    let row = sheet.field(LEFT + third + 15.0, y, third, words.row, &ticket.row, 30.0);
    let seat = sheet.field(LEFT + 2.0 * (third + 15.0), y, third, words.seat, &ticket.seat, 30.0);
    y = section.min(row).min(seat) - 14.0;
    if let Some(name) = &ticket.holder {
        y = sheet.field(LEFT, y, INNER, words.name, name, 17.0) - 10.0;
    }
    if ticket.frozen {
        y = sheet.block(LEFT, y, INNER, words.frozen, 13.0, 2) - 6.0;
    }

    // The code keeps its place at the foot, whatever is above it.
    let bottom = 96.0_f32;
    let side = QR_SIDE.min(y - bottom).max(150.0);
    let code = QrCode::with_error_correction_level(&ticket.code, EcLevel::M)
        .map_err(|source| PaperError { ticket: ticket.id, source })?;
    sheet.qr(&code, (WIDTH - side) / 2.0, bottom, side);
    sheet.center(WIDTH / 2.0, 74.0, words.once, 12.0);
    let numbers = format!("{} {}   {} {}", words.ticket, ticket.id, words.order, ticket.order);
    sheet.center(WIDTH / 2.0, 54.0, &numbers, 7.5);
    let issue = format!("{} · {} {}", ticket.category, words.issue, ticket.issue);
    sheet.center(WIDTH / 2.0, 40.0, &issue, 8.0);
    Ok(sheet.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Millis, OrderId, PerformanceId, TicketId, ZonedTime};
    use uuid::Uuid;

    fn starts() -> ZonedTime {
        let zone = "Asia/Shanghai".to_owned();
        ZonedTime {
            at: Millis(0),
            zone,
            year: 2026,
            month: 12,
            day: 5,
            hour: 20,
            minute: 0,
            weekday: 6,
            offset_min: 480,
        }
    }

    fn ticket(number: u128) -> HeldTicket {
        HeldTicket {
            id: TicketId(Uuid::from_u128(number)),
            order: OrderId(Uuid::from_u128(2)),
            performance: PerformanceId(Uuid::from_u128(3)),
            event: "Evening (late)".into(),
            artist: "Ana".into(),
            venue: "Hall".into(),
            city: "Berlin".into(),
            cover: 0,
            starts: starts(),
            section: "Block A".into(),
            row: "12".into(),
            seat: "7".into(),
            category: "Gold".into(),
            issue: 0,
            code: "0123456789ABC".repeat(11),
            bought: true,
            frozen: false,
            holder: Some("李雷".into()),
            transfer: None,
            names_until: starts(),
            may_reissue: true,
            may_rename: true,
            may_offer: true,
        }
    }

    fn text_of(tickets: Vec<HeldTicket>, lang: &str) -> String {
        let file = pdf(&Papers { tickets, lang: lang.into() }).unwrap();
        assert!(file.starts_with(b"%PDF-1.7"));
        assert!(file.ends_with(b"%%EOF") || file.ends_with(b"%%EOF\n"));
        String::from_utf8_lossy(&file).into_owned()
    }

    #[test]
    fn each_ticket_has_a_page() {
        let text = text_of((1..=3).map(ticket).collect(), "en");
        assert!(text.contains("/Count 3"), "{text}");
        assert_eq!(text.matches("/Type /Page\n").count(), 3);
        assert!(text.contains("(Block A)") && text.contains("(12)"), "Latin texts are readable in the file");
        assert!(text.contains("/STSong-Light") && text.contains("/UniGB-UCS2-H"));
    }

    #[test]
    fn the_longest_names_and_letters_that_no_font_has_still_make_a_page() {
        let long = HeldTicket {
            artist: "Extraordinarily long name of a band ".repeat(12),
            event: "很长的演出名称".repeat(30),
            section: "Stehplatz-Innenraum-Vorne-Links".into(),
            venue: "\u{0e40}\u{0e27}\u{0e17}\u{0e35}".into(),
            ..ticket(1)
        };
        for lang in ["en", "zh"] {
            assert!(text_of(vec![long.clone()], lang).contains("/Count 1"));
        }
    }
}
