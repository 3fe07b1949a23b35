//! The table `tail`: what one commit brought and did not seal is one row, and the last row says where the log ends. A commit that
//! seals nothing writes to no other table.

use redb::{AccessGuard, ReadableTable, StorageError, Table};

use crate::chain::{Chain, Range};
use crate::segment::{self, Frames};

/// The key of the row that says where the log ends: behind those of all events.
pub(super) const END: u64 = u64::MAX;

/// A table whose rows these are.
type Rows<'t> = Table<'t, u64, &'static [u8]>;

/// A row: the number of its first event, and its bytes.
type Row<'t> = Result<(u64, AccessGuard<'t, &'static [u8]>), StorageError>;

/// The frames of a row, with the number of each. Where its lengths do not fit, what is left is the last one, and no frame.
pub(super) fn frames(first: u64, row: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut rest = row;
    let split = std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (frame, behind) = segment::split_first(rest).unwrap_or((rest, &[]));
        rest = behind;
        Some(frame)
    });
    (first..).zip(split)
}

/// The rows from an event on, but that of the end: first the last one that begins with it or before it.
pub(super) fn rows_from(
    tail: &impl ReadableTable<u64, &'static [u8]>,
    seq: u64,
) -> Result<impl Iterator<Item = Row<'_>>, StorageError> {
    let first = tail.range(..=seq.min(END - 1))?.next_back().transpose()?.map_or(seq, |(first, _)| first.value());
    Ok(tail.range(first..END)?.map(|row| row.map(|(first, row)| (first.value(), row))))
}

/// All rows but that of the end.
pub(super) fn rows(
    tail: &impl ReadableTable<u64, &'static [u8]>,
) -> Result<impl Iterator<Item = Row<'_>>, StorageError> {
    rows_from(tail, 0)
}

/// Calls `each` with the events from one on, in order.
pub(super) fn each<E: From<StorageError>>(
    tail: &impl ReadableTable<u64, &'static [u8]>,
    from: u64,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    for row in rows_from(tail, from)? {
        let (first, row) = row?;
        frames(first, row.value()).filter(|(seq, _)| *seq >= from).try_for_each(|(seq, frame)| each(seq, frame))?;
    }
    Ok(())
}

/// How many events there are in the rows; an empty row counts as one that is too many.
pub(super) fn count(tail: &impl ReadableTable<u64, &'static [u8]>) -> Result<u64, StorageError> {
    let mut count = 0;
    for row in rows(tail)? {
        let (first, row) = row?;
        count += frames(first, row.value()).count().max(1) as u64;
    }
    Ok(count)
}

/// What `look` sees in the bytes of an event, if it lies in a row.
pub(super) fn look<T>(
    tail: &impl ReadableTable<u64, &'static [u8]>,
    seq: u64,
    look: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, StorageError> {
    let Some((first, row)) = rows_from(tail, seq)?.next().transpose()? else { return Ok(None) };
    let found = frames(first, row.value()).find(|(found, _)| *found == seq);
    Ok(found.map(|(_, frame)| look(frame)))
}

/// Stores some frames as one row; none as none.
pub(super) fn put(
    tail: &mut Rows<'_>,
    first: u64,
    (frames, run): (&Frames, std::ops::Range<usize>),
) -> Result<(), StorageError> {
    if !run.is_empty() {
        tail.insert(first, frames.plain(run))?;
    }
    Ok(())
}

/// Takes out what was sealed, up to an event: of a row that goes on behind it, the rest stays.
pub(super) fn take_out(tail: &mut Rows<'_>, sealed: u64) -> Result<(), StorageError> {
    let mut rest = Frames::default();
    let Some((first, row)) = tail.range(..=sealed)?.next_back().transpose()? else { return Ok(()) };
    for (_, frame) in frames(first.value(), row.value()).filter(|(seq, _)| *seq > sealed) {
        rest.push(frame);
    }
    drop((first, row));
    tail.retain_in(..=sealed, |_, _| false)?;
    put(tail, sealed + 1, (&rest, 0..rest.len()))
}

/// Puts other bytes in the place of an event's.
#[cfg(test)]
pub(super) fn replace(tail: &mut Rows<'_>, seq: u64, by: &[u8]) {
    let first = rows_from(tail, seq).unwrap().next().unwrap().unwrap().0;
    let mut changed = Frames::default();
    for (at, frame) in frames(first, tail.get(first).unwrap().unwrap().value()) {
        changed.push(if at == seq { by } else { frame });
    }
    put(tail, first, (&changed, 0..changed.len())).unwrap();
}

/// Says where the log ends.
pub(super) fn put_end(tail: &mut Rows<'_>, chain: &Chain) -> Result<(), StorageError> {
    let mut end = chain.head.to_vec();
    end.extend(chain.range.to_bytes());
    tail.insert(END, end.as_slice())?;
    Ok(())
}

/// Where the log ends; the inner error says what is wrong with what says it.
pub(super) fn end(tail: &impl ReadableTable<u64, &'static [u8]>) -> Result<Result<Chain, &'static str>, StorageError> {
    Ok(tail.get(END)?.map_or(Err("it does not say where it ends"), |end| chain(end.value())))
}

/// The chain's state of its head and its range, one behind the other.
pub(super) fn chain(bytes: &[u8]) -> Result<Chain, &'static str> {
    let (head, range) = bytes.split_first_chunk::<32>().ok_or("its head is no hash")?;
    let range = Range::from_bytes(range).ok_or("its range has a wrong shape")?;
    Ok(Chain { head: *head, range })
}

#[cfg(test)]
mod tests {
    use redb::{Database, ReadableDatabase};

    use super::super::tables::TAIL;
    use super::*;

    fn memory() -> Database {
        Database::builder().create_with_backend(redb::backends::InMemoryBackend::new()).unwrap()
    }

    fn of(texts: &[&str]) -> Frames {
        Frames::of(texts)
    }

    /// Every row that is there, its frames as texts.
    fn all(database: &Database) -> Vec<(u64, Vec<String>)> {
        let tail = database.begin_read().unwrap().open_table(TAIL).unwrap();
        let text = |frame: &[u8]| String::from_utf8_lossy(frame).into_owned();
        let row = |(first, row): (u64, AccessGuard<'_, &'static [u8]>)| {
            (first, frames(first, row.value()).map(|(_, frame)| text(frame)).collect())
        };
        rows(&tail).unwrap().map(|found| row(found.unwrap())).collect()
    }

    fn change(database: &Database, change: impl FnOnce(&mut Rows<'_>)) {
        let transaction = database.begin_write().unwrap();
        change(&mut transaction.open_table(TAIL).unwrap());
        transaction.commit().unwrap();
    }

    #[test]
    fn rows_hold_runs_and_what_is_sealed_goes_out_of_them() {
        let database = memory();
        change(&database, |tail| {
            put(tail, 3, (&of(&["c", "d"]), 0..2)).unwrap();
            put(tail, 5, (&of(&["a", "b", "e", "f", "g"]), 2..5)).unwrap();
            put(tail, 8, (&of(&["h"]), 1..1)).unwrap();
            put_end(tail, &Chain::default()).unwrap();
        });
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(all(&database), [(3, texts(&["c", "d"])), (5, texts(&["e", "f", "g"]))]);
        {
            let tail = database.begin_read().unwrap().open_table(TAIL).unwrap();
            assert_eq!(count(&tail).unwrap(), 5);
            let seen = [2, 3, 4, 5, 6, 7, 8, END].map(|seq| look(&tail, seq, <[u8]>::to_vec).unwrap());
            let letters = seen.map(|seen| seen.map(|frame| frame[0]));
            assert_eq!(letters, [None, Some(b'c'), Some(b'd'), Some(b'e'), Some(b'f'), Some(b'g'), None, None]);
            let firsts = |seq| rows_from(&tail, seq).unwrap().map(|row| row.unwrap().0).collect::<Vec<_>>();
            assert_eq!([firsts(0), firsts(4), firsts(5), firsts(7)], [vec![3, 5], vec![3, 5], vec![5], vec![5]]);
            assert_eq!(end(&tail).unwrap(), Ok(Chain::default()));
        }
        for (sealed, left) in [(2, all(&database)), (5, vec![(6, texts(&["f", "g"]))]), (7, Vec::new())] {
            change(&database, |tail| take_out(tail, sealed).unwrap());
            assert_eq!(all(&database), left, "{sealed}");
        }
        assert!(end(&database.begin_read().unwrap().open_table(TAIL).unwrap()).unwrap().is_ok(), "the end stays");
    }

    /// Nothing of a damaged row is left out, and no two rows hold the same frames.
    #[test]
    fn a_row_whose_lengths_do_not_fit_is_read_to_its_end() {
        let row = of(&["one", "", "three"]);
        let row = row.plain(0..3);
        let sound: Vec<&[u8]> = frames(1, row).map(|(_, frame)| frame).collect();
        assert_eq!(sound, [&b"one"[..], b"", b"three"]);
        for bit in 0..row.len() * 8 {
            let mut flipped = row.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let found: Vec<&[u8]> = frames(1, &flipped).map(|(_, frame)| frame).collect();
            assert_ne!(found, sound, "bit {bit}");
        }
        for length in 1..row.len() {
            assert_ne!(frames(1, &row[..length]).map(|(_, frame)| frame).collect::<Vec<_>>(), sound, "{length} bytes");
        }
    }

    #[test]
    fn an_end_that_is_none_is_told() {
        let database = memory();
        change(&database, |tail| drop(tail.insert(1, &b"x"[..]).unwrap()));
        let told = || end(&database.begin_read().unwrap().open_table(TAIL).unwrap()).unwrap().unwrap_err();
        assert_eq!(told(), "it does not say where it ends");
        for (bytes, what) in [(vec![0; 31], "its head is no hash"), (vec![0; 41], "its range has a wrong shape")] {
            change(&database, |tail| drop(tail.insert(END, bytes.as_slice()).unwrap()));
            assert_eq!(told(), what);
        }
    }
}
