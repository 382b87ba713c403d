//! `stararena venue`: plans from files, to files, into the stores.

use super::{print, tell, with_backend};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use domain::organizer::plans::Place;
use domain::venue::import::{self, Format, Options, Report};
use domain::venue::{Plan, csv, generate, pretix, summary};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A file, and what is chosen about it; everything else is told from the file.
#[derive(Args)]
pub(super) struct Source {
    /// A seating plan: pretix JSON, a CSV table, or an SVG drawing
    file: PathBuf,
    /// Repair what can be repaired, and say so
    #[arg(long)]
    tolerant: bool,
    /// Format of the file; told from its content otherwise
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// Encoding of a table: utf-8, utf-16le, utf-16be, windows-1251, windows-1252, gb18030, shift_jis
    #[arg(long)]
    encoding: Option<String>,
    /// Separator of a table: `,` `;` `|` or `tab`
    #[arg(long, value_parser = separator)]
    separator: Option<char>,
    /// Which header of a table means what, such as `section=Сектор`; may be given again
    #[arg(long, value_name = "COLUMN=HEADER", value_parser = column)]
    column: Vec<(String, String)>,
    /// Pattern of the ids of a drawing, with groups named seat, row, section
    #[arg(long)]
    id_pattern: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FileFormat {
    /// Seating plan of pretix, JSON
    Pretix,
    /// Table
    Csv,
    /// Drawing
    Svg,
}

/// A format that plans are written in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Written {
    /// Seating plan of pretix, JSON
    Pretix,
    /// Table
    Csv,
}

fn separator(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("tab" | "TAB" | "\\t", ..) => Ok('\t'),
        (_, Some(separator), None) => Ok(separator),
        _ => Err("one character, or `tab`, is expected".into()),
    }
}

fn column(text: &str) -> Result<(String, String), String> {
    let (column, header) = text.split_once('=').ok_or("such as `section=Block` is expected")?;
    Ok((column.trim().to_owned(), header.to_owned()))
}

#[derive(Subcommand)]
pub(super) enum VenueCommand {
    /// Say what a file holds and what is wrong with it; changes nothing
    Check {
        #[command(flatten)]
        source: Source,
    },
    /// Store a plan and publish its map
    Import {
        #[command(flatten)]
        source: Source,
        /// Name of the venue
        #[arg(long)]
        venue: String,
        /// City of the venue
        #[arg(long)]
        city: String,
        /// Time zone of the venue, such as Europe/Berlin
        #[arg(long)]
        time_zone: String,
        /// Organization that the plan belongs to
        #[arg(long, value_name = "NAME", default_value = ORGANIZATION)]
        organization: String,
    },
    /// Draw a venue
    Generate {
        /// What to draw
        #[command(subcommand)]
        kind: Kind,
    },
    /// Write a stored plan
    Export {
        /// Name of the venue
        #[arg(long)]
        venue: String,
        /// Form to write
        #[arg(long, value_enum, default_value = "pretix")]
        format: Written,
        /// File to write; standard output otherwise
        #[arg(long, short)]
        output: Option<PathBuf>,
        /// Organization that the plan belongs to
        #[arg(long, value_name = "NAME", default_value = ORGANIZATION)]
        organization: String,
    },
}

#[derive(Subcommand)]
pub(super) enum Kind {
    /// A concert bowl: floor, tiers, aisles, a stage
    Arena {
        /// Exactly how many seats
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32)
            .range(i64::from(generate::MIN_ARENA_SEATS)..=i64::from(generate::MAX_ARENA_SEATS)))]
        seats: u32,
        /// Places to stand instead of chairs before the stage
        #[arg(long)]
        standing: bool,
        /// Name of the plan
        #[arg(long, default_value = "Arena")]
        name: String,
        /// File to write; standard output otherwise
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
}

pub(super) async fn run(command: VenueCommand) -> anyhow::Result<ExitCode> {
    match command {
        VenueCommand::Check { source } => {
            let report = source.read()?;
            print(&counted(&report));
            tell_all(&report, print);
            Ok(if report.accepted() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        VenueCommand::Import { source, venue, city, time_zone, organization } => {
            let report = source.read()?;
            tell_all(&report, tell);
            let accepted = report.accepted();
            let house = report.house();
            let Some(plan) = report.plan.filter(|_| accepted) else { return Ok(ExitCode::FAILURE) };
            with_backend(async |backend| {
                backend.ensure_organization(&organization).await?;
                let member = backend.command_line(&organization).await?;
                let stored = backend.store_venue(&member, plan, house, Place { venue, city, time_zone }).await?;
                print(&format!("stored {} seats as plan {}, map {}", stored.seats, stored.id, stored.map_digest));
                Ok(ExitCode::SUCCESS)
            })
            .await
        }
        VenueCommand::Generate { kind: Kind::Arena { seats, standing, name, output } } => {
            let plan = if standing { generate::standing_arena(seats, &name) } else { generate::arena(seats, &name) };
            write(output.as_deref(), &pretix::export(&plan))?;
            tell(&summary(&plan));
            Ok(ExitCode::SUCCESS)
        }
        VenueCommand::Export { venue, format, output, organization } => {
            with_backend(async |backend| {
                let member = backend.command_line(&organization).await?;
                write(output.as_deref(), &written(&backend.export_plan(&member, &venue).await?, format))?;
                Ok(ExitCode::SUCCESS)
            })
            .await
        }
    }
}

/// The organization that the command line acts for.
pub(super) const ORGANIZATION: &str = "StarArena Demo";

impl Source {
    /// Reads and checks the file. One that is too large is not even opened.
    fn read(&self) -> anyhow::Result<Report> {
        let file = &self.file;
        let size = std::fs::metadata(file).with_context(|| format!("reading {}", file.display()))?.len();
        if size > import::MAX_FILE_BYTES as u64 {
            bail!("{}: {size} bytes are more than the {} allowed", file.display(), import::MAX_FILE_BYTES);
        }
        let bytes = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        Ok(import::read(&bytes, &name, &self.options()))
    }

    fn options(&self) -> Options {
        Options {
            format: self.format.map(|format| match format {
                FileFormat::Pretix => Format::Pretix,
                FileFormat::Csv => Format::Csv,
                FileFormat::Svg => Format::Svg,
            }),
            tolerant: self.tolerant,
            encoding: self.encoding.clone(),
            separator: self.separator,
            columns: self.column.iter().cloned().collect(),
            id_pattern: self.id_pattern.clone(),
        }
    }
}

/// What can be drawn of the file, also where it is refused; the first line counts it.
fn counted(report: &Report) -> String {
    let Some(plan) = &report.plan else { return "0 seats, 0 rows, 0 sections".to_owned() };
    let mut text = summary(plan);
    for hint in &report.price_hints {
        if let Some(category) = plan.categories.get(hint.category) {
            text += &format!("category {}: {}\n", category.name, hint.price);
        }
    }
    for block in &report.house_blocks {
        text += &format!("{} blocked seats: {}\n", block.seats.len(), block.reason);
    }
    text.trim_end().to_owned()
}

/// Every finding, then the verdict.
fn tell_all(report: &Report, say: impl Fn(&str)) {
    for error in &report.errors {
        say(&format!("error: {error}"));
    }
    for warning in &report.warnings {
        say(&format!("warning: {warning}"));
    }
    let errors = report.errors.len() + report.errors_left_out;
    let warnings = report.warnings.len() + report.warnings_left_out;
    if report.errors_left_out + report.warnings_left_out > 0 {
        say(&format!("and {} more errors, {} more warnings", report.errors_left_out, report.warnings_left_out));
    }
    if report.accepted() {
        say(&format!("accepted with {warnings} warnings"));
    } else {
        say(&format!("refused: {errors} errors"));
    }
}

/// A stored plan, which comes in the pretix form, in the form that is wanted.
fn written(plan: &Plan, format: Written) -> String {
    let (losses, text) = match format {
        Written::Pretix => (pretix::losses(plan), pretix::export(plan)),
        Written::Csv => (csv::losses(plan), csv::export(plan)),
    };
    for loss in losses {
        tell(&format!("not carried: {loss}"));
    }
    text
}

fn write(output: Option<&Path>, text: &str) -> anyhow::Result<()> {
    match output {
        Some(path) => std::fs::write(path, text).with_context(|| format!("writing {}", path.display())),
        None => {
            print(text);
            Ok(())
        }
    }
}
