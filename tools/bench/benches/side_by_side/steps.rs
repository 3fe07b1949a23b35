//! What one event costs in the processor on its way into the log and out of it, step by step.

use metnos_log::chain::Chain;
use metnos_log::codec::{Frame, frame};
use metnos_log::envelope::Header;
use metnos_log::redact::Redactor;
use metnos_log::{Draft, Event};

use crate::bursts::{Rival, micros_each, take_turns, timed};
use crate::history;
use crate::table::Table;

const EVENTS: u32 = 5_000;
const ROUNDS: usize = 9;

pub(crate) fn run() -> Table {
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
        Box::new(|| timed(|| drafts.iter().for_each(|draft| drop(std::hint::black_box(draft.event.encode()))))),
        Box::new(|| {
            let mut events: Vec<Event> = drafts.iter().map(|draft| draft.event.clone()).collect();
            timed(|| {
                for event in &mut events {
                    std::hint::black_box(redactor.payload(event, |_| {}));
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
        "encode the payload",
        "encode the payload without secrets",
        "read: check against the leaf",
        "read: check and decode into a typed event",
    ];
    let mean = payloads.iter().map(Vec::len).sum::<usize>() / payloads.len();
    let mut table = Table::new(&["step", "µs an event"], &format!("payloads of {mean} bytes on average"));
    let figures = take_turns(ROUNDS, &mut rivals);
    for (name, figure) in names.iter().zip(&figures) {
        table.row(vec![(*name).to_owned(), format!("{:.2}", micros_each(figure.median, EVENTS))]);
    }
    let both = micros_each(figures[0].median, EVENTS) + micros_each(figures[1].median, EVENTS);
    table.row(vec!["frame and chain together".to_owned(), format!("{both:.2}")]);
    table
}

fn header(draft: &Draft) -> Header<'_> {
    let Draft { id, time, stream, actor, turn, cause, event, .. } = draft;
    Header(*id, time.0, stream, 1, event.label(), event.schema(), actor, *turn, *cause, 0)
}
