//! What one event costs in the processor on its way into the log and out of it, step by step.

use metnos_log::chain::Chain;
use metnos_log::codec::{Frame, frame};
use metnos_log::envelope::Header;
use metnos_log::redact::Redactor;
use metnos_log::segment::{Frames, Packer, Sealing};
use metnos_log::{Draft, Event};

use crate::bursts::{Rival, micros_each, take_turns, timed};
use crate::history;
use crate::table::Table;

const EVENTS: u32 = 5_000;
/// Some seconds in all: what a machine is worth changes from one to the next.
const ROUNDS: usize = 60;

/// Events of one sealed run: about as many as a household's fill a segment.
const SEALED: usize = 600;

/// The figures of all steps.
pub(crate) struct Steps {
    /// What is done, and µs an event.
    rows: Vec<(&'static str, f64)>,
    mean_bytes: usize,
    /// Frame, chain and seal together, µs an event.
    pub(crate) chain_and_seal_us: f64,
}

pub(crate) fn run() -> Table {
    table(&measure())
}

pub(crate) fn table(Steps { rows, mean_bytes, chain_and_seal_us }: &Steps) -> Table {
    let mut table = Table::new(&["step", "µs an event"], &format!("payloads of {mean_bytes} bytes on average"));
    for (name, us) in rows {
        table.row(vec![(*name).to_owned(), format!("{us:.2}")]);
    }
    table.row(vec!["frame, chain and seal together".to_owned(), format!("{chain_and_seal_us:.2}")]);
    table
}

pub(crate) fn measure() -> Steps {
    let drafts = history::drafts(EVENTS);
    let headers: Vec<Header<'_>> = drafts.iter().map(header).collect();
    let payloads: Vec<Vec<u8>> = drafts.iter().map(|draft| draft.event.encode()).collect();
    let make = || {
        (1..).zip(headers.iter().zip(&payloads)).map(|(seq, (header, payload))| frame(seq, header, &[9; 16], payload))
    };
    let frames: Vec<(Vec<u8>, [u8; 32])> = make().collect();
    let redactor = Redactor::new([2; 32], Vec::new());
    let mut rivals: Vec<Rival<'_>> = vec![
        Box::new(|| timed(|| make().for_each(|made| drop(std::hint::black_box(made))))),
        Box::new(|| {
            timed(|| {
                let mut chain = Chain::default();
                for (_, leaf) in &frames {
                    chain.push(*leaf);
                }
                std::hint::black_box(chain);
            })
        }),
        Box::new(|| {
            let frames = Frames::of(&frames.iter().map(|(frame, _)| frame).collect::<Vec<_>>());
            timed(|| seal(&frames))
        }),
        Box::new(|| timed(|| drafts.iter().for_each(|draft| drop(std::hint::black_box(draft.event.encode()))))),
        Box::new(|| {
            let mut events: Vec<Event> = drafts.iter().map(|draft| draft.event.clone()).collect();
            timed(|| {
                let mut payload = Vec::new();
                for event in &mut events {
                    redactor.encode(event, &mut payload, |_| {});
                    std::hint::black_box(&payload);
                }
            })
        }),
        Box::new(|| {
            timed(|| {
                for (seq, (bytes, _)) in (1..).zip(&frames) {
                    let leaf = Frame::parse(bytes).and_then(|frame| frame.verified(seq));
                    std::hint::black_box(leaf.expect("a frame of ours"));
                }
            })
        }),
        Box::new(|| {
            timed(|| {
                for (seq, (bytes, _)) in (1..).zip(&frames) {
                    let recorded = Frame::parse(bytes).and_then(|frame| frame.recorded(seq));
                    std::hint::black_box(recorded.expect("a frame of ours"));
                }
            })
        }),
    ];
    let names = [
        "frame: header, salted digest, leaf",
        "chain: head and range",
        "seal: header, compression, digest",
        "encode the payload",
        "encode the payload without secrets",
        "read: check against the leaf",
        "read: check and decode into a typed event",
    ];
    let figures = take_turns(ROUNDS, &mut rivals);
    let each: Vec<f64> = figures.iter().map(|figure| micros_each(figure.median, EVENTS)).collect();
    Steps {
        rows: names.into_iter().zip(each.iter().copied()).collect(),
        mean_bytes: payloads.iter().map(Vec::len).sum::<usize>() / payloads.len(),
        chain_and_seal_us: each[..3].iter().sum(),
    }
}

/// Makes segments of frames, as the writer does.
fn seal(frames: &Frames) {
    let mut packer = Packer::new();
    for start in (0..frames.len()).step_by(SEALED) {
        let run = start..frames.len().min(start + SEALED);
        let mut sealing = Sealing::default();
        for frame in frames.iter().skip(start).take(SEALED) {
            sealing.take(frame).expect("a frame of ours");
        }
        let header = sealing.header((1, run.len() as u64), [[0; 32]; 2]);
        std::hint::black_box(packer.pack(frames.plain(run)).seal(&header));
    }
}

fn header(draft: &Draft) -> Header<'_> {
    let Draft { id, time, stream, actor, turn, cause, event, .. } = draft;
    Header(*id, time.0, stream, 1, event.label(), event.schema(), actor, *turn, *cause, 0)
}
