//! Addresses within this site that pages hand to each other.

/// A path of this site from what a query or a form named, else the home page: never another site.
pub fn local_path(next: Option<&str>) -> String {
    next.filter(|path| {
        path.starts_with('/') && !path.starts_with("//") && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    })
    .unwrap_or("/")
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn only_paths_of_this_site_are_followed() {
        assert_eq!(local_path(Some("/orders/1?x=y")), "/orders/1?x=y");
        for bad in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "",
            "/a b",
            "/\r\nSet-Cookie:x",
        ] {
            assert_eq!(local_path(Some(bad)), "/", "{bad}");
        }
        assert_eq!(local_path(None), "/");
    }
}
