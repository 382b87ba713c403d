//! From bytes to text: byte order mark, choice, or the frequency of letters.
//!
//! Owns encodings. Bytes that are no text are told with their line and stand as U+FFFD, so that all
//! else in the file can still be told.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, GB18030, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1251, WINDOWS_1252};

use crate::venue::finding::{Code, Finding, Findings};

/// What a table may be written in. UTF-16 without a byte order mark must be chosen.
const KNOWN: [&Encoding; 7] = [UTF_8, UTF_16LE, UTF_16BE, WINDOWS_1251, WINDOWS_1252, GB18030, SHIFT_JIS];
/// Undecodable places that are told one by one: a wrong encoding has one in every line.
const MAX_BROKEN_TOLD: usize = 100;

/// A table's text.
pub(super) struct Text {
    pub(super) text: String,
    /// The encoding's WHATWG label.
    pub(super) encoding: String,
}

/// Decodes the file; `None` when the chosen encoding is none of ours.
pub(super) fn decode(bytes: &[u8], chosen: Option<&str>, findings: &mut Findings) -> Option<Text> {
    let marked = Encoding::for_bom(bytes);
    let encoding = match (chosen, marked) {
        (Some(label), _) => known(label, findings)?,
        (None, Some((encoding, _))) => encoding,
        (None, None) if std::str::from_utf8(bytes).is_ok() => UTF_8,
        (None, None) => guess(bytes, findings),
    };
    // The mark of another encoding than the chosen one is text, and strange text at that.
    let skipped = marked.map_or(0, |(of, length)| if of == encoding { length } else { 0 });
    let text = decode_as(encoding, bytes.get(skipped..).unwrap_or_default(), findings);
    Some(Text { text, encoding: encoding.name().to_ascii_lowercase() })
}

fn known(label: &str, findings: &mut Findings) -> Option<&'static Encoding> {
    let found = Encoding::for_label(label.trim().as_bytes());
    // GBK is a part of GB18030, and a file that says so may hold all of it.
    let found = found.map(|encoding| if encoding.name() == "GBK" { GB18030 } else { encoding });
    let found = found.filter(|encoding| KNOWN.contains(encoding));
    if found.is_none() {
        let names: Vec<String> = KNOWN.iter().map(|encoding| encoding.name().to_ascii_lowercase()).collect();
        let message = format!("{label:?} is no encoding that tables are read in: {}", names.join(", "));
        findings.add(Code::OptionUnusable, "encoding".into(), message);
    }
    found
}

fn guess(bytes: &[u8], findings: &mut Findings) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let told = detector.guess(None, Utf8Detection::Deny);
    // The detector knows more encodings than tables are read in; then the nearest of its script.
    let encoding = match told.name() {
        "windows-1251" | "ISO-8859-5" | "KOI8-U" | "KOI8-R" | "IBM866" | "x-mac-cyrillic" => WINDOWS_1251,
        "GBK" | "gb18030" | "Big5" | "EUC-KR" => GB18030,
        "Shift_JIS" | "EUC-JP" | "ISO-2022-JP" => SHIFT_JIS,
        _ => WINDOWS_1252,
    };
    let label = encoding.name().to_ascii_lowercase();
    let message = format!("not UTF-8; by its letters it is read as {label}: choose another if words look wrong");
    findings.add(Code::EncodingGuessed, "encoding".into(), message);
    encoding
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8], findings: &mut Findings) -> String {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let mut read = 0;
    let mut lines = LineCount::default();
    let mut broken = 0_usize;
    loop {
        let rest = bytes.get(read..).unwrap_or_default();
        text.reserve(decoder.max_utf8_buffer_length_without_replacement(rest.len()).unwrap_or(rest.len()));
        let (result, taken) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        read += taken;
        match result {
            DecoderResult::InputEmpty => break,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                broken += 1;
                if broken <= MAX_BROKEN_TOLD {
                    let line = lines.upto(&text);
                    let message = format!("bytes before byte {read} of the file are no {}", encoding.name());
                    findings.tell(Finding { line: Some(line), ..Finding::new(Code::EncodingBroken, "", message) });
                }
                text.push('\u{fffd}');
            }
        }
    }
    if broken > MAX_BROKEN_TOLD {
        let message = format!("{} more places are no {}", broken - MAX_BROKEN_TOLD, encoding.name());
        findings.add(Code::EncodingBroken, "encoding".into(), message);
    }
    text
}

/// Line numbers of ever later places of one text.
#[derive(Default)]
struct LineCount {
    counted: usize,
    breaks: u32,
}

impl LineCount {
    /// The line, from 1, that the end of `text` lies in.
    fn upto(&mut self, text: &str) -> u32 {
        let bytes = text.as_bytes();
        for (index, byte) in bytes.iter().enumerate().skip(self.counted) {
            let after_cr = index > 0 && bytes.get(index - 1) == Some(&b'\r');
            self.breaks += u32::from(*byte == b'\r' || (*byte == b'\n' && !after_cr));
        }
        self.counted = bytes.len();
        self.breaks + 1
    }
}
