//! `stararena venue`: plans from files, to files, into the stores.

use super::{print, tell, with_backend};
use anyhow::{Context as _, bail};
use clap::Subcommand;
use domain::venue::{generate, pretix, summary};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum VenueCommand {
    /// Say what a file holds and what is wrong with it; changes nothing
    Check {
        /// A seating plan in the pretix JSON form
        file: PathBuf,
        /// Repair what can be repaired, and say so
        #[arg(long)]
        tolerant: bool,
    },
    /// Store a plan and publish its map
    Import {
        /// A seating plan in the pretix JSON form
        file: PathBuf,
        /// Name of the venue
        #[arg(long)]
        venue: String,
        /// City of the venue
        #[arg(long)]
        city: String,
        /// Time zone of the venue, such as Europe/Berlin
        #[arg(long)]
        time_zone: String,
        /// Repair what can be repaired, and say so
        #[arg(long)]
        tolerant: bool,
    },
    /// Draw a venue
    Generate {
        /// What to draw
        #[command(subcommand)]
        kind: Kind,
    },
    /// Write a stored plan in the pretix JSON form
    Export {
        /// Name of the venue
        #[arg(long)]
        venue: String,
        /// File to write; standard output otherwise
        #[arg(long, short)]
        output: Option<PathBuf>,
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
        VenueCommand::Check { file, tolerant } => check(&file, mode(tolerant)),
        VenueCommand::Import { file, venue, city, time_zone, tolerant } => {
            let text = read(&file)?;
            let imported = match pretix::import(&text, mode(tolerant)) {
                Ok(imported) => imported,
                Err(errors) => bail!("{errors}"),
            };
            for warning in &imported.warnings {
                tell(&format!("warning: {warning}"));
            }
            with_backend(async |backend| {
                let organization = backend.ensure_organization(ORGANIZATION).await?;
                let stored = backend.store_plan(organization, imported.plan, &venue, &city, &time_zone).await?;
                print(&format!("stored {} seats as plan {}, map {}", stored.seats, stored.id, stored.map_digest));
                Ok(ExitCode::SUCCESS)
            })
            .await
        }
        VenueCommand::Generate { kind: Kind::Arena { seats, name, output } } => {
            let plan = generate::arena(seats, &name);
            write(output.as_deref(), &pretix::export(&plan))?;
            tell(&summary(&plan));
            Ok(ExitCode::SUCCESS)
        }
        VenueCommand::Export { venue, output } => {
            with_backend(async |backend| {
                write(output.as_deref(), &backend.export_plan(&venue).await?)?;
                Ok(ExitCode::SUCCESS)
            })
            .await
        }
    }
}

/// The organization that the command line acts for.
pub(super) const ORGANIZATION: &str = "StarArena Demo";

fn mode(tolerant: bool) -> pretix::Mode {
    if tolerant { pretix::Mode::Tolerant } else { pretix::Mode::Strict }
}

/// Reads a plan's file; other formats than pretix JSON get a clear no.
fn read(file: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(file).with_context(|| format!("reading {}", file.display()))?.len();
    if size > pretix::MAX_FILE_BYTES as u64 {
        bail!("{}: {size} bytes are more than the {} allowed", file.display(), pretix::MAX_FILE_BYTES);
    }
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if matches!(extension.as_str(), "csv" | "tsv" | "svg" | "xml") {
        bail!(
            "{}: plans in the form .{extension} can't be read yet; a pretix seating plan (.json) is expected",
            file.display()
        );
    }
    let bytes = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    String::from_utf8(bytes)
        .map_err(|e| anyhow::anyhow!("{}: not UTF-8 at byte {}", file.display(), e.utf8_error().valid_up_to()))
}

fn check(file: &Path, mode: pretix::Mode) -> anyhow::Result<ExitCode> {
    let text = read(file)?;
    // The first line counts what is there, also where the chosen mode refuses it.
    let counted = pretix::import(&text, pretix::Mode::Tolerant).ok();
    print(
        &counted.as_ref().map_or_else(|| "0 seats, 0 rows, 0 sections".to_owned(), |imported| summary(&imported.plan)),
    );
    match pretix::import(&text, mode) {
        Ok(imported) => {
            for warning in &imported.warnings {
                print(&format!("warning: {warning}"));
            }
            print(&format!("accepted with {} warnings", imported.warnings.len() + imported.warnings_left_out));
            Ok(ExitCode::SUCCESS)
        }
        Err(found) => {
            for error in &found.errors {
                print(&format!("error: {error}"));
            }
            for warning in &found.warnings {
                print(&format!("warning: {warning}"));
            }
            print(&format!("refused: {} errors", found.errors.len() + found.errors_left_out));
            Ok(ExitCode::FAILURE)
        }
    }
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
