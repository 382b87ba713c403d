//! `stararena organization`: who acts for whom, before there is an owner to do it in a browser.

use super::{print, with_backend};
use clap::Subcommand;
use domain::account::Role;
use domain::organizer::members::Seating;

#[derive(Subcommand)]
pub(super) enum OrganizationCommand {
    /// Make an organization, or find the one of this name, and give it an owner
    Create {
        /// Its name
        #[arg(long)]
        name: String,
        /// Address of the owner; without a confirmed account it is invited by mail
        #[arg(long)]
        owner: String,
    },
    /// Give an address a role, or take it away
    Member {
        /// Name of the organization
        #[arg(long)]
        organization: String,
        /// Address of the member
        #[arg(long)]
        email: String,
        /// owner, operator, finance, risk or door
        #[arg(long, value_parser = role, required_unless_present = "remove", conflicts_with = "remove")]
        role: Option<Role>,
        /// End the membership, or take the invitation back
        #[arg(long)]
        remove: bool,
    },
    /// Choose the payment provider of an organization for all payments that begin from now on
    Provider {
        /// Name of the organization
        organization: String,
        /// Name of a provider that is configured: sandbox or stripe
        name: String,
    },
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| {
        let all: Vec<&str> = Role::ALL.iter().map(|role| role.as_str()).collect();
        format!("one of {} is expected", all.join(", "))
    })
}

pub(super) async fn run(command: OrganizationCommand) -> anyhow::Result<()> {
    with_backend(async |backend| {
        match command {
            OrganizationCommand::Create { name, owner } => {
                let member = backend.create_organization(&name).await?;
                print(&format!("organization {}", member.organization()));
                tell_seating(&owner, Role::Owner, &backend.seat_member(&member, &owner, Role::Owner).await?);
            }
            OrganizationCommand::Member { organization, email, role: Some(role), .. } => {
                let member = backend.command_line(&organization).await?;
                tell_seating(&email, role, &backend.seat_member(&member, &email, role).await?);
            }
            OrganizationCommand::Member { organization, email, role: None, .. } => {
                let member = backend.command_line(&organization).await?;
                backend.unseat_member(&member, &email).await?;
                print(&format!("{email} acts no more for {organization}"));
            }
            OrganizationCommand::Provider { organization, name } => {
                let member = backend.command_line(&organization).await?;
                backend.choose_provider(&member, &name).await?;
                print(&format!("{organization} is paid through {name}"));
            }
        }
        Ok(())
    })
    .await
}

fn tell_seating(email: &str, role: Role, seating: &Seating) {
    let role = role.as_str();
    match seating {
        Seating::Member => print(&format!("{email} is {role}")),
        Seating::Invited(link) => print(&format!("{email} is invited as {role}: {link}")),
    }
}
