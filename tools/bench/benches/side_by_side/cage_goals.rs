//! What cages cost, held against the goals of their design: beside a bare interpreter and beside bubblewrap, built for their
//! call or waiting for it; what building one takes from the daemon, and what it leaves there.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use metnos::broker::{Grants, target};
use metnos::sandbox::{Backend, Outcome, Sandbox, Settings, Warm};
use metnos_projections::rules::cage_plan::Limits;
use serde_json::{Value, json};

use crate::bursts::{Figure, Rival, median, take_turns, timed};
use crate::cage::{self, More};
use crate::goals::{self, Goal};
use crate::table::Table;
use crate::{cold_call, history};

const ROUNDS: usize = 60;
const CODE: &str = "def run(args, ctx):\n    return {'ok': True, 'content': args['n'] + 1}\n";
/// How long a cage that waits is left alone before it is called, beyond the time in which it is built.
const PAUSE: Duration = Duration::from_millis(30);
const MIB: usize = 1 << 20;
/// Daemons without and with much memory, how many cages each builds at a time, and how often they take turns.
const LARGE: usize = 1024 * MIB;
const BUILT: u32 = 40;
const TURNS: usize = 7;
/// The unit of the kernel's counts of processor time.
const TICK_MS: f64 = 10.0;
const LATE: u32 = 100;
const FLAT: u32 = 2_000;
const REQUESTS: usize = 300;

/// What waits is built for what most declared plans ask for; bursts are to show that case.
const USUAL: Limits = Limits { stage_bytes: 16 << 20, tmp_bytes: 32 << 20, ..cage::LIMITS };

struct Ground {
    folder: tempfile::TempDir,
    /// Nothing is there before a call.
    cold: Sandbox,
    /// The helper of the call before is.
    spare: Sandbox,
    /// A cage is.
    warm: Sandbox,
}

pub(crate) fn run() -> Table {
    let folder = history::folder();
    let opened = |fresh_helpers| Sandbox::open(&Settings { fresh_helpers, ..settings(folder.path()) });
    let (cold, spare, warm) = match (opened(true), opened(false), opened(false)) {
        (Ok(cold), Ok(spare), Ok(warm)) => (cold, spare, warm),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
            return Table::new(&["no native cage"], &error.to_string());
        }
    };
    warm.keep_warm(Warm::default());
    let ground = Ground { folder, cold, spare, warm };
    let mut goals = ground.calls();
    goals.extend(ground.building());
    goals.extend(ground.deadlines());
    goals.push(ground.flood());
    goals.extend(ground.requests());
    goals.extend(ground.flat());
    goals::table(&goals)
}

fn settings(folder: &Path) -> Settings {
    let runtime = folder.join("runtime");
    fs::create_dir_all(&runtime).expect("a new folder");
    let mut settings = Settings::new(cold_call::helper(), runtime);
    settings.forced = Some(Backend::Native);
    settings
}

fn usual() -> More {
    More { limits: USUAL, ..More::default() }
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}

impl Ground {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until as many cages wait as are kept, and have had the time to start.
    fn rest(&self) {
        while self.warm.warm_counts().waiting < Warm::default().size {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(PAUSE);
    }

    fn call(&self, sandbox: &Sandbox, more: More) -> Outcome {
        let outcome = cage::called(sandbox, self.path(), CODE, &json!({ "n": 41 }), more);
        assert_eq!(outcome.reply.as_ref().expect("the program answers")["content"], 42);
        outcome
    }

    /// One call after the other, each rival in its turn; a warm one is rested after, so that nobody pays for its successor.
    fn calls(&self) -> Vec<Goal> {
        let granted = self.path().join("granted");
        fs::create_dir(&granted).expect("a new folder");
        let file = self.path().join("file");
        fs::write(&file, "x").expect("a new file");
        let (python, args) = (self.cold.interpreter().path(), json!({ "n": 41 }));
        let warm = |more: &dyn Fn() -> More| {
            let more = more();
            let mut was_warm = false;
            let took = timed(|| was_warm = self.call(&self.warm, more).report.warm);
            self.rest();
            // The first one finds none.
            assert!(was_warm || self.warm.warm_counts().taken == 0, "the call was a cold one");
            took
        };
        let with_grants = || More { grants: vec![cage::grant(&granted), cage::grant(&file)], ..usual() };
        let mut rivals: Vec<Rival<'_>> = vec![
            Box::new(|| timed(|| assert_eq!(cage::bare(&python, cage::PLAIN, CODE, &args)["content"], 42))),
            Box::new(|| timed(|| drop(self.call(&self.cold, usual())))),
            Box::new(|| warm(&usual)),
            Box::new(|| warm(&with_grants)),
            Box::new(|| timed(|| drop(self.call(&self.cold, with_grants())))),
            Box::new(|| timed(|| drop(self.call(&self.spare, usual())))),
        ];
        let has_bubblewrap = Command::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok();
        if has_bubblewrap {
            let work = |program| cage::bubblewrapped(&python, program, self.path(), CODE, &args);
            rivals.push(Box::new(move || timed(|| assert_eq!(work(cage::PLAIN)["content"], 42))));
            rivals.push(Box::new(move || timed(|| assert_eq!(work(cage::LEAN)["content"], 42))));
        }
        rivals.push(Box::new(|| timed(|| assert_eq!(cage::bare(&python, cage::LEAN, CODE, &args)["content"], 42))));
        let figures = take_turns(ROUNDS, &mut rivals);
        let names = [
            "bare python3 -I -S",
            "cold",
            "warm",
            "warm, late grants",
            "cold, the same grants",
            "with the helper of the call before",
        ];
        let wrapped = ["bwrap", "bwrap, without the module json"].into_iter().filter(|_| has_bubblewrap);
        let names = names.into_iter().chain(wrapped).chain(["bare, without the module json"]);
        let mut table = Table::new(
            &["call", "p50 ms", "p90 ms", "× bare", "× cold"],
            "from the call to the dead tree, in turns; what waits was left alone for a moment before",
        );
        for (name, figure) in names.zip(&figures) {
            let figures = [
                milliseconds(figure.quantile(0.5)),
                milliseconds(figure.quantile(0.9)),
                figure.ratio,
                figure.beside(&figures[1]),
            ];
            table.row([name.to_owned()].into_iter().chain(figures.map(|figure| format!("{figure:.2}"))).collect());
        }
        println!("\n{table}");
        latency_goals(&figures, has_bubblewrap)
    }

    /// What the processor does for a cage beyond its interpreter, and whether a large daemon pays more for one.
    fn building(&self) -> Vec<Goal> {
        let mut settings = settings(self.path());
        settings.python = Some(self.cold.interpreter().path());
        let build = || drop(Sandbox::open(&settings).expect("a cage is built and left"));
        // What else is done then: a helper is started, the interpreter is looked at.
        let mut uncaged = settings.clone();
        uncaged.off = true;
        let look = || drop(Sandbox::open(&uncaged).expect("no cage is built"));
        let start = || {
            let status = Command::new("/bin/true").env_clear().status();
            assert!(status.expect("it starts").success());
        };
        // The helper's part is counted once it has ended.
        let many = || {
            let sandbox = Sandbox::open(&settings).expect("a cage is built and left");
            (0..BUILT).for_each(|_| drop(sandbox.build().expect("another one is")));
        };
        let (mut ready, mut small, mut large, mut plain) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            plain.push(processor_ms(start));
            ready.push(spent_ms(many) / f64::from(BUILT));
            small.push(processor_ms(build) - processor_ms(look));
            let memory = vec![1_u8; LARGE];
            large.push(processor_ms(build) - processor_ms(look));
            assert!(std::hint::black_box(&memory).iter().step_by(4096).all(|byte| *byte == 1));
        }
        let beyond = |built: &[f64]| median(built.iter().zip(&plain).map(|(built, plain)| built - plain).collect());
        let (ready, first) = (beyond(&ready), beyond(&small));
        let plain = median(plain.clone());
        let grown = median(large.iter().zip(&small).map(|(large, small)| large / small).collect());
        vec![
            Goal::at_most(
                format!("processor, a cage beyond fork and exec ({plain:.1} ms); the first one {first:.1} ms"),
                " ms",
                2.0,
                ready,
            ),
            Goal::at_most("the first one in a daemon of 1 GiB × in a small one", "", 1.2, grown),
        ]
    }

    /// Programs that outstay their time, each with a daemon of its own.
    fn deadlines(&self) -> Vec<Goal> {
        let file = self.path().join("held");
        fs::write(&file, "x").expect("a new file");
        let code = "import os, time\ndef run(args, ctx):\n    held = open(args['file'])\n    if os.fork() == 0:\n        if os.fork() == 0: time.sleep(60)\n        os._exit(0)\n    os.wait()\n    while True: pass\n";
        let limits = Limits { wall_ms: 150, ..USUAL };
        let (mut over, mut survivors) = (Vec::new(), 0);
        for number in 0..LATE {
            // Half of them in cages that waited.
            let sandbox = if number.is_multiple_of(2) { &self.cold } else { &self.warm };
            let more = More { limits, grants: vec![cage::grant(&file)], net: None };
            let outcome = cage::called(sandbox, self.path(), code, &json!({ "file": file }), more);
            assert_eq!(outcome.reply.expect_err("it has no answer").class, "timeout");
            over.push(milliseconds(outcome.duration.as_secs_f64()) - 150.0);
            survivors += holders(&file);
        }
        let worst = over.iter().copied().fold(0.0, f64::max);
        vec![
            Goal::at_most(
                format!("the tree dead after its deadline, worst of {LATE}, building included"),
                " ms",
                100.0,
                worst,
            ),
            Goal::at_most(format!("survivors of {LATE}"), "", 0.0, f64::from(survivors)),
        ]
    }

    fn flood(&self) -> Goal {
        let code = "import os\ndef run(args, ctx):\n    line = b'x' * (1 << 20)\n    for n in range(args['n']): os.write(1, line)\n    return {'ok': True}\n";
        let flood = |mib: u64| {
            let outcome = cage::called(&self.cold, self.path(), code, &json!({ "n": mib }), usual());
            assert!(outcome.reply.is_ok() && outcome.stdout.total == mib << 20);
        };
        flood(1);
        fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
        let before = status_mib("VmRSS:");
        flood(4096);
        Goal::at_most("a daemon's peak over its size, 4 GiB printed", " MiB", 4.0, status_mib("VmHWM:") - before)
    }

    /// Requests through the broker beside the same without.
    fn requests(&self) -> Vec<Goal> {
        let address = serve();
        let url = format!("http://{address}/");
        let code = "import time\ndef run(args, ctx):\n    times = []\n    for n in range(args['n']):\n        began = time.perf_counter()\n        answer = ctx.http('GET', args['url'])\n        times.append(time.perf_counter() - began)\n        assert answer.status == 200 and answer.body == b'hello'\n    return {'ok': True, 'times': times}\n";
        let net = Grants {
            hosts: vec![target::grant_for(&url, true).expect("an address")],
            read_only: true,
            max_body_bytes: 1 << 20,
            max_request_bytes: 1 << 10,
            max_requests: u32::MAX,
            timeout: Duration::from_secs(5),
            canned: None,
        };
        let direct: Vec<f64> = (0..REQUESTS).map(|_| timed(|| ask(address)).as_secs_f64()).collect();
        let args = json!({ "n": REQUESTS, "url": url });
        let more = More { limits: Limits { output_bytes_max: 1 << 20, ..USUAL }, grants: Vec::new(), net: Some(net) };
        let outcome = cage::called(&self.cold, self.path(), code, &args, more);
        let reply = outcome.reply.expect("the program answers");
        let brokered: Vec<f64> = reply["times"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        assert_eq!((brokered.len(), outcome.connections.len()), (REQUESTS, REQUESTS));
        let beyond = milliseconds(median(brokered) - median(direct));
        vec![Goal::at_most("a request through the broker, beyond the server", " ms", 1.0, beyond)]
    }

    /// Many calls; what this process has before and after.
    fn flat(&self) -> Vec<Goal> {
        let state = || {
            self.rest();
            let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the kernel says").lines().count();
            [entries("/proc/self/fd"), mounts, children()]
        };
        let before = state();
        let mut taken = 0;
        for _ in 0..FLAT {
            taken += u32::from(self.call(&self.warm, usual()).report.warm);
        }
        let more: usize = state().iter().zip(before).map(|(after, before)| after.abs_diff(before)).sum();
        let what = format!("descriptors, mounts, processes left by {FLAT} calls, {taken} of them warm");
        vec![Goal::at_most(what, "", 0.0, f64::from(u32::try_from(more).unwrap_or(u32::MAX)))]
    }
}

fn latency_goals(figures: &[Figure], has_bubblewrap: bool) -> Vec<Goal> {
    let [bare, cold, warm, late, ..] = figures else { return Vec::new() };
    let of = |figure: &Figure, share| milliseconds(figure.quantile(share));
    let mut goals = vec![Goal::at_most("cold × bare", "", 1.2, cold.beside(bare))];
    match figures.get(6).filter(|_| has_bubblewrap) {
        Some(bubblewrap) => goals.push(Goal::at_most("cold × bwrap", "", 0.75, cold.beside(bubblewrap))),
        None => println!("\nno bwrap on the path: cold × bwrap is not measured"),
    }
    goals.extend([
        Goal::at_most("warm, p50", " ms", 2.0, of(warm, 0.5)),
        Goal::at_most("warm with late grants, p50", " ms", 3.0, of(late, 0.5)),
        Goal::at_most("warm, p90", " ms", 5.0, of(warm, 0.9)),
        Goal::at_most("warm with late grants, p90", " ms", 5.0, of(late, 0.9)),
        Goal::at_least("cold × warm", "", 12.0, cold.beside(warm)),
    ]);
    goals
}

/// Processor time that this process and those that it waited for spend on one of many, ms.
fn processor_ms(work: impl Fn()) -> f64 {
    spent_ms(|| (0..BUILT).for_each(|_| work())) / f64::from(BUILT)
}

/// Processor time that this process and those that it waited for spend on something, ms.
fn spent_ms(work: impl FnOnce()) -> f64 {
    let spent = || {
        let stat = fs::read_to_string("/proc/self/stat").expect("the kernel says");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().skip(11).take(4);
        fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>()
    };
    let before = spent();
    work();
    (spent() - before) * TICK_MS
}

/// How many processes have a file open.
fn holders(file: &Path) -> u32 {
    let processes = fs::read_dir("/proc").expect("it is there").flatten().map(|entry| entry.path().join("fd"));
    let holds = |folder: PathBuf| {
        let open = fs::read_dir(folder).into_iter().flatten().flatten();
        open.into_iter().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
    };
    u32::try_from(processes.filter(|folder| holds(folder.clone())).count()).unwrap_or(u32::MAX)
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).expect("it is there").count()
}

/// The children of this process, living or dead.
fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("it is there").flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.map(|list| list.split_whitespace().count()).sum()
}

fn status_mib(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel says");
    let kib = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(f64::NAN, |kib: f64| kib / 1024.0)
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";

/// A server on loopback that answers each connection once; it lives as long as this process.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read > 0) {
                head.push(byte[0]);
            }
            // Whoever asked may have gone.
            stream.write_all(ANSWER).ok();
        }
    });
    address
}

/// The same request without a broker.
fn ask(address: SocketAddr) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it takes it");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    assert!(answer == ANSWER && began.elapsed() < Duration::from_secs(5));
}
