//! nginx from the system's package in front of the program, with the configuration that installations
//! use: many clients are few requests, and nothing of one visitor is shown to another.

use crate::arena::http::cookies;
use crate::arena::{Arena, Fan, Reply, SOON, Setup};
use domain::queue::{Entered, Joined};
use domain::{Code, PerformanceId};
use reqwest::Method;
use reqwest::header::{ACCEPT, COOKIE, ORIGIN};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// What installations use.
const CONFIGURATION: &str = include_str!("../../../deploy/nginx/stararena.conf");
/// Where Debian's package puts the program, which may not be in the path of a user.
const PLACES: [&str; 2] = ["nginx", "/usr/sbin/nginx"];
/// Connections that carry the polling clients, and clients of each: ten thousand in all.
const LINES: usize = 250;
const CLIENTS_A_LINE: usize = 40;
/// Polls of one client, one a second.
const POLLS: u32 = 4;
/// What ten thousand clients that poll once a second come to at least, on a machine that is busy with
/// other tests and with unoptimised clients.
const RATE_MIN: f64 = 2_000.0;
/// Most polls that the program may see in a second, of one performance.
const ORIGIN_MAX_PER_S: f64 = 5.0;
/// The oldest state that a client may be shown: nginx keeps it for one to two seconds, since it counts in
/// whole ones; the rest is the age of the program's own state, and the machine.
const AGE_MAX_MS: i64 = 3_500;

/// Pause between two tries at the door: nginx lets twenty calls of one address pass in a second.
const KNOCK_EVERY: Duration = Duration::from_millis(200);

/// A running nginx; it ends with this value, and its folder goes away.
struct Nginx {
    address: SocketAddr,
    child: Child,
    folder: PathBuf,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // One process without children: nothing outlives it.
        self.child.start_kill().ok();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.join("error.log")).unwrap_or_default();
            eprintln!("--- nginx's last words ---\n{log}");
        }
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Nginx {
    async fn before(arena: &Arena) -> Self {
        let unique = uuid::Uuid::new_v4();
        let folder = std::env::temp_dir().join(format!("sa-it-nginx-{}", &unique.simple().to_string()[..10]));
        std::fs::create_dir(&folder).unwrap();
        let address = server::run::free_address(unique.as_u128() as u32).unwrap();
        let upstream = arena.origin.trim_start_matches("http://");
        std::fs::write(folder.join("stararena.conf"), adapted(upstream, address, &folder)).unwrap();
        std::fs::write(folder.join("nginx.conf"), main_configuration(&folder)).unwrap();
        let mut nginx = Self { address, child: start(&folder), folder };
        eventually!(SOON, "nginx listens", {
            assert_eq!(nginx.child.try_wait().unwrap(), None, "nginx ended");
            TcpStream::connect(address).await.is_ok()
        });
        nginx
    }

    /// Asks as a visitor from an address of 127.0.4.0/24.
    async fn ask(&self, arena: &Arena, visitor: u8, request: Ask<'_>) -> Reply {
        let from = IpAddr::V4(Ipv4Addr::new(127, 0, 4, visitor));
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .local_address(from)
            .build()
            .unwrap();
        let mut built = client
            .request(request.method, format!("http://{}{}", self.address, request.path))
            .header(ORIGIN, &arena.origin)
            .header(ACCEPT, request.accept);
        if let Some(cookie) = request.cookie {
            built = built.header(COOKIE, cookie);
        }
        if let Some(claimed) = request.claims_to_be {
            built = built.header("x-forwarded-for", claimed);
        }
        if !request.form.is_empty() {
            built = built.form(request.form);
        }
        arena.send(built).await
    }
}

/// A request as a visitor sends it.
struct Ask<'a> {
    method: Method,
    path: &'a str,
    accept: &'a str,
    cookie: Option<String>,
    claims_to_be: Option<&'a str>,
    form: &'a [(&'a str, &'a str)],
}

impl<'a> Ask<'a> {
    fn page(path: &'a str) -> Self {
        Self { method: Method::GET, path, accept: "text/html", cookie: None, claims_to_be: None, form: &[] }
    }

    fn call(path: &'a str, form: &'a [(&'a str, &'a str)]) -> Self {
        Self { method: Method::POST, accept: "application/json", form, ..Self::page(path) }
    }

    fn of(self, fan: &Fan) -> Self {
        Self { cookie: Some(cookies(fan)), ..self }
    }
}

/// The configuration with what an installation sets: every other line is as it is.
fn adapted(upstream: &str, address: SocketAddr, folder: &Path) -> String {
    let mut text = CONFIGURATION.to_owned();
    let mut put = |old: &str, new: String| {
        assert_eq!(text.matches(old).count(), 1, "`{old}` is no line of its own in deploy/nginx/stararena.conf");
        text = text.replace(old, &new);
    };
    let unused = server::run::free_address(u32::from(address.port())).unwrap();
    put("server 127.0.0.1:3000 ", format!("server {upstream} "));
    put("proxy_cache_path /var/cache/nginx/stararena ", format!("proxy_cache_path {}/cache ", folder.display()));
    put("    listen 80; ", format!("    listen {unused}; "));
    put("    listen 443 ssl http2; ", format!("    listen {address}; "));
    let is_left_out = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("listen [::]") || line.starts_with("ssl_")
    };
    text.lines().filter(|line| !is_left_out(line)).collect::<Vec<_>>().join("\n")
}

fn main_configuration(folder: &Path) -> String {
    let folder = folder.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|name| format!("{name}_temp_path {folder}/{name};\n"))
        .collect();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n\
         events {{ worker_connections 900; }}\n\
         http {{\naccess_log off;\n{temporary}include {folder}/stararena.conf;\n}}\n"
    )
}

fn start(folder: &Path) -> Child {
    for place in PLACES {
        let mut command = Command::new(place);
        command.arg("-p").arg(folder).arg("-e").arg(folder.join("error.log"));
        command.arg("-c").arg(folder.join("nginx.conf"));
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true).spawn();
        match started {
            Ok(child) => return child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{place} can't be started: {error}"),
        }
    }
    panic!("nginx is missing: scripts/nginx.sh installs the system's package");
}

/// A program that believes what nginx says about its clients, and turns nobody away because other tests
/// keep this machine busy.
fn behind_nginx() -> Setup {
    let settings = vec![
        ("STARARENA_TRUSTED_PROXIES", "127.0.0.1".to_owned()),
        ("STARARENA_SHED_LATENESS_MS", "600000".to_owned()),
    ];
    Setup { settings, ..Setup::default() }
}

/// A number of the program's metrics, over all labels that have these words in them.
async fn counted(arena: &Arena, name: &str, words: &str) -> f64 {
    let text = arena.send(arena.plain_request(Method::GET, "/metrics")).await.body;
    let value = |line: &str| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with([' ', '{']) && rest.contains(words))?;
        rest.rsplit(' ').next()?.parse::<f64>().ok()
    };
    text.lines().filter_map(value).sum()
}

async fn polls_of_origin(arena: &Arena) -> f64 {
    counted(arena, "stararena_status_requests_total", "").await
}

fn status_path(id: PerformanceId) -> String {
    format!("/api/performances/{id}/queue/status")
}

/// What polling clients saw.
#[derive(Default)]
struct Seen {
    polls: u32,
    oldest_ms: i64,
}

/// Ten thousand clients of their own, each of which polls once a second, on some hundred lines; each poll
/// has its own moment, and comes at once where that has passed.
async fn crowd(nginx: &Nginx, id: PerformanceId) -> (Seen, Duration) {
    let started = Instant::now();
    let lines = (0..LINES).map(|number| tokio::spawn(line(nginx.address, id, number, started)));
    let mut all = Seen::default();
    for seen in futures::future::try_join_all(lines).await.unwrap() {
        all.polls += seen.polls;
        all.oldest_ms = all.oldest_ms.max(seen.oldest_ms);
    }
    (all, started.elapsed())
}

async fn line(address: SocketAddr, id: PerformanceId, number: usize, started: Instant) -> Seen {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut seen, mut buffer) = (Seen::default(), Vec::with_capacity(4_096));
    let step = Duration::from_secs(1) / u32::try_from(CLIENTS_A_LINE).unwrap();
    let offset = step / u32::try_from(LINES).unwrap() * u32::try_from(number).unwrap();
    for second in 0..POLLS {
        for client in 0..CLIENTS_A_LINE {
            let due = Duration::from_secs(second.into()) + step * u32::try_from(client).unwrap() + offset;
            tokio::time::sleep_until((started + due).into()).await;
            let name = number * CLIENTS_A_LINE + client;
            let request = format!(
                "GET {}?client={name} HTTP/1.1\r\nhost: tickets\r\nuser-agent: client {name}\r\n\
                 cookie: sa-session=client-{name}\r\naccept-encoding: gzip, br\r\n\r\n",
                status_path(id)
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let body = answer(&mut stream, &mut buffer).await;
            assert!(body.contains(&id.to_string()), "the state of another performance: {body}");
            seen.oldest_ms = seen.oldest_ms.max(now_ms() - made_at(&body));
            seen.polls += 1;
        }
    }
    seen
}

/// The body of the next answer, which is a success with a length.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> String {
    buffer.clear();
    loop {
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "nginx closed a connection");
        let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(!head.contains("set-cookie"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        let whole = end + 4 + length.trim().parse::<usize>().unwrap();
        while buffer.len() < whole {
            assert!(stream.read_buf(buffer).await.unwrap() > 0, "nginx closed a connection");
        }
        return String::from_utf8_lossy(&buffer[end + 4..whole]).into_owned();
    }
}

/// The instant at which a polled state was made: reading all of it ten thousand times a second is too
/// much for a test.
fn made_at(body: &str) -> i64 {
    let (_, rest) = body.split_once("\"now\":").expect("a state says when it was made");
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_clients_that_poll_are_a_few_requests_a_second_to_the_program() {
    let mut arena = Arena::web(behind_nginx()).await;
    let nginx = Nginx::before(&arena).await;
    let other = arena.another_sale().await;
    for sales in [vec![arena.performance], vec![arena.performance, other]] {
        let before = polls_of_origin(&arena).await;
        let crowds = futures::future::join_all(sales.iter().map(|id| crowd(&nginx, *id))).await;
        let asked = polls_of_origin(&arena).await - before;
        let (mut rate, mut lasted) = (0.0, 0.0_f64);
        for (seen, took) in &crowds {
            assert_eq!(seen.polls as usize, LINES * CLIENTS_A_LINE * POLLS as usize, "every poll is answered");
            assert!(seen.oldest_ms <= AGE_MAX_MS, "a state was shown {} ms after it was made", seen.oldest_ms);
            rate += f64::from(seen.polls) / took.as_secs_f64();
            lasted = lasted.max(took.as_secs_f64());
        }
        eprintln!("{} sales: {rate:.0} polls a second, of which the program saw {:.1}", sales.len(), asked / lasted);
        assert!(rate >= RATE_MIN, "{rate:.0} polls a second are no crowd");
        let count = f64::from(u32::try_from(sales.len()).unwrap());
        assert!(asked >= count, "each performance has a state of its own");
        assert!(asked <= ORIGIN_MAX_PER_S * lasted * count, "the program saw {asked} polls in {lasted:.1} s");
    }

    // With the program away, waiting fans keep the last state that was known.
    arena.kill_server().await;
    let mut stream = TcpStream::connect(nginx.address).await.unwrap();
    let request = format!("GET {} HTTP/1.1\r\nhost: tickets\r\n\r\n", status_path(other));
    for _ in 0..3 {
        stream.write_all(request.as_bytes()).await.unwrap();
        let kept = answer(&mut stream, &mut Vec::new()).await;
        assert!(kept.contains(&other.to_string()), "{kept}");
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    arena.start_server(&[]).await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_and_entries_pass_through_each_for_its_own_fan() {
    let arena = Arena::web(behind_nginx()).await;
    let nginx = Nginx::before(&arena).await;
    let fans = arena.fans(3).await;
    let (id, join) = (arena.performance.to_string(), format!("/api/performances/{}/queue/join", arena.performance));
    let mut places = Vec::new();
    for (visitor, fan) in (1..).zip(&fans) {
        let reply = nginx.ask(&arena, visitor, Ask::call(&join, &[]).of(fan)).await;
        assert_eq!(reply.header("x-cache"), "", "nothing of a join is kept");
        let joined: Joined = reply.ok();
        let name = format!("sa-q-{}", arena.performance.simple());
        assert_eq!(reply.cookie(&name), Some(format!("{name}={}", joined.ticket)));
        places.push(joined);
    }
    assert_eq!(places.iter().map(|joined| joined.arrival).collect::<Vec<_>>(), [0, 1, 2], "each fan has its own place");
    let stranger = nginx.ask(&arena, 9, Ask::call(&join, &[])).await;
    assert_eq!((stranger.status, stranger.code()), (401, Code::SignInRequired));

    for ((visitor, fan), place) in (1..).zip(&fans).zip(&places) {
        let form = [("performance", id.as_str()), ("ticket", place.ticket.as_str()), ("nonce", "n")];
        let enter = async || nginx.ask(&arena, visitor, Ask::call("/api/queue-enter", &form).of(fan)).await;
        let mut reply = enter().await;
        eventually!(SOON, "the place is reached", {
            if reply.status != 200 {
                tokio::time::sleep(KNOCK_EVERY).await;
                reply = enter().await;
            }
            reply.status == 200
        });
        assert_eq!(reply.header("x-cache"), "");
        let entered: Entered = reply.ok();
        let name = format!("sa-p-{}", arena.performance.simple());
        assert_eq!(reply.cookie(&name), Some(format!("{name}={}", entered.pass)));
    }
    let metrics = nginx.ask(&arena, 1, Ask::page("/metrics")).await;
    assert_eq!(metrics.status, 404, "figures are for this machine alone");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_tells_visitors_apart_by_what_nginx_says_and_not_by_what_they_say() {
    const SIGN_INS: usize = 3;
    let mut setup = behind_nginx();
    setup.settings.push(("STARARENA_SIGN_INS_PER_MIN", SIGN_INS.to_string()));
    let arena = Arena::web(setup).await;
    let nginx = Nginx::before(&arena).await;
    let form = [("email", "nobody@fans.example"), ("password", "a wrong password")];
    let try_as = async |visitor: u8, claims_to_be: Option<&'static str>| {
        let ask = Ask { claims_to_be, ..Ask::call("/api/sign-in", &form) };
        nginx.ask(&arena, visitor, ask).await.code()
    };
    for _ in 0..SIGN_INS {
        assert_eq!(try_as(1, None).await, Code::WrongCredentials);
    }
    assert_eq!(try_as(1, None).await, Code::TooManyRequests, "one address has its limit");
    assert_eq!(try_as(1, Some("127.0.4.77")).await, Code::TooManyRequests, "also when it claims to be another");
    assert_eq!(try_as(2, None).await, Code::WrongCredentials, "another address has its own");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_kept_for_visitors_without_a_cookie_and_for_nobody_else() {
    const VISITS: usize = 40;
    let arena = Arena::web(behind_nginx()).await;
    let nginx = Nginx::before(&arena).await;
    let fan = arena.fans(1).await.remove(0);
    let slug = arena.backend.performance(arena.performance).await.unwrap().slug.clone();
    let event = format!("/events/{slug}");
    let rendered = async || counted(&arena, "stararena_requests_total", "kind=\"page\"").await;
    for path in [event.as_str(), "/"] {
        let (before, started) = (rendered().await, Instant::now());
        for visit in 0..VISITS {
            let visitor = u8::try_from(visit + 1).unwrap();
            let reply = nginx.ask(&arena, visitor, Ask::page(path)).await;
            assert_eq!(reply.status, 200, "{path}");
            assert_eq!(reply.header("set-cookie"), "", "{path}: what is kept sets no cookie");
            if visit > 0 {
                let how = reply.header("x-cache").to_owned();
                assert!(["HIT", "EXPIRED", "UPDATING"].contains(&how.as_str()), "{path}: {how}");
            }
        }
        let made = rendered().await - before;
        assert!(made <= 2.0 + started.elapsed().as_secs_f64(), "{path} was rendered {made} times for {VISITS} visits");

        // A fan's own pages come from the program each time, and stay out of the cache.
        let before = rendered().await;
        for _ in 0..3 {
            let own = nginx.ask(&arena, 1, Ask::page(path).of(&fan)).await;
            assert_eq!((own.status, own.header("x-cache")), (200, "BYPASS"), "{path}");
            assert!(!own.header("cache-control").contains("public"), "{path}: {}", own.header("cache-control"));
        }
        assert!((rendered().await - before - 3.0).abs() < f64::EPSILON, "{path}: each of them was rendered");
        let next = nginx.ask(&arena, 2, Ask::page(path)).await;
        assert!(!next.body.contains(&fan.session.email), "{path}: a stranger is shown a fan's page");
    }
    arena.finish().await;
}
