//! `stararena webhook`: which of an organization's own systems are told of events, and how that went.

use super::{print, with_backend};
use backend::{Backend, EndpointId, Member, WebhookEndpoint, WebhookEvent};
use clap::Subcommand;
use domain::Millis;
use std::sync::Arc;

#[derive(Subcommand)]
pub(super) enum WebhookCommand {
    /// Add an endpoint, and print its id and its secret, which is shown this once
    Add {
        #[command(flatten)]
        whose: Whose,
        /// Where events are sent, https://
        #[arg(long)]
        url: String,
        /// What it is told, separated by commas; everything where this is left out
        #[arg(long, value_delimiter = ',', value_parser = event)]
        events: Vec<WebhookEvent>,
    },
    /// List the endpoints
    List {
        #[command(flatten)]
        whose: Whose,
    },
    /// Take an endpoint out; what waits for it is given up
    Remove {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        which: Which,
    },
    /// Tell an endpoint again that was disabled
    Enable {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        which: Which,
    },
    /// Print a new secret; the one so far signs as well for a day
    Rotate {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        which: Which,
    },
    /// List deliveries to an endpoint, newest first, or every try of one
    Deliveries {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        which: Which,
        /// Show the tries of this one
        #[arg(long, value_name = "NUMBER")]
        delivery: Option<i64>,
        /// How many at most
        #[arg(long, default_value_t = 50)]
        most: u32,
    },
    /// Send again what has ended: one delivery, or all that were given up
    Redeliver {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        which: Which,
        /// This one alone
        #[arg(long, value_name = "NUMBER", required_unless_present = "given_up", conflicts_with = "given_up")]
        delivery: Option<i64>,
        /// All that were given up
        #[arg(long)]
        given_up: bool,
    },
}

#[derive(clap::Args)]
pub(super) struct Whose {
    /// Name of the organization
    #[arg(long)]
    organization: String,
}

#[derive(clap::Args)]
pub(super) struct Which {
    /// Id of the endpoint
    #[arg(long, value_name = "ID")]
    endpoint: EndpointId,
}

fn event(text: &str) -> Result<WebhookEvent, String> {
    WebhookEvent::parse(text).ok_or_else(|| {
        let all: Vec<&str> = WebhookEvent::ALL.iter().map(|event| event.as_str()).collect();
        format!("one of {} is expected", all.join(", "))
    })
}

pub(super) async fn run(command: WebhookCommand) -> anyhow::Result<()> {
    with_backend(async |backend| {
        match command {
            WebhookCommand::Add { whose, url, events } => {
                let member = backend.command_line(&whose.organization).await?;
                let events = if events.is_empty() { WebhookEvent::ALL.to_vec() } else { events };
                let made = backend.add_webhook(&member, &url, &events).await?;
                print(&format!("endpoint {}", made.id));
                print(&format!("secret {}", made.secret));
            }
            WebhookCommand::List { whose } => {
                let member = backend.command_line(&whose.organization).await?;
                for endpoint in backend.webhooks_of(&member).await? {
                    print(&line(&endpoint));
                }
            }
            WebhookCommand::Remove { whose, which } => {
                let member = backend.command_line(&whose.organization).await?;
                backend.remove_webhook(&member, which.endpoint).await?;
                print(&format!("{} is told no more", which.endpoint));
            }
            WebhookCommand::Enable { whose, which } => {
                let member = backend.command_line(&whose.organization).await?;
                backend.enable_webhook(&member, which.endpoint).await?;
                print(&format!("{} is told again", which.endpoint));
            }
            WebhookCommand::Rotate { whose, which } => {
                let member = backend.command_line(&whose.organization).await?;
                print(&format!("secret {}", backend.rotate_webhook(&member, which.endpoint).await?));
            }
            WebhookCommand::Deliveries { whose, which, delivery, most } => {
                let member = backend.command_line(&whose.organization).await?;
                match delivery {
                    Some(delivery) => tell_attempts(&backend, &member, delivery).await?,
                    None => tell_deliveries(&backend, &member, which.endpoint, most).await?,
                }
            }
            WebhookCommand::Redeliver { whose, which, delivery, .. } => {
                let member = backend.command_line(&whose.organization).await?;
                print(&format!("{} to be sent again", backend.redeliver(&member, which.endpoint, delivery).await?));
            }
        }
        Ok(())
    })
    .await
}

fn line(endpoint: &WebhookEndpoint) -> String {
    let events: Vec<&str> = endpoint.events.iter().map(|event| event.as_str()).collect();
    let mut text = format!("{} {:<8} {} {}", endpoint.id, endpoint.status.as_str(), endpoint.url, events.join(","));
    if let Some(reason) = &endpoint.reason {
        text.push_str(&format!(" ({reason})"));
    }
    if let Some(since) = endpoint.failing_since {
        text.push_str(&format!(" (fails since {})", instant(since)));
    }
    text
}

async fn tell_deliveries(backend: &Arc<Backend>, member: &Member, id: EndpointId, most: u32) -> anyhow::Result<()> {
    for delivery in backend.webhook_deliveries(member, id, most).await? {
        let state = match (&delivery.outcome, delivery.next_try) {
            (Some(outcome), _) => outcome.clone(),
            (None, Some(next)) => format!("next try {}", instant(next)),
            (None, None) => "ended".to_owned(),
        };
        let error = delivery.error.as_deref().unwrap_or_default();
        print(&format!(
            "{} {} {:<16} {} tries, {state} {error}",
            delivery.id, delivery.message, delivery.event, delivery.attempts
        ));
    }
    Ok(())
}

async fn tell_attempts(backend: &Arc<Backend>, member: &Member, delivery: i64) -> anyhow::Result<()> {
    for attempt in backend.webhook_attempts(member, delivery).await? {
        let status = attempt.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        let error = attempt.error.as_deref().unwrap_or_default();
        // Others wrote the answer: as a literal it moves no cursor and starts no line.
        print(&format!("{} {status} {} ms {:?} {error}", instant(attempt.at), attempt.duration_ms, attempt.answer));
    }
    Ok(())
}

/// An instant in seconds since 1970, which every shell can turn into a time of its own.
fn instant(at: Millis) -> String {
    format!("@{}", at.0.div_euclid(1_000))
}
