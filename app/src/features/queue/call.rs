//! Calling a fan whose page is not looked at: two tones and a notification, once they were asked for. All
//! of it is in the browser alone.
//!
//! Browsers give neither without a click: the same click asks for the permission and opens the sound. What
//! was chosen is kept for the device; after a reload the sound may stay closed until the next click, and
//! the notification is there all the same.

use crate::browser;
use gloo_timers::future::TimeoutFuture;
use leptos::prelude::window;
use std::cell::RefCell;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AudioContext, Notification, NotificationOptions, NotificationPermission};

/// Where the choice is kept.
const KEY: &str = "sa-call";
const ON: &str = "on";
const OFF: &str = "off";
/// The two tones, in hertz: a fourth upwards, as a doorbell of a quiet house.
const TONES_HERTZ: [f32; 2] = [587.33, 783.99];
/// Length of a tone, in seconds; the second begins at half of the first.
const TONE_S: f64 = 0.5;
/// How loud: well below what startles.
const LOUDNESS: f32 = 0.2;
/// Next to nothing: the curve of a tone may not touch zero.
const HUSH: f32 = 0.0001;
/// Until both tones are over, in milliseconds.
const CHIME_MS: u32 = 900;

thread_local! {
    static SOUND: RefCell<Option<AudioContext>> = const { RefCell::new(None) };
}

/// Whether the fan is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Not looked yet: what the server renders.
    Unknown,
    /// It can be asked for.
    Offered,
    /// Sound, and a notification.
    On,
    /// Sound alone: the browser shows no notifications for this site.
    SoundOnly,
}

impl Call {
    /// Whether anything will be heard or seen.
    pub(super) fn is_on(self) -> bool {
        matches!(self, Self::On | Self::SoundOnly)
    }
}

/// How it stands on this device.
pub(super) fn look() -> Call {
    if browser::kept_for_device(KEY).as_deref() != Some(ON) {
        return Call::Offered;
    }
    match permission() {
        Some(NotificationPermission::Granted) => Call::On,
        // The permission was taken back, or is to be asked for again.
        Some(NotificationPermission::Default) => Call::Offered,
        _ => Call::SoundOnly,
    }
}

/// Asks for the permission, opens the sound and lets it be heard. For a click, before anything is awaited.
pub(super) async fn turn_on() -> Call {
    open_sound();
    chime();
    let granted = match permission() {
        Some(NotificationPermission::Default) => ask().await,
        known => known == Some(NotificationPermission::Granted),
    };
    browser::keep_for_device(KEY, ON);
    if granted { Call::On } else { Call::SoundOnly }
}

/// Nothing more is heard.
pub(super) fn turn_off() -> Call {
    browser::keep_for_device(KEY, OFF);
    Call::Offered
}

/// Calls: `title` and `text` are what the notification says, `tag` keeps it to one a performance.
pub(super) fn ring(call: Call, title: &str, text: &str, tag: &str) {
    if !call.is_on() {
        return;
    }
    open_sound();
    chime();
    if call == Call::On {
        let options = NotificationOptions::new();
        options.set_body(text);
        options.set_tag(tag);
        options.set_icon("/favicon.svg");
        // Some browsers of phones want a service worker for it: there the sound and the title must do.
        drop(Notification::new_with_options(title, &options));
    }
}

/// Until the tones are over: leaving the page would cut them short.
pub(super) async fn heard(call: Call) {
    if call.is_on() {
        TimeoutFuture::new(CHIME_MS).await;
    }
}

/// The permission; `None` in browsers that know no notifications.
fn permission() -> Option<NotificationPermission> {
    let known = js_sys::Reflect::has(&window(), &"Notification".into()).unwrap_or(false);
    known.then(Notification::permission)
}

async fn ask() -> bool {
    let Ok(asked) = Notification::request_permission() else { return false };
    // Older browsers answer by a callback only, and give no promise.
    let Ok(promise) = JsValue::from(asked).dyn_into::<js_sys::Promise>() else { return false };
    // A closed dialog is a no.
    JsFuture::from(promise).await.is_ok() && permission() == Some(NotificationPermission::Granted)
}

fn open_sound() {
    SOUND.with_borrow_mut(|sound| {
        if sound.is_none() {
            *sound = AudioContext::new().ok();
        }
        if let Some(sound) = sound {
            drop(sound.resume());
        }
    });
}

fn chime() {
    SOUND.with_borrow(|sound| {
        let Some(sound) = sound else { return };
        let mut from = sound.current_time();
        for hertz in TONES_HERTZ {
            // A device without loudspeakers is no fault.
            if tone(sound, hertz, from).is_err() {
                return;
            }
            from += TONE_S / 2.0;
        }
    });
}

/// One tone that swells quickly and dies away.
fn tone(sound: &AudioContext, hertz: f32, from: f64) -> Result<(), JsValue> {
    let (source, volume) = (sound.create_oscillator()?, sound.create_gain()?);
    source.frequency().set_value(hertz);
    let loudness = volume.gain();
    loudness.set_value_at_time(HUSH, from)?;
    loudness.exponential_ramp_to_value_at_time(LOUDNESS, from + TONE_S / 10.0)?;
    loudness.exponential_ramp_to_value_at_time(HUSH, from + TONE_S)?;
    source.connect_with_audio_node(&volume)?;
    volume.connect_with_audio_node(&sound.destination())?;
    source.start_with_when(from)?;
    source.stop_with_when(from + TONE_S)
}
