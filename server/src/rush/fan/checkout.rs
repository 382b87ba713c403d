//! The money: pressing Pay, the card at the provider's page, waiting for the tickets.

use std::time::Duration;

use domain::order::{OrderStatus, OrderView, PayStarted};
use domain::refusal::Code;
use tokio::time::{Instant, sleep};

use super::super::http::{Cookies, Fault, Line, Target};
use super::super::journal::{Kind, Outcome};
use super::{End, Fan, Reply};

/// The sandbox provider's card that is accepted.
const CARD_ACCEPTED: &str = "4242424242424242";
/// The sandbox provider's card that the bank declines.
const CARD_DECLINED: &str = "4000000000000002";
/// How often Pay is pressed for one order.
const PRESSES_MAX: u32 = 4;
/// How often one card is sent to a page that gives no answer; the page leads a second press to where
/// the first one went.
const CARD_TRIES_MAX: u32 = 4;
/// Wait before Pay is pressed or a card is sent again.
const PRESS_AGAIN_MS: u64 = 500;
/// Waits between two looks at a paid order: quick while most orders settle, then slower.
const LOOK_MIN_MS: u64 = 200;
const LOOK_MAX_MS: u64 = 1_000;
/// Looks at the quick pace.
const QUICK_LOOKS: u32 = 10;

/// What became of a card.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Card {
    Accepted,
    Declined,
    /// The page takes no card any more, or gives no answer.
    Over,
}

impl Fan {
    /// Pays the order of a claim and waits for its tickets.
    pub(super) async fn buy(&mut self, claim: usize) -> Result<End, End> {
        let mut cards = vec![CARD_ACCEPTED];
        if self.habits.declined_first {
            cards.push(CARD_DECLINED);
        }
        for _ in 0..PRESSES_MAX {
            if let Some(url) = self.press_pay(claim).await? {
                let mut outcome = Card::Declined;
                while outcome == Card::Declined
                    && let Some(card) = cards.last()
                {
                    outcome = self.pay_with(&url, card).await;
                    // The accepted card stays, for a page that is over.
                    if outcome == Card::Declined && cards.len() > 1 {
                        cards.pop();
                        self.pause(self.world.think_ms).await;
                    } else {
                        break;
                    }
                }
                if outcome == Card::Accepted {
                    self.journal.claims[claim].charged_us = Some(self.world.clock.now_us());
                    self.world.tally.paid.add();
                    return self.wait_for_tickets(claim).await;
                }
            }
            self.wait_about(PRESS_AGAIN_MS).await;
        }
        Err(End::Failed)
    }

    /// The address of the provider's page; `None` where the order is not ready for another try yet.
    async fn press_pay(&mut self, claim: usize) -> Result<Option<String>, End> {
        let order = self.journal.claims[claim].order.to_string();
        // Paying frees the place behind the door: from the first request on it may be another's.
        self.journal.end_visit(self.world.clock.now_us());
        match self.insist::<PayStarted>(Kind::Pay, "/api/order-pay", &[("order", &order)], Instant::now()).await {
            Reply::Ok(started) => Ok(Some(started.redirect_url)),
            Reply::No(refusal) if refusal.code == Code::WrongState => {
                let view = self.read_order(claim, Instant::now()).await;
                match view {
                    Some(view) if view.status.is_final() => Err(End::RanOut),
                    Some(view) => Ok(view.pay_url),
                    None => Ok(None),
                }
            }
            Reply::No(refusal) if refusal.code == Code::HoldClosed => Err(End::RanOut),
            Reply::No(_) | Reply::Fault => Err(End::Failed),
        }
    }

    /// Sends one card to the provider's page.
    async fn pay_with(&mut self, url: &str, card: &str) -> Card {
        let Ok((target, uri)) = Target::resolve(url).await else {
            self.write(
                Kind::Card,
                Outcome::Failed("no such page".to_owned()),
                Instant::now(),
                self.world.clock.now_us(),
            );
            return Card::Over;
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        // One open connection a fan: the line to the shop is hung up meanwhile.
        self.line.hang_up();
        let mut page = Line::new(self.line.source(), self.world.places(), Cookies::default());
        for _ in 0..CARD_TRIES_MAX {
            let (intended, sent_us) = (Instant::now(), self.world.clock.now_us());
            let (card, outcome) = match page.post_elsewhere(&target, path, &[("card", card)]).await {
                Ok(answer) if answer.status.is_redirection() => (Some(Card::Accepted), Outcome::Ok),
                Ok(answer) if matches!(answer.status.as_u16(), 200 | 402 | 422) => {
                    (Some(Card::Declined), Outcome::Refused("declined"))
                }
                Ok(answer) if answer.status.is_server_error() => {
                    (None, Outcome::Failed(format!("status {}", answer.status.as_u16())))
                }
                Ok(answer) => (Some(Card::Over), Outcome::Failed(format!("status {}", answer.status.as_u16()))),
                Err(Fault::Failed) => (None, Outcome::Failed("not reached".to_owned())),
                Err(Fault::Unknown) => (None, Outcome::Unknown),
            };
            self.write(Kind::Card, outcome, intended, sent_us);
            if let Some(card) = card {
                return card;
            }
            self.wait_about(PRESS_AGAIN_MS).await;
        }
        Card::Over
    }

    async fn wait_for_tickets(&mut self, claim: usize) -> Result<End, End> {
        let deadline = Instant::now() + self.world.settle_limit;
        for look in 0.. {
            let pace_ms = if look < QUICK_LOOKS { LOOK_MIN_MS } else { LOOK_MAX_MS };
            let intended = Instant::now() + Duration::from_millis(pace_ms);
            if intended > deadline {
                break;
            }
            sleep(Duration::from_millis(pace_ms)).await;
            match self.read_order(claim, intended).await.map(|view| view.status) {
                Some(OrderStatus::Fulfilled) => return Ok(End::Bought),
                // Money that came after the end goes back by itself; the server's audit follows it.
                Some(status) if status.is_final() => return Ok(End::RanOut),
                _ => {}
            }
        }
        Ok(End::Unsettled)
    }

    /// Reads the order of a claim and writes down what it shows.
    pub(super) async fn read_order(&mut self, claim: usize, intended: Instant) -> Option<OrderView> {
        let order = self.journal.claims[claim].order.to_string();
        let reply = self.insist::<OrderView>(Kind::Order, "/api/order", &[("id", &order)], intended).await;
        let entry = &mut self.journal.claims[claim];
        match reply {
            Reply::Ok(view) => {
                let was_fulfilled = matches!(entry.status, Some((OrderStatus::Fulfilled, _)));
                entry.note(view.status, self.last.sent_us);
                if view.status == OrderStatus::Fulfilled && !was_fulfilled {
                    entry.fulfilled_us = Some(self.last.ended_us);
                    entry.tickets = view.tickets.clone();
                    self.world.tally.tickets.add_many(entry.tickets.len());
                }
                Some(view)
            }
            Reply::No(refusal) if refusal.code == Code::NotFound => {
                entry.missing = true;
                None
            }
            Reply::No(_) | Reply::Fault => None,
        }
    }

    /// After the run: reads every order whose end is not known yet, the paid ones until they are settled.
    pub(in super::super) async fn settle(&mut self, deadline: Instant) {
        for claim in 0..self.journal.claims.len() {
            let entry = &self.journal.claims[claim];
            if entry.given_back_us.is_some() || entry.status.is_some_and(|(status, _)| status.is_final()) {
                continue;
            }
            let is_charged = entry.charged_us.is_some();
            loop {
                let status = self.read_order(claim, Instant::now()).await.map(|view| view.status);
                if !is_charged || status.is_some_and(OrderStatus::is_final) || Instant::now() >= deadline {
                    break;
                }
                sleep(Duration::from_millis(LOOK_MAX_MS)).await;
            }
        }
        self.line.hang_up();
    }
}
