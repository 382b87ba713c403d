//! `stararena event` and `stararena performance`: what an organizer makes, by command.

use super::{print, refund, with_backend};
use crate::cli::venue::ORGANIZATION;
use anyhow::{Context as _, bail};
use backend::{Backend, Member, NewPerformance};
use clap::Subcommand;
use domain::organizer::pricing::SeatSet;
use domain::organizer::replanning::{PlanChange, SeatPlaces, Taken};
use domain::organizer::sales::{EventFields, window_time};
use domain::queue::Mode;
use domain::{AllocationId, Millis, PerformanceId, PlanId, SeatNo};
use std::sync::Arc;

/// In place of a code: one is made that nobody can guess.
const MADE_HERE: &str = "auto";
/// Longest range of seats that is typed: no plan has more.
const SEATS_MAX: u32 = 100_000;

#[derive(Subcommand)]
pub(super) enum EventCommand {
    /// Make an event, or find the one with this address
    Create {
        /// Part of its address: lower-case letters, digits, hyphens
        #[arg(long)]
        slug: String,
        /// Title
        #[arg(long)]
        title: String,
        /// Who plays
        #[arg(long)]
        artist: String,
        /// Plain text
        #[arg(long)]
        description: String,
        /// Picture theme
        #[arg(long, default_value_t = 0)]
        cover: u8,
        /// The organization to act for; made if there is none of that name
        #[arg(long, default_value = ORGANIZATION)]
        organization: String,
    },
}

#[derive(Subcommand)]
pub(super) enum PerformanceCommand {
    /// Make a performance of an event at a venue
    Create(CreateArgs),
    /// Rest entry; whoever is inside goes on
    Pause {
        /// The performance
        id: PerformanceId,
        /// The organization to act for; made if there is none of that name
        #[arg(long, default_value = ORGANIZATION)]
        organization: String,
    },
    /// Let fans in again
    Resume {
        /// The performance
        id: PerformanceId,
        /// The organization to act for; made if there is none of that name
        #[arg(long, default_value = ORGANIZATION)]
        organization: String,
    },
    /// Take seats off sale
    Block {
        /// The performance
        id: PerformanceId,
        /// Seat numbers, separated by commas
        #[arg(long)]
        seats: String,
        /// Why
        #[arg(long)]
        reason: String,
        /// The organization to act for; made if there is none of that name
        #[arg(long, default_value = ORGANIZATION)]
        organization: String,
    },
    /// Keep seats for somebody; prints the allocation's id, then its codes
    Allocate(AllocateArgs),
    /// Put all seats of an allocation on general sale
    Release {
        /// The performance
        id: PerformanceId,
        /// Id or name of the allocation
        #[arg(long)]
        allocation: String,
        /// The organization to act for; made if there is none of that name
        #[arg(long, default_value = ORGANIZATION)]
        organization: String,
    },
    /// Put another version of the plan in place, also while seats are sold; prints what changes
    ReplacePlan(ReplacePlanArgs),
    /// Cancel it: the sale ends, and every order is refunded by itself
    Cancel(refund::CancelArgs),
    /// How far the refunds of a cancelled performance are
    RefundStatus(refund::StatusArgs),
    /// Put blocked seats back on sale
    Unblock {
        /// The performance
        id: PerformanceId,
        /// Seat numbers, separated by commas
        #[arg(long)]
        seats: String,
        /// The organization to act for; made if there is none of that name
        #[arg(long, default_value = ORGANIZATION)]
        organization: String,
    },
}

/// What is said of a performance.
#[derive(clap::Args)]
pub(super) struct CreateArgs {
    /// Address part of the event
    #[arg(long)]
    event: String,
    /// Name of the venue
    #[arg(long)]
    venue: String,
    /// When it begins: milliseconds since 1970, or minutes from now as +90
    #[arg(long)]
    starts: String,
    /// When the on-sale opens, in the same forms
    #[arg(long)]
    opens: String,
    /// Draw a lottery in place of a queue: registration until the opening, then windows in the drawn order
    #[arg(long)]
    lottery: bool,
    /// From when on places can be taken, in the same forms; from now on otherwise
    #[arg(long)]
    registers: Option<String>,
    /// Accounts that were made after this instant get no place, in the same forms
    #[arg(long)]
    account_cutoff: Option<String>,
    /// Length of a lottery's window in minutes; a fraction is allowed
    #[arg(long, default_value = "30")]
    window_minutes: String,
    /// When the sale ends, in the same forms; when the performance begins otherwise
    #[arg(long)]
    closes: Option<String>,
    /// Currency of all prices
    #[arg(long, default_value = "EUR")]
    currency: String,
    /// Price of a category in minor units, as "Lower Bowl=8900"; once for each category
    #[arg(long = "price", required = true)]
    prices: Vec<String>,
    /// Most seats for one account
    #[arg(long, default_value_t = 6)]
    limit: u32,
    /// Length of a hold in seconds
    #[arg(long, default_value_t = 900)]
    hold_ttl_s: u32,
    /// Refuse choices that leave one seat alone
    #[arg(long)]
    single_seat_rule: bool,
    /// Most shoppers inside at once
    #[arg(long, default_value_t = 2_000)]
    shoppers_max: u32,
    /// Most places released a minute
    #[arg(long, default_value_t = 1_200)]
    release_per_min: u32,
    /// The organization to act for; made if there is none of that name
    #[arg(long, default_value = ORGANIZATION)]
    organization: String,
}

/// What is said of kept seats.
#[derive(clap::Args)]
pub(super) struct AllocateArgs {
    /// The performance
    id: PerformanceId,
    /// What the allocation is called
    #[arg(long)]
    name: String,
    /// Whom it is for: channel, presale, house, accessible
    #[arg(long)]
    kind: String,
    /// Seat numbers and ranges, separated by commas, such as 1-20,33
    #[arg(long)]
    seats: String,
    /// When the seats go on general sale: milliseconds since 1970, or minutes from now as +90
    #[arg(long)]
    release_at: Option<String>,
    /// A code that opens them, once for each; `auto` makes one, which is printed
    #[arg(long = "code")]
    codes: Vec<String>,
    /// The organization to act for; made if there is none of that name
    #[arg(long, default_value = ORGANIZATION)]
    organization: String,
}

/// What is said of another plan.
#[derive(clap::Args)]
pub(super) struct ReplacePlanArgs {
    /// The performance
    id: PerformanceId,
    /// The plan; the newest of the venue when none is given
    #[arg(long)]
    plan: Option<PlanId>,
    /// Only tell what would change
    #[arg(long)]
    dry_run: bool,
    /// The organization to act for; made if there is none of that name
    #[arg(long, default_value = ORGANIZATION)]
    organization: String,
}

pub(super) async fn event(command: EventCommand) -> anyhow::Result<()> {
    let EventCommand::Create { slug, title, artist, description, cover, organization } = command;
    with_backend(async |backend| {
        let member = member(&backend, &organization).await?;
        let id = backend.ensure_event(&member, EventFields { slug, title, artist, description, cover }).await?;
        print(&id.to_string());
        Ok(())
    })
    .await
}

/// The command line as a member of that organization.
pub(super) async fn member(backend: &Arc<Backend>, organization: &str) -> anyhow::Result<Member> {
    backend.ensure_organization(organization).await?;
    Ok(backend.command_line(organization).await?)
}

pub(super) async fn performance(command: PerformanceCommand) -> anyhow::Result<()> {
    with_backend(async |backend| {
        match command {
            PerformanceCommand::Create(args) => create(&backend, args).await?,
            PerformanceCommand::Pause { id, organization } => {
                backend.pause_for(&member(&backend, &organization).await?, id, true).await?;
            }
            PerformanceCommand::Resume { id, organization } => {
                backend.pause_for(&member(&backend, &organization).await?, id, false).await?;
            }
            PerformanceCommand::Allocate(args) => allocate(&backend, args).await?,
            PerformanceCommand::Release { id, allocation, organization } => {
                let member = member(&backend, &organization).await?;
                let allocation = match allocation.parse::<AllocationId>() {
                    Ok(allocation) => allocation,
                    Err(_) => backend.allocation_by_name(&member, id, &allocation).await?,
                };
                backend.release_allocation_for(&member, id, allocation).await?;
            }
            PerformanceCommand::Block { id, seats, reason, organization } => {
                let member = member(&backend, &organization).await?;
                backend.block_for(&member, id, &seat_list(&seats)?, Some(&reason)).await?;
            }
            PerformanceCommand::ReplacePlan(args) => replace_plan(&backend, args).await?,
            PerformanceCommand::Cancel(args) => refund::cancel(&backend, args).await?,
            PerformanceCommand::RefundStatus(args) => refund::status(&backend, args).await?,
            PerformanceCommand::Unblock { id, seats, organization } => {
                let member = member(&backend, &organization).await?;
                backend.block_for(&member, id, &seat_list(&seats)?, None).await?;
            }
        }
        Ok(())
    })
    .await
}

async fn create(backend: &Arc<Backend>, args: CreateArgs) -> anyhow::Result<()> {
    let member = member(backend, &args.organization).await?;
    let now = backend.now();
    let perhaps = |option: &str, text: Option<String>| text.map(|text| instant(option, &text, now)).transpose();
    let starts = instant("--starts", &args.starts, now)?;
    let (plan, categories) = backend.plan_of_venue(&member, &args.venue).await?;
    let new = NewPerformance {
        starts,
        opens: instant("--opens", &args.opens, now)?,
        mode: if args.lottery { Mode::Lottery } else { Mode::Queue },
        registers: perhaps("--registers", args.registers)?,
        account_cutoff: perhaps("--account-cutoff", args.account_cutoff)?,
        window_ms: window_time("--window-minutes", &args.window_minutes)?,
        closes: perhaps("--closes", args.closes)?.unwrap_or(starts),
        seat_limit: args.limit,
        hold_ttl_ms: i64::from(args.hold_ttl_s) * 1_000,
        single_seat_rule: args.single_seat_rule,
        shoppers_max: args.shoppers_max,
        release_per_min: args.release_per_min,
        currency: args.currency.parse()?,
        prices: args.prices.iter().map(|text| price(text, &categories)).collect::<anyhow::Result<_>>()?,
    };
    let event = backend.event_by_slug(&member, &args.event).await?;
    let id = backend.sell(&member, event, plan, &new).await?;
    print(&id.to_string());
    Ok(())
}

async fn allocate(backend: &Arc<Backend>, args: AllocateArgs) -> anyhow::Result<()> {
    let member = member(backend, &args.organization).await?;
    let now = backend.now();
    let release = args.release_at.map(|text| instant("--release-at", &text, now)).transpose()?;
    let kind = args.kind.parse().map_err(|refusal: domain::Refusal| anyhow::anyhow!("--{}", refusal.message))?;
    // Codes that are none are told before anything is kept.
    for code in args.codes.iter().filter(|code| *code != MADE_HERE) {
        domain::allocation::normal_code(code)
            .map_err(|refusal| anyhow::anyhow!("--{}: not `{code}`", refusal.message))?;
    }
    let seats = seat_ranges(&args.seats)?;
    let id = backend.create_allocation_for(&member, args.id, (&args.name, kind), seats, release).await?;
    print(&id.to_string());
    for code in &args.codes {
        let own = (code != MADE_HERE).then_some(code.as_str());
        print(&backend.add_code_for(&member, args.id, id, own).await?);
    }
    Ok(())
}

async fn replace_plan(backend: &Arc<Backend>, args: ReplacePlanArgs) -> anyhow::Result<()> {
    let member = member(backend, &args.organization).await?;
    let plan = match args.plan {
        Some(plan) => plan,
        None => match backend.replanning_for(&member, args.id).await?.choices.first() {
            Some(newest) => newest.id,
            None => bail!("--plan: the venue has no plan"),
        },
    };
    let preview = backend.preview_plan_change_for(&member, args.id, plan).await?;
    for line in told(&preview) {
        print(&line);
    }
    if args.dry_run {
        if !preview.is_allowed() {
            bail!("seats that somebody has are missing: the change would be refused");
        }
        return Ok(());
    }
    backend.change_plan_for(&member, args.id, preview.from, plan).await?;
    print("the plan was replaced");
    Ok(())
}

/// What another plan changes, a line for each fact.
fn told(change: &PlanChange) -> Vec<String> {
    let mut lines = vec![format!(
        "{} seats now, {} then; {} stay, {} of them drawn elsewhere, {} under other words, {} in another category",
        change.seats_before, change.seats_after, change.kept, change.moved, change.renamed, change.recategorized
    )];
    let mut list = |what: &str, seats: &SeatPlaces| {
        if seats.count > 0 {
            lines.push(format!("{what}: {}", seats.count));
            lines.extend(seats.places.iter().map(|place| format!("  {place}")));
        }
    };
    list("new", &change.added);
    list("back", &change.back);
    list("gone", &change.gone);
    for (taken, seats) in &change.lost {
        let what = match taken {
            Taken::Sold => "missing though sold",
            Taken::Held => "missing though in open orders",
            Taken::Allocated => "missing though in an allocation",
        };
        list(what, seats);
    }
    lines.extend(change.renamed_sold.iter().map(|seat| format!("sold {} becomes {}", seat.before, seat.after)));
    lines
}

/// Seats by number, with ranges.
fn seat_ranges(text: &str) -> anyhow::Result<SeatSet> {
    let mut seats = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last - first < SEATS_MAX => {
                seats.extend((first..=last).map(SeatNo));
            }
            _ => bail!("--seats: `{part}` is no seat number and no range of them"),
        }
    }
    if seats.is_empty() {
        bail!("--seats: at least one seat number is expected");
    }
    Ok(seats.into_iter().collect())
}

fn seat_list(text: &str) -> anyhow::Result<Vec<SeatNo>> {
    match domain::ids::parse_seats(text) {
        Ok(seats) if !seats.is_empty() => Ok(seats),
        Ok(_) => bail!("--seats: at least one seat number is expected"),
        Err(part) => bail!("--seats: `{part}` is no seat number"),
    }
}

fn instant(option: &str, text: &str, now: Millis) -> anyhow::Result<Millis> {
    let wrong =
        || format!("{option}: milliseconds since 1970 or minutes from now such as +90 are expected, not `{text}`");
    match text.strip_prefix('+') {
        Some(minutes) => Ok(now.plus(minutes.parse::<i32>().with_context(wrong).map(i64::from)? * 60_000)),
        None => text.parse().map(Millis).with_context(wrong),
    }
}

fn price(text: &str, categories: &[String]) -> anyhow::Result<(u8, i64)> {
    let (name, amount) =
        text.rsplit_once('=').with_context(|| format!("--price: `{text}` is not of the form category=amount"))?;
    let Some(index) = categories.iter().position(|category| category == name) else {
        bail!("--price: the plan has no category `{name}`; it has {}", categories.join(", "));
    };
    let amount = amount.parse().with_context(|| format!("--price: `{amount}` is no amount in minor units"))?;
    Ok((u8::try_from(index)?, amount))
}
