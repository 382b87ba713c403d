//! How the file is read: the choices that its format has, and "check again".

use super::api::RecheckImport;
use super::said::Said;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::organizer::plans::{COLUMNS, ENCODINGS, ImportState, ImportView, SEPARATORS};
use domain::venue::import::{Format, Table};
use leptos::prelude::*;

/// The choices in a form that works without JavaScript.
#[component]
pub(super) fn Choose(
    /// The file.
    view: ImportView,
    /// Checks it again.
    recheck: ServerAction<RecheckImport>,
) -> impl IntoView {
    let lang = lang();
    let value = recheck.value();
    // The columns are those of the present reading: read otherwise, the headers are others.
    let open = view.state == ImportState::Refused;
    let columns = view.table.clone().map(|table| view! { <Columns view=view.clone() table recheck/> });
    view! {
        <details class="plans-options" open=open data-testid="options">
            <summary>{td_string!(lang, plans.options)}</summary>
            <Said error=Signal::derive(move || value.get().and_then(Result::err))/>
            <ActionForm action=recheck attr:class="form">
                <Identity view=view.clone()/>
                <Formats view=view.clone()/>
                <Mode tolerant=view.options.tolerant/>
                {(view.format == Format::Csv).then(|| view! { <Reading view=view.clone()/> })}
                {(view.format == Format::Svg).then(|| view! { <Pattern pattern=view.options.id_pattern.clone().unwrap_or_default()/> })}
                <Again recheck/>
            </ActionForm>
            {columns}
        </details>
    }
    .into_any()
}

#[component]
fn Identity(view: ImportView) -> impl IntoView {
    view! {
        <input type="hidden" name="id" value=view.id.to_string()/>
        <input type="hidden" name="version" value=view.version.to_string()/>
    }
    .into_any()
}

#[component]
fn Again(recheck: ServerAction<RecheckImport>) -> impl IntoView {
    let lang = lang();
    view! {
        <p class="actions">
            <button class="button" type="submit" disabled=move || recheck.pending().get() data-testid="check-again">
                {td_string!(lang, plans.check_again)}
            </button>
        </p>
    }
    .into_any()
}

/// One choice among several, as radio buttons or as a list.
fn choice(value: &str, text: &str, chosen: bool) -> AnyView {
    view! { <option value=value.to_owned() selected=chosen>{text.to_owned()}</option> }.into_any()
}

fn format_word(format: Format) -> &'static str {
    match format {
        Format::Pretix => "pretix",
        Format::Csv => "csv",
        Format::Svg => "svg",
    }
}

#[component]
fn Formats(view: ImportView) -> impl IntoView {
    let lang = lang();
    let names = [
        (Format::Pretix, td_string!(lang, plans.format_pretix)),
        (Format::Csv, td_string!(lang, plans.format_csv)),
        (Format::Svg, td_string!(lang, plans.format_svg)),
    ];
    let found = names.iter().find(|(format, _)| *format == view.format).map_or("", |(_, name)| *name);
    view! {
        <label class="field">
            <span>{td_string!(lang, plans.format)}</span>
            <select name="choices[format]">
                {choice("", &td_string!(lang, plans.detected, what = found), view.options.format.is_none())}
                {names.into_iter().map(|(format, name)| choice(format_word(format), name, view.options.format == Some(format))).collect_view()}
            </select>
        </label>
    }
    .into_any()
}

#[component]
fn Mode(tolerant: bool) -> impl IntoView {
    let lang = lang();
    view! {
        <fieldset class="plans-modes">
            <legend>{td_string!(lang, plans.mode)}</legend>
            <label>
                <input type="radio" name="choices[tolerant]" value="false" checked=!tolerant data-testid="mode-strict"/>
                <span><b>{td_string!(lang, plans.strict)}</b> " " {td_string!(lang, plans.strict_text)}</span>
            </label>
            <label>
                <input type="radio" name="choices[tolerant]" value="true" checked=tolerant data-testid="mode-tolerant"/>
                <span><b>{td_string!(lang, plans.tolerant)}</b> " " {td_string!(lang, plans.tolerant_text)}</span>
            </label>
        </fieldset>
    }
    .into_any()
}

fn separator_name(lang: Locale, separator: char) -> String {
    match separator {
        ',' => td_string!(lang, plans.comma).to_owned(),
        ';' => td_string!(lang, plans.semicolon).to_owned(),
        '\t' => td_string!(lang, plans.tab).to_owned(),
        '|' => td_string!(lang, plans.pipe).to_owned(),
        other => other.to_string(),
    }
}

/// Encoding and separator of a table.
#[component]
fn Reading(view: ImportView) -> impl IntoView {
    let lang = lang();
    let table = view.table.unwrap_or_default();
    let encoding = view.options.encoding;
    let separator = view.options.separator;
    let found = if table.headers.is_empty() { String::new() } else { separator_name(lang, table.separator) };
    view! {
        <div class="plans-pair">
            <label class="field">
                <span>{td_string!(lang, plans.encoding)}</span>
                <select name="choices[encoding]" data-testid="encoding">
                    {choice("", &td_string!(lang, plans.detected, what = table.encoding), encoding.is_none())}
                    {ENCODINGS.into_iter().map(|label| choice(label, label, encoding.as_deref() == Some(label))).collect_view()}
                </select>
            </label>
            <label class="field">
                <span>{td_string!(lang, plans.separator)}</span>
                <select name="choices[separator]" data-testid="separator">
                    {choice("", &td_string!(lang, plans.detected, what = found), separator.is_none())}
                    {SEPARATORS
                        .into_iter()
                        .map(|(word, sign)| choice(word, &separator_name(lang, sign), separator == Some(sign)))
                        .collect_view()}
                </select>
            </label>
        </div>
    }
    .into_any()
}

#[component]
fn Pattern(pattern: String) -> impl IntoView {
    let lang = lang();
    view! {
        <label class="field">
            <span>{td_string!(lang, plans.id_pattern)}</span>
            <input type="text" name="choices[id_pattern]" value=pattern maxlength="500" spellcheck="false" autocapitalize="off" data-testid="id-pattern"/>
            <small>{td_string!(lang, plans.id_pattern_hint)} " " <code>"seat-(?<seat>[0-9]+)-(?<row>[A-Z]+)"</code></small>
        </label>
    }
    .into_any()
}

fn column_name(lang: Locale, ours: &str) -> &'static str {
    match ours {
        "section" => td_string!(lang, plans.column_section),
        "row" => td_string!(lang, plans.column_row),
        "seat" => td_string!(lang, plans.column_seat),
        "x" => td_string!(lang, plans.column_x),
        "y" => td_string!(lang, plans.column_y),
        "category" => td_string!(lang, plans.column_category),
        "price" => td_string!(lang, plans.column_price),
        "currency" => td_string!(lang, plans.column_currency),
        "type" => td_string!(lang, plans.column_type),
        "capacity" => td_string!(lang, plans.column_capacity),
        "restricted_view" => td_string!(lang, plans.column_restricted_view),
        "note" => td_string!(lang, plans.column_note),
        _ => td_string!(lang, plans.column_id),
    }
}

/// What each column of a table is, above its first lines.
#[component]
fn Columns(view: ImportView, table: Table, recheck: ServerAction<RecheckImport>) -> impl IntoView {
    let lang = lang();
    let heads = table.headers.into_iter().zip(table.columns).enumerate().map(|(index, (header, ours))| {
        let chosen = COLUMNS
            .into_iter()
            .map(|name| choice(name, column_name(lang, name), ours.as_deref() == Some(name)))
            .collect_view();
        view! {
            <th scope="col">
                <label class="field">
                    <span>{header.clone()}</span>
                    <select name=format!("choices[columns][{index}][ours]") data-testid="column">
                        {choice("", td_string!(lang, plans.set_aside), ours.is_none())}
                        {chosen}
                    </select>
                </label>
                <input type="hidden" name=format!("choices[columns][{index}][header]") value=header/>
            </th>
        }
    });
    let lines = table.sample.into_iter().map(|line| {
        view! { <tr>{line.into_iter().map(|cell| view! { <td>{cell}</td> }).collect_view()}</tr> }
    });
    let (heads, lines) = (heads.collect_view(), lines.collect_view());
    let separator = SEPARATORS.into_iter().find(|(_, sign)| Some(*sign) == view.options.separator);
    view! {
        <ActionForm action=recheck attr:class="form">
            <Identity view=view.clone()/>
            <input type="hidden" name="choices[format]" value=view.options.format.map_or("", format_word)/>
            <input type="hidden" name="choices[tolerant]" value=view.options.tolerant.to_string()/>
            <input type="hidden" name="choices[encoding]" value=view.options.encoding.clone().unwrap_or_default()/>
            <input type="hidden" name="choices[separator]" value=separator.map_or("", |(word, _)| word)/>
            <h3>{td_string!(lang, plans.columns)}</h3>
            <p class="quiet">{td_string!(lang, plans.columns_text)}</p>
            <div class="plans-scroll" tabindex="0" role="region" aria-label=td_string!(lang, plans.columns)>
                <table class="plans-table plans-columns" data-testid="columns">
                    <thead><tr>{heads}</tr></thead>
                    <tbody>{lines}</tbody>
                </table>
            </div>
            <Again recheck/>
        </ActionForm>
    }
    .into_any()
}
