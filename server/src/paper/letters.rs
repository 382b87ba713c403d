//! Letters for paper without a font in the file.
//!
//! Latin: Helvetica, one of the fourteen fonts that every reader has (ISO 32000-1, 9.6.2.2), in the encoding of
//! Western Europe and, beside it, with the letters of Central Europe, the Baltic and Turkey that Adobe's own
//! metrics of the font list. Chinese with Japanese syllables, Greek and Cyrillic, and Korean: fonts of the
//! character collections Adobe-GB1 and Adobe-Korea1, which a reader takes from its system (9.7.5.2, table 118).
//! A text that needs more than these, such as Thai or Arabic, which must also be shaped, is not drawn at all.

use pdf_writer::types::{CidFontType, FontFlags, SystemInfo};
use pdf_writer::{Dict, Finish as _, Name, Pdf, Rect, Ref, Str};

/// A font as pages know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Face {
    Latin,
    LatinBold,
    Central,
    CentralBold,
    Chinese,
    Korean,
}

impl Face {
    const ALL: [Self; 6] =
        [Self::Latin, Self::LatinBold, Self::Central, Self::CentralBold, Self::Chinese, Self::Korean];

    /// Its name on pages.
    pub(super) fn name(self) -> Name<'static> {
        Name(match self {
            Self::Latin => b"L",
            Self::LatinBold => b"M",
            Self::Central => b"E",
            Self::CentralBold => b"F",
            Self::Chinese => b"C",
            Self::Korean => b"K",
        })
    }
}

/// A piece of text in one font, as the file writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) face: Face,
    pub(super) bytes: Vec<u8>,
    /// Width in thousandths of the size.
    pub(super) width: u32,
}

/// A text as pieces, or `None` when a letter of it can't be drawn.
pub(super) fn runs(text: &str, bold: bool) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for c in text.chars() {
        let (face, bytes, width) = letter(c, bold)?;
        match runs.last_mut() {
            Some(run) if run.face == face => {
                run.bytes.extend_from_slice(&bytes);
                run.width += width;
            }
            _ => runs.push(Run { face, bytes, width }),
        }
    }
    Some(runs)
}

/// Width of a text in thousandths of its size, where it can be drawn.
pub(super) fn width(text: &str, bold: bool) -> u32 {
    runs(text, bold).map_or(0, |runs| runs.iter().map(|run| run.width).sum())
}

/// Full width of a letter of East Asia, in thousandths of the size.
const FULL: u32 = 1_000;

fn letter(c: char, bold: bool) -> Option<(Face, Vec<u8>, u32)> {
    if let Some(byte) = western(c) {
        let face = if bold { Face::LatinBold } else { Face::Latin };
        return Some((face, vec![byte], latin_width(c, bold)));
    }
    if let Some(at) = CENTRAL.iter().position(|(letter, _)| *letter == c) {
        let face = if bold { Face::CentralBold } else { Face::Central };
        return Some((face, vec![u8::try_from(at + CENTRAL_FIRST).ok()?], latin_width(c, bold)));
    }
    let face = match u32::from(c) {
        // What GBK has, which Adobe-GB1 follows.
        0x0391..=0x03c9
        | 0x0401
        | 0x0410..=0x044f
        | 0x0451
        | 0x2460..=0x2469
        | 0x3000..=0x3003
        | 0x3005
        | 0x3007
        | 0x3008..=0x3011
        | 0x3014..=0x3017
        | 0x3041..=0x3093
        | 0x30a1..=0x30f6
        | 0x30fb..=0x30fc
        | 0x4e00..=0x9fa5
        | 0xff01..=0xff5e
        | 0xffe5 => Face::Chinese,
        0xac00..=0xd7a3 => Face::Korean,
        _ => return None,
    };
    // All of these are in the plane of 16 bits.
    let code = u16::try_from(u32::from(c)).ok()?;
    Some((face, code.to_be_bytes().to_vec(), FULL))
}

/// A letter in the encoding of Western Europe (ISO 32000-1, annex D.2: WinAnsiEncoding).
fn western(c: char) -> Option<u8> {
    Some(match c {
        ' '..='~' => u8::try_from(u32::from(c)).ok()?,
        // Spaces and hyphens that only say where a line may break.
        '\u{a0}' | '\u{2009}' | '\u{202f}' => b' ',
        '\u{2010}' | '\u{2011}' => b'-',
        '\u{a1}'..='\u{ff}' => u8::try_from(u32::from(c)).ok()?,
        '€' => 0x80,
        '‚' => 0x82,
        'ƒ' => 0x83,
        '„' => 0x84,
        '…' => 0x85,
        '†' => 0x86,
        '‡' => 0x87,
        'ˆ' => 0x88,
        '‰' => 0x89,
        'Š' => 0x8a,
        '‹' => 0x8b,
        'Œ' => 0x8c,
        'Ž' => 0x8e,
        '‘' => 0x91,
        '’' => 0x92,
        '“' => 0x93,
        '”' => 0x94,
        '•' => 0x95,
        // The minus of numbers looks the same.
        '–' | '\u{2212}' => 0x96,
        '—' => 0x97,
        '˜' => 0x98,
        '™' => 0x99,
        'š' => 0x9a,
        '›' => 0x9b,
        'œ' => 0x9c,
        'ž' => 0x9e,
        'Ÿ' => 0x9f,
        _ => return None,
    })
}

/// The byte of the first letter of [`CENTRAL`].
const CENTRAL_FIRST: usize = 128;

/// Letters of Central Europe, the Baltic and Turkey with their names in the font.
const CENTRAL: &[(char, &str)] = &[
    ('Ă', "Abreve"),
    ('ă', "abreve"),
    ('Ā', "Amacron"),
    ('ā', "amacron"),
    ('Ą', "Aogonek"),
    ('ą', "aogonek"),
    ('Ć', "Cacute"),
    ('ć', "cacute"),
    ('Č', "Ccaron"),
    ('č', "ccaron"),
    ('Ď', "Dcaron"),
    ('ď', "dcaron"),
    ('Đ', "Dcroat"),
    ('đ', "dcroat"),
    ('Ě', "Ecaron"),
    ('ě', "ecaron"),
    ('Ė', "Edotaccent"),
    ('ė', "edotaccent"),
    ('Ē', "Emacron"),
    ('ē', "emacron"),
    ('Ę', "Eogonek"),
    ('ę', "eogonek"),
    ('Ğ', "Gbreve"),
    ('ğ', "gbreve"),
    ('Ģ', "Gcommaaccent"),
    ('ģ', "gcommaaccent"),
    ('İ', "Idotaccent"),
    ('ı', "dotlessi"),
    ('Ī', "Imacron"),
    ('ī', "imacron"),
    ('Į', "Iogonek"),
    ('į', "iogonek"),
    ('Ķ', "Kcommaaccent"),
    ('ķ', "kcommaaccent"),
    ('Ĺ', "Lacute"),
    ('ĺ', "lacute"),
    ('Ľ', "Lcaron"),
    ('ľ', "lcaron"),
    ('Ļ', "Lcommaaccent"),
    ('ļ', "lcommaaccent"),
    ('Ł', "Lslash"),
    ('ł', "lslash"),
    ('Ń', "Nacute"),
    ('ń', "nacute"),
    ('Ň', "Ncaron"),
    ('ň', "ncaron"),
    ('Ņ', "Ncommaaccent"),
    ('ņ', "ncommaaccent"),
    ('Ő', "Ohungarumlaut"),
    ('ő', "ohungarumlaut"),
    ('Ō', "Omacron"),
    ('ō', "omacron"),
    ('Ŕ', "Racute"),
    ('ŕ', "racute"),
    ('Ř', "Rcaron"),
    ('ř', "rcaron"),
    ('Ś', "Sacute"),
    ('ś', "sacute"),
    ('Ş', "Scedilla"),
    ('ş', "scedilla"),
    ('Ș', "Scommaaccent"),
    ('ș', "scommaaccent"),
    ('Ť', "Tcaron"),
    ('ť', "tcaron"),
    ('Ț', "Tcommaaccent"),
    ('ț', "tcommaaccent"),
    ('Ű', "Uhungarumlaut"),
    ('ű', "uhungarumlaut"),
    ('Ū', "Umacron"),
    ('ū', "umacron"),
    ('Ų', "Uogonek"),
    ('ų', "uogonek"),
    ('Ů', "Uring"),
    ('ů', "uring"),
    ('Ź', "Zacute"),
    ('ź', "zacute"),
    ('Ż', "Zdotaccent"),
    ('ż', "zdotaccent"),
];

/// Widths of Helvetica from the space to the tilde, in thousandths of the size (Adobe's metrics of the font).
#[rustfmt::skip]
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Of every other Latin letter: none of those above is wider but a few capitals, so that a line is at most a
/// little longer than it is taken for.
const OTHER: u16 = 667;

fn latin_width(c: char, bold: bool) -> u32 {
    let at = u32::from(c).checked_sub(u32::from(' ')).and_then(|at| usize::try_from(at).ok());
    let regular = u32::from(at.and_then(|at| HELVETICA.get(at)).copied().unwrap_or(OTHER));
    // The bold font is wider by up to a tenth.
    if bold { regular + regular / 10 } else { regular }
}

/// Where the fonts of a file are.
pub(super) struct Fonts(Vec<(Face, Ref)>);

impl Fonts {
    /// Writes all fonts; `next` numbers objects.
    pub(super) fn write(pdf: &mut Pdf, next: &mut impl FnMut() -> Ref) -> Self {
        let ids: Vec<(Face, Ref)> = Face::ALL.into_iter().map(|face| (face, next())).collect();
        for (face, id) in &ids {
            match face {
                Face::Latin => latin(pdf, *id, b"Helvetica"),
                Face::LatinBold => latin(pdf, *id, b"Helvetica-Bold"),
                Face::Central => central(pdf, *id, b"Helvetica"),
                Face::CentralBold => central(pdf, *id, b"Helvetica-Bold"),
                Face::Chinese => eastern(pdf, [*id, next(), next()], &CHINESE),
                Face::Korean => eastern(pdf, [*id, next(), next()], &KOREAN),
            }
        }
        Self(ids)
    }

    /// Names them for a page.
    pub(super) fn list(&self, fonts: &mut Dict<'_>) {
        for (face, id) in &self.0 {
            fonts.pair(face.name(), *id);
        }
    }
}

fn latin(pdf: &mut Pdf, id: Ref, font: &[u8]) {
    pdf.type1_font(id).base_font(Name(font)).encoding_predefined(Name(b"WinAnsiEncoding"));
}

fn central(pdf: &mut Pdf, id: Ref, font: &[u8]) {
    let mut written = pdf.type1_font(id);
    written.base_font(Name(font));
    let mut encoding = written.encoding_custom();
    encoding.base_encoding(Name(b"WinAnsiEncoding"));
    let names = CENTRAL.iter().map(|(_, name)| Name(name.as_bytes()));
    encoding.differences().consecutive(u8::try_from(CENTRAL_FIRST).unwrap_or(u8::MAX), names);
    encoding.finish();
}

/// A font that a reader takes from its system.
struct Collection {
    font: &'static [u8],
    encoding: &'static [u8],
    ordering: &'static [u8],
    supplement: i32,
}

const CHINESE: Collection =
    Collection { font: b"STSong-Light", encoding: b"UniGB-UCS2-H", ordering: b"GB1", supplement: 4 };
const KOREAN: Collection =
    Collection { font: b"HYSMyeongJo-Medium", encoding: b"UniKS-UCS2-H", ordering: b"Korea1", supplement: 1 };

fn eastern(pdf: &mut Pdf, [id, descendant, descriptor]: [Ref; 3], collection: &Collection) {
    let font = Name(collection.font);
    pdf.type0_font(id).base_font(font).encoding_predefined(Name(collection.encoding)).descendant_font(descendant);
    pdf.cid_font(descendant)
        .subtype(CidFontType::Type0)
        .base_font(font)
        .system_info(SystemInfo {
            registry: Str(b"Adobe"),
            ordering: Str(collection.ordering),
            supplement: collection.supplement,
        })
        .font_descriptor(descriptor)
        .default_width(1_000.0);
    pdf.font_descriptor(descriptor)
        .name(font)
        .flags(FontFlags::SYMBOLIC)
        .bbox(Rect::new(-25.0, -254.0, 1_000.0, 880.0))
        .italic_angle(0.0)
        .ascent(880.0)
        .descent(-120.0)
        .cap_height(880.0)
        .stem_v(93.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_script_changes() {
        let faces = |text: &str| runs(text, false).unwrap().iter().map(|run| run.face).collect::<Vec<_>>();
        assert_eq!(faces("Hall 7"), [Face::Latin]);
        assert_eq!(faces("李雷 Łódź"), [Face::Chinese, Face::Latin, Face::Central, Face::Latin, Face::Central]);
        assert_eq!(faces("서울"), [Face::Korean]);
        assert_eq!(faces("二〇二六"), [Face::Chinese], "a digit that is no ideograph by its number");
        assert_eq!(faces("Jean\u{2011}Luc\u{202f}7"), [Face::Latin]);
        assert_eq!(faces("（UTC+8）"), [Face::Chinese, Face::Latin, Face::Chinese]);
        let run = &runs("中a", false).unwrap()[0];
        assert_eq!((run.bytes.as_slice(), run.width), (&[0x4e, 0x2d][..], 1_000));
    }

    #[test]
    fn what_can_not_be_drawn_is_not_drawn_in_part() {
        for text in ["เวที", "مرحبا", "Ana 🎸", "a\u{301}", "x\ny"] {
            assert_eq!(runs(text, true), None, "{text:?}");
            assert_eq!(width(text, true), 0);
        }
    }

    #[test]
    fn widths_are_those_of_the_font() {
        assert_eq!(width("Hi", false), 722 + 222);
        assert_eq!(width("~", false), 584);
        assert!(width("Hi", true) > width("Hi", false));
        assert_eq!(width("中文", false), 2_000);
        assert!(CENTRAL.len() + CENTRAL_FIRST <= 256);
    }
}
