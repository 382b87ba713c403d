//! The mailbox of development: what would have been sent. Elsewhere there is nothing at its address.

use super::api;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::account::MailView;
use leptos::prelude::*;

/// All mails, the newest first.
#[component]
pub fn MailboxPage() -> impl IntoView {
    let lang = lang();
    let mails = Resource::new(|| (), |()| api::mailbox());
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match mails.await {
                    Ok(mails) => {
                        let empty = mails.is_empty();
                        view! {
                            <Title text=td_string!(lang, account.mailbox)/>
                            <section class="column mailbox">
                                <h1>{td_string!(lang, account.mailbox)}</h1>
                                <p class="quiet">{td_string!(lang, account.mailbox_text)}</p>
                                {empty.then(|| view! { <p>{td_string!(lang, account.mailbox_empty)}</p> })}
                                {mails.into_iter().map(|mail| view! { <Mail mail/> }).collect_view()}
                            </section>
                        }
                        .into_any()
                    }
                    Err(error) => view! { <Failure error back="/dev/mailbox"/> }.into_any(),
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Mail(mail: MailView) -> impl IntoView {
    let to = mail.to.clone();
    let lines = mail.body.lines().map(|line| view! { <p>{linked(line)}</p> }).collect_view();
    view! {
        <article class="mail" data-testid="mail" data-to=to>
            <h2>{mail.subject}</h2>
            <p class="quiet">{mail.to}</p>
            <div class="mail-body">{lines}</div>
        </article>
    }
    .into_any()
}

/// A line of plain text whose addresses can be followed.
fn linked(line: &str) -> impl IntoView + use<> {
    line.split_inclusive(' ')
        .map(|word| {
            let address = word.trim_end();
            if address.starts_with("http://") || address.starts_with("https://") {
                view! { <a rel="external" href=address.to_owned()>{word.to_owned()}</a> }.into_any()
            } else {
                word.to_owned().into_any()
            }
        })
        .collect_view()
}
