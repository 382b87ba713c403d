//! One mail, written twice: as plain text, which counts, and as sober HTML beside it.
//!
//! The HTML loads nothing from anywhere, so that opening a mail tells nobody; it follows the reader's light or
//! dark setting; and every value in it is escaped.

use super::Mail;

/// A part of a mail.
pub(super) enum Block {
    /// A paragraph.
    Text(String),
    /// Lines that belong together, such as seats.
    Lines(Vec<String>),
    /// An address to open, and what happens there.
    Link { label: &'static str, url: String },
}

/// Colours are those of the pages, with a contrast of at least 4.5 : 1 in both settings.
const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0;padding:32px 16px;background:#fbfaf7;color:#1d1b18;\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'PingFang SC','Microsoft YaHei',sans-serif}\
main{max-width:34em;margin:0 auto}\
h1{margin:0 0 24px;font-size:20px;line-height:1.3}\
p{margin:0 0 16px;overflow-wrap:anywhere}\
a{color:#8a4b00}\
.action{display:inline-block;padding:10px 18px;border-radius:6px;background:#8a4b00;color:#ffffff;\
text-decoration:none}\
.address{font-size:13px}\
@media (prefers-color-scheme:dark){body{background:#14110e;color:#ece7df}a{color:#f0a94a}\
.action{background:#f0a94a;color:#14110e}}";

/// Puts a mail together.
pub(super) fn compose(to: &str, subject: String, lang: &str, blocks: &[Block]) -> Mail {
    Mail { to: to.to_owned(), body: text(blocks), html: Some(html(&subject, lang, blocks)), subject }
}

fn text(blocks: &[Block]) -> String {
    let parts: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => text.clone(),
            Block::Lines(lines) => lines.join("\n"),
            Block::Link { url, .. } => url.clone(),
        })
        .collect();
    parts.join("\n\n") + "\n"
}

fn html(subject: &str, lang: &str, blocks: &[Block]) -> String {
    let subject = escaped(subject);
    let body: String = blocks.iter().map(block_html).collect();
    let lang = if lang == "zh" { "zh-CN" } else { "en" };
    format!(
        "<!doctype html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{subject}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{subject}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn block_html(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::Lines(lines) => {
            let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
            format!("<p>{}</p>\n", lines.join("<br>\n"))
        }
        // The address stands below in full: some readers open no link that they can't see.
        Block::Link { label, url } => {
            let url = escaped(url);
            format!(
                "<p><a class=\"action\" href=\"{url}\">{}</a></p>\n<p class=\"address\">{url}</p>\n",
                escaped(label)
            )
        }
    }
}

/// A value as text of HTML, also between double quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_html_say_the_same() {
        let blocks = [
            Block::Text("Hello,".to_owned()),
            Block::Lines(vec!["Row 1".to_owned(), "Row 2".to_owned()]),
            Block::Link { label: "Open", url: "https://t.example.org/a?b=1&c=2".to_owned() },
        ];
        let mail = compose("ana@example.org", "Seats".to_owned(), "zh", &blocks);
        assert_eq!(mail.body, "Hello,\n\nRow 1\nRow 2\n\nhttps://t.example.org/a?b=1&c=2\n");
        let html = mail.html.unwrap();
        for part in ["<html lang=\"zh-CN\">", "<h1>Seats</h1>", "<p>Hello,</p>", "Row 1<br>\nRow 2"] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
        assert!(html.contains("href=\"https://t.example.org/a?b=1&amp;c=2\">Open</a>"), "{html}");
        assert!(html.contains("prefers-color-scheme:dark"));
        assert!(!html.contains("src="), "nothing is loaded");
    }

    #[test]
    fn values_can_not_become_markup() {
        let hostile = "\"><script>alert('x')</script>&";
        let blocks = [
            Block::Text(hostile.to_owned()),
            Block::Lines(vec![hostile.to_owned()]),
            Block::Link { label: "Open", url: hostile.to_owned() },
        ];
        let html = compose("ana@example.org", hostile.to_owned(), "en", &blocks).html.unwrap();
        assert!(!html.contains("<script") && !html.contains("\"><"), "{html}");
        assert!(html.contains("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;"));
    }
}
