//! Turns the catalogues in `locales/` into types: a key that one language lacks, or an argument that
//! a view forgets, fails the build.

use leptos_i18n_parser::parse_locales::{
    options::{Config, ParseOptions},
    parse_locales,
};
use std::{env, error::Error, fs, path::PathBuf};

/// One file of each language per part of the interface.
const NAMESPACES: [&str; 23] = [
    "account",
    "common",
    "desk",
    "disputes",
    "documents",
    "draw",
    "errors",
    "event",
    "fees",
    "home",
    "money",
    "orders",
    "organizer",
    "payouts",
    "plans",
    "queue",
    "reconciliation",
    "refunds",
    "sales",
    "search",
    "seats",
    "settings",
    "tickets",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=locales");
    let config = Config::new("en")?
        .add_locale("zh")?
        .add_namespaces(NAMESPACES)?
        .parse_options(ParseOptions::new().interpolate_display(true));
    let catalogues = parse_locales(None, config)?;
    let complaints: Vec<String> = catalogues
        .diag
        .errors()
        .iter()
        .map(ToString::to_string)
        .chain(catalogues.diag.warnings().iter().map(ToString::to_string))
        .collect();
    if !complaints.is_empty() {
        return Err(complaints.join("\n").into());
    }
    let attributes = "#![expect(missing_docs, unreachable_pub, reason = \"generated from the catalogues\")]";
    let code = leptos_i18n_codegen::gen_code(&catalogues, None, false, Some(&attributes.parse()?), false)?;
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(folder.join("i18n.rs"), code.to_string())?;
    Ok(())
}
