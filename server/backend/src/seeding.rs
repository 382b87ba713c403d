//! Data that is not people's: the demo, and the crowd of a simulation. Refused in production.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::organizer::{Member, NewPerformance};
use crate::postgres::accounts;
use domain::account::{Role, Session};
use domain::organizer::draft::WINDOW_MS;
use domain::organizer::sales::EventFields;
use domain::queue::Mode;
use domain::venue::{Plan, generate, pretix};
use domain::{AccountId, Millis, PerformanceId, PlanId, SessionId};
use std::sync::Arc;

/// The password of every demo account.
const DEMO_PASSWORD: &str = "stararena-demo";
/// Sessions in one statement.
const FANS_BATCH: usize = 2_000;
const DAY_MS: i64 = 86_400_000;

/// What the demo consists of.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Sign-ins: what it is, e-mail, password.
    pub sign_ins: Vec<(String, String, String)>,
    /// Its performances.
    pub performances: Vec<PerformanceId>,
}

/// A fan of a simulation, signed in.
#[derive(Clone, Debug)]
pub struct FanLogin {
    /// The account.
    pub account: AccountId,
    /// Value of its `Cookie` header.
    pub cookie: String,
}

/// Who plays in the demo.
const DEMO_ORGANIZATION: &str = "StarArena Demo";
/// A second organizer, for whom nothing of the first exists.
const OTHER_ORGANIZATION: &str = "Other Promoter";
/// Who makes the sales of simulations and tests.
pub(crate) const RUSH_ORGANIZATION: &str = "StarArena Rush";
const OTHER_EMAIL: &str = "other@demo.example";

/// Sign-ins of the demo: what it is, e-mail, role.
const PEOPLE: &[(&str, &str, Option<Role>)] = &[
    ("fan", "fan@demo.example", None),
    ("another fan", "fan2@demo.example", None),
    ("organizer", "organizer@demo.example", Some(Role::Owner)),
    ("operator", "operator@demo.example", Some(Role::Operator)),
    ("finance", "finance@demo.example", Some(Role::Finance)),
    ("risk", "risk@demo.example", Some(Role::Risk)),
    ("door", "door@demo.example", Some(Role::Door)),
    ("another house", OTHER_EMAIL, Some(Role::Owner)),
];

const BERLIN: &str = "Europe/Berlin";
const ISTANBUL: &str = "Europe/Istanbul";

/// Eight o'clock in the evening of a day, at the venue.
fn evening_at(day: Millis, time_zone: &str) -> Result<Millis> {
    let local = crate::catalog::zoned(day, time_zone)?;
    let minutes = i64::from(local.hour) * 60 + i64::from(local.minute);
    Ok(Millis((day.0 - day.0.rem_euclid(60_000)) + (20 * 60 - minutes) * 60_000))
}

/// A demo performance, in words that fit on a line.
struct Evening {
    slug: &'static str,
    title: &'static str,
    artist: &'static str,
    text: &'static str,
    cover: u8,
    starts_in_days: i64,
    opens_in_ms: i64,
    /// Whether a choice that leaves one seat alone is refused.
    single_seat_rule: bool,
}

const EVENINGS: &[Evening] = &[
    Evening {
        slug: "northern-lights",
        title: "Northern Lights Tour",
        artist: "Aurora Field",
        text: "Two hours under a sky of slow light: the new album from the first song to the last, and the old ones after it.\n\nDoors open ninety minutes before the show.",
        cover: 0,
        starts_in_days: 40,
        opens_in_ms: -60_000,
        single_seat_rule: false,
    },
    Evening {
        slug: "ground-swell",
        title: "Ground Swell",
        artist: "Kestrel & the Low Tide",
        text: "Loud, close and standing: a pit before the stage, a floor behind it, and chairs around for those who would rather sit.",
        cover: 3,
        starts_in_days: 52,
        opens_in_ms: -60_000,
        single_seat_rule: false,
    },
    Evening {
        slug: "midnight-city",
        title: "Midnight City",
        artist: "The Paper Lanterns",
        text: "One night, one stage, eleven musicians. The only evening of this year in the round.",
        cover: 1,
        starts_in_days: 61,
        opens_in_ms: -60_000,
        single_seat_rule: false,
    },
    Evening {
        slug: "tide-and-stone",
        title: "Tide & Stone",
        artist: "Mirela Voss",
        text: "Songs for voice, cello and tape. The sale opens tomorrow; places in the lobby are drawn, so there is no need to be first.",
        cover: 2,
        starts_in_days: 75,
        opens_in_ms: DAY_MS,
        single_seat_rule: true,
    },
];

impl Backend {
    /// Makes the demo: two organizers with their people, three venues, four evenings. A second call
    /// finds what is there.
    ///
    /// # Errors
    /// `forbidden` in production.
    pub async fn seed_demo(self: &Arc<Self>, real_venue: &str) -> Result<Demo> {
        self.development_only("the demo")?;
        let organization = self.ensure_organization(DEMO_ORGANIZATION).await?;
        let other = self.ensure_organization(OTHER_ORGANIZATION).await?;
        let hash = self.hash_password(DEMO_PASSWORD.to_owned()).await?;
        let mut sign_ins = Vec::new();
        for (what, email, role) in PEOPLE {
            let id = AccountId(uuid::Uuid::now_v7());
            accounts::insert(&self.pg, id, email, &hash, "en", Some(self.now()), self.now()).await?;
            if let (Some(role), Some(row)) = (role, accounts::by_email(&self.pg, email).await?) {
                let works_for = if *email == OTHER_EMAIL { other } else { organization };
                accounts::set_member(&self.pg, works_for, row.id, *role).await?;
            }
            sign_ins.push(((*what).to_owned(), (*email).to_owned(), DEMO_PASSWORD.to_owned()));
        }
        let real = pretix::import(real_venue, pretix::Mode::Tolerant)
            .map_err(|e| Error::Broken(format!("the demo's venue can't be read: {e}")))?;
        let member = self.command_line(DEMO_ORGANIZATION).await?;
        let stadium = self.store_plan(&member, real.plan, "Canvas Stadium", "Istanbul", ISTANBUL).await?;
        let arena =
            self.store_plan(&member, generate::arena(20_000, "StarArena"), "StarArena", "Berlin", BERLIN).await?;
        let floor = generate::standing_arena(3_000, "Harbour Hall");
        let hall = self.store_plan(&member, floor, "Harbour Hall", "Berlin", BERLIN).await?;
        let mut performances = Vec::new();
        let places = [(arena.id, BERLIN), (hall.id, BERLIN), (stadium.id, ISTANBUL), (arena.id, BERLIN)];
        for (evening, place) in EVENINGS.iter().zip(places) {
            performances.push(self.seed_evening(&member, evening, place).await?);
        }
        Ok(Demo { sign_ins, performances })
    }

    async fn seed_evening(
        self: &Arc<Self>,
        member: &Member,
        evening: &Evening,
        (plan, time_zone): (PlanId, &str),
    ) -> Result<PerformanceId> {
        let known = crate::postgres::catalog::all(&self.pg, Some(evening.slug)).await?;
        if let Some(row) = known.first() {
            return Ok(row.id);
        }
        let fields = EventFields {
            slug: evening.slug.to_owned(),
            title: evening.title.to_owned(),
            artist: evening.artist.to_owned(),
            description: evening.text.to_owned(),
            cover: evening.cover,
        };
        let event = self.ensure_event(member, fields).await?;
        let now = self.now();
        let starts = evening_at(now.plus(evening.starts_in_days * DAY_MS), time_zone)?;
        let mut new = self.sale_for(plan, now.plus(evening.opens_in_ms), starts).await?;
        new.hold_ttl_ms = self.config.demo_hold_ttl_ms;
        new.single_seat_rule = evening.single_seat_rule;
        self.sell(member, event, plan, &new).await
    }

    /// Sensible settings for a sale over every category of a plan.
    async fn sale_for(&self, plan: PlanId, opens: Millis, starts: Millis) -> Result<NewPerformance> {
        let categories = crate::postgres::plans::categories(&self.pg, plan).await?;
        let prices = (0..categories.len())
            .map(|index| {
                let step = i64::try_from(index).unwrap_or(0);
                // From 129 downwards, in steps of 20, never below 29.
                (u8::try_from(index).unwrap_or(u8::MAX), (12_900 - 2_000 * step).max(2_900))
            })
            .collect();
        Ok(NewPerformance {
            starts,
            opens,
            mode: Mode::Queue,
            registers: None,
            account_cutoff: None,
            window_ms: WINDOW_MS,
            closes: starts,
            seat_limit: 6,
            hold_ttl_ms: 15 * 60_000,
            single_seat_rule: false,
            shoppers_max: 2_000,
            release_per_min: 1_200,
            currency: "EUR".parse().map_err(|e: domain::money::NotACurrency| Error::Broken(e.to_string()))?,
            prices,
        })
    }

    /// Makes a sale of its own for a simulation or a test.
    ///
    /// # Errors
    /// `forbidden` in production; `invalid_input`.
    pub async fn seed_sale(
        self: &Arc<Self>,
        plan: Plan,
        name: &str,
        settings: impl FnOnce(&mut NewPerformance) + Send,
    ) -> Result<PerformanceId> {
        self.development_only("a simulated sale")?;
        self.ensure_organization(RUSH_ORGANIZATION).await?;
        let member = self.command_line(RUSH_ORGANIZATION).await?;
        let stored = self.store_plan(&member, plan, name, "Berlin", BERLIN).await?;
        let fields = EventFields {
            slug: format!("rush-{}", uuid::Uuid::now_v7().simple()),
            title: name.to_owned(),
            artist: "The Crowd".to_owned(),
            description: "A simulated sale.".to_owned(),
            cover: 3,
        };
        let event = self.save_event_for(&member, None, fields).await?;
        let now = self.now();
        let mut new = self.sale_for(stored.id, now, now.plus(DAY_MS)).await?;
        settings(&mut new);
        self.sell(&member, event, stored.id, &new).await
    }

    /// Makes confirmed accounts with a session each: the crowd of a simulation. The server treats
    /// them like anybody else.
    ///
    /// # Errors
    /// `forbidden` in production.
    pub async fn seed_fans(self: &Arc<Self>, count: usize) -> Result<Vec<FanLogin>> {
        self.development_only("a simulated crowd")?;
        let mut fans = Vec::with_capacity(count);
        let cookie = self.cookie_name("sa-session");
        for start in (0..count).step_by(FANS_BATCH) {
            let size = FANS_BATCH.min(count - start);
            let ids: Vec<uuid::Uuid> = (0..size).map(|_| uuid::Uuid::now_v7()).collect();
            let sessions: Vec<uuid::Uuid> = (0..size).map(|_| uuid::Uuid::now_v7()).collect();
            let emails: Vec<String> = ids.iter().map(|id| format!("fan-{}@rush.example", id.simple())).collect();
            accounts::insert_many(&self.pg, &ids, &emails, &sessions, self.now()).await?;
            for ((id, session), email) in ids.into_iter().zip(sessions).zip(emails) {
                let session = Session {
                    account: AccountId(id),
                    session: SessionId(session),
                    email,
                    verified: true,
                    role: None,
                    created: Millis(0),
                    fresh_until: Millis(0),
                };
                let token = self.issue_session(session).token;
                fans.push(FanLogin { account: AccountId(id), cookie: format!("{cookie}={token}") });
            }
        }
        Ok(fans)
    }
}
