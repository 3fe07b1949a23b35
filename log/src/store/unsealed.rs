//! What is not sealed: the tables `tail` and `newest`. A commit that seals nothing mostly writes to the one row of `newest`, which
//! says where the log ends and holds the events that came last. When it grows too long, its events become a row of `tail`: a
//! table of few pages is written for many commits, one of many pages for few.

use redb::{
    AccessGuard, ReadOnlyTable, ReadTransaction, ReadableTable, StorageError, Table, TableError, WriteTransaction,
};

use super::tables::{NEWEST, TAIL};
use crate::chain::{Chain, Range};
use crate::segment::{self, Frames};

/// What a page of the store has room for, beside what the store itself writes there. Small commits share one.
pub(super) const PAGE: usize = (4 << 10) - 64;
/// How many pages larger ones share, and the part of one page from which on they are larger ones: the more a commit brings, the
/// less it matters that it writes once more what those before it brought.
const PAGES: usize = 4;

/// Bytes that say how long is what says where the log ends.
const LENGTH: usize = 2;

type Value = &'static [u8];

/// Both tables, as one transaction sees them.
pub(super) struct Tables<T> {
    tail: T,
    newest: T,
}

impl Tables<ReadOnlyTable<u64, Value>> {
    pub(super) fn read(transaction: &ReadTransaction) -> Result<Self, TableError> {
        Ok(Self { tail: transaction.open_table(TAIL)?, newest: transaction.open_table(NEWEST)? })
    }
}

impl<'t> Tables<Table<'t, u64, Value>> {
    pub(super) fn write(transaction: &'t WriteTransaction) -> Result<Self, TableError> {
        Ok(Self { tail: transaction.open_table(TAIL)?, newest: transaction.open_table(NEWEST)? })
    }

    /// Stores a row with other frames.
    fn store(&mut self, row: &Row<'_>, frames: &Frames) -> Result<(), StorageError> {
        let into = if row.is_newest { &mut self.newest } else { &mut self.tail };
        into.insert(row.first, [row.end(), frames.plain(0..frames.len())].concat().as_slice())?;
        Ok(())
    }
}

/// A row of either table.
pub(super) struct Row<'t> {
    /// The number of its first event.
    pub(super) first: u64,
    value: AccessGuard<'t, Value>,
    /// Where its frames begin: in the newest, behind what says where the log ends.
    from: usize,
    is_newest: bool,
}

impl<'t> Row<'t> {
    fn of_tail((first, value): (AccessGuard<'t, u64>, AccessGuard<'t, Value>)) -> Self {
        Self { first: first.value(), value, from: 0, is_newest: false }
    }

    fn of_newest((first, value): (AccessGuard<'t, u64>, AccessGuard<'t, Value>)) -> Self {
        let from = split(value.value()).0.len();
        Self { first: first.value(), value, from, is_newest: true }
    }

    fn end(&self) -> &[u8] {
        &self.value.value()[..self.from]
    }

    /// Its frames behind each other.
    fn plain(&self) -> &[u8] {
        &self.value.value()[self.from..]
    }

    /// Its frames, with the number of each. Where its lengths do not fit, what is left is the last one, and no frame.
    pub(super) fn frames(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = self.plain();
        let split = std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (frame, behind) = segment::split_first(rest).unwrap_or((rest, &[]));
            rest = behind;
            Some(frame)
        });
        (self.first..).zip(split)
    }

    /// What of it stands before its frames, and those behind an event.
    fn behind(&self, seq: u64) -> Vec<u8> {
        let mut rest = Frames::default();
        self.frames().filter(|(at, _)| *at > seq).for_each(|(_, frame)| rest.push(frame));
        [self.end(), rest.plain(0..rest.len())].concat()
    }
}

impl<T: ReadableTable<u64, Value>> Tables<T> {
    /// The rows from an event on, in order: first the last one that begins with it or before it.
    pub(super) fn rows_from(
        &self,
        seq: u64,
    ) -> Result<impl Iterator<Item = Result<Row<'_>, StorageError>>, StorageError> {
        let last =
            |table: &T| Ok::<_, StorageError>(table.range(..=seq)?.next_back().transpose()?.map(|row| row.0.value()));
        let tail = match last(&self.newest)? {
            Some(_) => None,
            None => Some(self.tail.range(last(&self.tail)?.unwrap_or(seq)..)?),
        };
        let tail = tail.into_iter().flatten().map(|row| row.map(Row::of_tail));
        Ok(tail.chain(self.newest.iter()?.map(|row| row.map(Row::of_newest))))
    }

    /// All rows.
    pub(super) fn rows(&self) -> Result<impl Iterator<Item = Result<Row<'_>, StorageError>>, StorageError> {
        let tail = self.tail.iter()?.map(|row| row.map(Row::of_tail));
        Ok(tail.chain(self.newest.iter()?.map(|row| row.map(Row::of_newest))))
    }

    /// Calls `each` with the events from one on, in order.
    pub(super) fn each<E: From<StorageError>>(
        &self,
        from: u64,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for row in self.rows_from(from)? {
            let row = row?;
            row.frames().filter(|(seq, _)| *seq >= from).try_for_each(|(seq, frame)| each(seq, frame))?;
        }
        Ok(())
    }

    /// How many events there are; an empty row of the tail counts as one that is too many.
    pub(super) fn count(&self) -> Result<u64, StorageError> {
        let mut count = 0;
        for row in self.rows()? {
            let row = row?;
            count += (row.frames().count() as u64).max(u64::from(!row.is_newest));
        }
        Ok(count)
    }

    /// What `look` sees in the bytes of an event, if it lies in a row.
    pub(super) fn look<R>(&self, seq: u64, look: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StorageError> {
        let Some(row) = self.rows_from(seq)?.next().transpose()? else { return Ok(None) };
        let found = row.frames().find(|(found, _)| *found == seq);
        Ok(found.map(|(_, frame)| look(frame)))
    }

    /// Where the log ends; the inner error says what is wrong with what says it.
    pub(super) fn end(&self) -> Result<Result<Chain, &'static str>, StorageError> {
        let mut rows = self.newest.iter()?;
        let Some((_, value)) = rows.next().transpose()? else { return Ok(Err("it does not say where it ends")) };
        if rows.next().is_some() {
            return Ok(Err("it says twice where it ends"));
        }
        Ok(chain(split(value.value()).0.get(LENGTH..).unwrap_or_default()))
    }

    /// Whether the newest events are the last ones of so many.
    pub(super) fn newest_are_last(&self, size: u64) -> Result<bool, StorageError> {
        let Some(row) = self.newest.first()?.map(Row::of_newest) else { return Ok(false) };
        Ok(row.first.checked_add(row.frames().count() as u64).is_some_and(|next| next == size + 1))
    }
}

/// What a value of the newest says of the end, its length before it; and the frames behind it.
fn split(value: &[u8]) -> (&[u8], &[u8]) {
    let length = value.first_chunk::<LENGTH>().map_or(0, |length| usize::from(u16::from_be_bytes(*length)));
    value.split_at(value.len().min(LENGTH + length))
}

/// What says where the log ends, its length before it.
fn said(chain: &Chain) -> Vec<u8> {
    let range = chain.range.to_bytes();
    let length = u16::try_from(chain.head.len() + range.len()).expect("a range has at most 64 peaks");
    [&length.to_be_bytes()[..], &chain.head, &range].concat()
}

/// The chain's state of its head and its range, one behind the other.
pub(super) fn chain(bytes: &[u8]) -> Result<Chain, &'static str> {
    let (head, range) = bytes.split_first_chunk::<32>().ok_or("its head is no hash")?;
    let range = Range::from_bytes(range).ok_or("its range has a wrong shape")?;
    Ok(Chain { head: *head, range })
}

/// Stores the last events, frames behind each other, under the number of the first, or that of the next one where there are none;
/// and where the log ends. `page` is [`PAGE`] but in tests.
pub(super) fn put(
    transaction: &WriteTransaction,
    (first, fresh): (u64, &[u8]),
    chain: &Chain,
    page: usize,
) -> Result<(), redb::Error> {
    let mut newest = transaction.open_table(NEWEST)?;
    let held = newest.first()?.map(Row::of_newest).map(|row| (row.first, row.plain().to_vec()));
    let (before, mut held) = held.unwrap_or((first, Vec::new()));
    let (mut number, mut fresh) = (if held.is_empty() { first } else { before }, fresh);
    let mut value = said(chain);
    let room = if fresh.len() > page / PAGES { PAGES * page } else { page };
    if value.len() + held.len() + fresh.len() > room {
        let mut tail = transaction.open_table(TAIL)?;
        if !held.is_empty() {
            tail.insert(before, held.as_slice())?;
        }
        (number, held) = (first, Vec::new());
        if value.len() + fresh.len() > PAGES * page {
            tail.insert(first, fresh)?;
            (number, fresh) = (chain.range.size() + 1, &[]);
        }
    }
    value.reserve_exact(held.len() + fresh.len());
    value.extend(held);
    value.extend(fresh);
    if number != before {
        newest.remove(before)?;
    }
    newest.insert(number, value.as_slice())?;
    Ok(())
}

/// Takes out what was sealed, up to an event: of a row that goes on behind it, the rest stays.
pub(super) fn take_out(transaction: &WriteTransaction, sealed: u64) -> Result<(), redb::Error> {
    let Tables { mut tail, mut newest } = Tables::write(transaction)?;
    let rest = tail.range(..=sealed)?.next_back().transpose()?.map(|row| Row::of_tail(row).behind(sealed));
    if let Some(rest) = rest {
        tail.retain_in(..=sealed, |_, _| false)?;
        if !rest.is_empty() {
            tail.insert(sealed + 1, rest.as_slice())?;
        }
    }
    let rest = newest.range(..=sealed)?.next_back().transpose()?.map(Row::of_newest);
    if let Some((first, rest)) = rest.map(|row| (row.first, row.behind(sealed))) {
        newest.remove(first)?;
        newest.insert(sealed + 1, rest.as_slice())?;
    }
    Ok(())
}

/// Copies all rows into the tables of a new file; `each` gives for an event what is to stand in its place, if not the same.
pub(super) fn copy<E: From<StorageError> + From<TableError>>(
    from: &ReadTransaction,
    to: &WriteTransaction,
    mut each: impl FnMut(u64, &[u8]) -> Result<Option<Vec<u8>>, E>,
) -> Result<(), E> {
    let (from, mut to) = (Tables::read(from)?, Tables::write(to)?);
    for row in from.rows()? {
        let row = row?;
        let mut frames = Frames::default();
        for (seq, frame) in row.frames() {
            frames.push(each(seq, frame)?.as_deref().unwrap_or(frame));
        }
        to.store(&row, &frames)?;
    }
    Ok(())
}

/// Puts other bytes in the place of an event's, or takes it out of its row.
#[cfg(test)]
pub(super) fn replace(transaction: &WriteTransaction, seq: u64, by: Option<&[u8]>) {
    let mut tables = Tables::write(transaction).unwrap();
    let (first, is_newest) = {
        let row = tables.rows_from(seq).unwrap().next().unwrap().unwrap();
        (row.first, row.is_newest)
    };
    let table = if is_newest { &mut tables.newest } else { &mut tables.tail };
    let of = if is_newest { Row::of_newest } else { Row::of_tail };
    let row = table.range(first..=first).unwrap().next().unwrap().map(of).unwrap();
    let mut value = row.end().to_vec();
    let mut frames = Frames::default();
    row.frames()
        .filter_map(|(at, frame)| if at == seq { by } else { Some(frame) })
        .for_each(|frame| frames.push(frame));
    value.extend(frames.plain(0..frames.len()));
    drop(row);
    table.insert(first, value.as_slice()).unwrap();
}

#[cfg(test)]
mod tests {
    use redb::{Database, ReadableDatabase};

    use super::*;

    /// Both tables, empty, in a log of so many events.
    fn memory(size: u64) -> Database {
        let database = Database::builder().create_with_backend(redb::backends::InMemoryBackend::new()).unwrap();
        change(&database, |transaction| {
            transaction.open_table(TAIL).unwrap();
            put(transaction, (size + 1, &[]), &chain_of(size), PAGE).unwrap();
        });
        database
    }

    fn chain_of(size: u64) -> Chain {
        let mut chain = Chain::default();
        (0..size).for_each(|_| chain.push([7; 32]));
        chain
    }

    fn change(database: &Database, change: impl FnOnce(&WriteTransaction)) {
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
    }

    fn seen<T>(database: &Database, see: impl FnOnce(&Tables<ReadOnlyTable<u64, Value>>) -> T) -> T {
        see(&Tables::read(&database.begin_read().unwrap()).unwrap())
    }

    /// The lengths of the frames of each row, under the number of the first.
    fn lengths(database: &Database) -> Vec<(u64, Vec<usize>)> {
        let of_row = |row: Row<'_>| (row.first, row.frames().map(|(_, frame)| frame.len()).collect());
        seen(database, |tables| tables.rows().unwrap().map(|row| of_row(row.unwrap())).collect())
    }

    /// A commit of events of these lengths behind `size` ones.
    fn commit(database: &Database, size: &mut u64, events: &[usize]) {
        let frames: Vec<Vec<u8>> = events.iter().map(|length| vec![1; *length]).collect();
        let first = *size + 1;
        *size += events.len() as u64;
        let frames = Frames::of(&frames);
        change(database, |transaction| {
            put(transaction, (first, frames.plain(0..frames.len())), &chain_of(*size), PAGE).unwrap();
        });
        assert_eq!(seen(database, |tables| tables.end().unwrap()), Ok(chain_of(*size)));
        assert!(seen(database, |tables| tables.newest_are_last(*size).unwrap()));
        assert!(!seen(database, |tables| tables.newest_are_last(*size + 1).unwrap()));
    }

    #[test]
    fn small_commits_gather_and_what_is_too_long_goes_to_the_tail() {
        let (database, mut size) = (memory(2), 2);
        assert_eq!(lengths(&database), [(3, vec![])]);
        (0..4).for_each(|_| commit(&database, &mut size, &[900]));
        assert_eq!(lengths(&database), [(3, vec![900; 4])]);
        commit(&database, &mut size, &[900]);
        assert_eq!(lengths(&database), [(3, vec![900; 4]), (7, vec![900])]);
        // Larger ones gather, too, and what is smaller begins anew behind them.
        (0..4).for_each(|_| commit(&database, &mut size, &[1500, 1500]));
        assert_eq!(lengths(&database)[1..], [(7, [vec![900], vec![1500; 8]].concat())]);
        commit(&database, &mut size, &[10]);
        assert_eq!(lengths(&database).last(), Some(&(16, vec![10])));
        // One that is longer than all of them may be is in the tail at once, and what follows is not.
        commit(&database, &mut size, &[20_000, 5]);
        assert_eq!(lengths(&database)[2..], [(16, vec![10]), (17, vec![20_000, 5]), (19, vec![])]);
        commit(&database, &mut size, &[]);
        commit(&database, &mut size, &[30]);
        assert_eq!(lengths(&database)[3..], [(17, vec![20_000, 5]), (19, vec![30])]);
        assert_eq!(seen(&database, |tables| tables.count().unwrap()), size - 2);
        for seq in 0..size + 3 {
            let look = |tables: &Tables<_>| tables.look(seq, <[u8]>::len).unwrap();
            assert_eq!(seen(&database, look).is_some(), (3..=size).contains(&seq), "{seq}");
            let firsts = |tables: &Tables<ReadOnlyTable<u64, Value>>| -> Vec<u64> {
                tables.rows_from(seq).unwrap().map(|row| row.unwrap().first).collect()
            };
            let rows = [3, 7, 16, 17, 19];
            let from = rows.iter().rposition(|first| *first <= seq).unwrap_or(0);
            assert_eq!(seen(&database, firsts), rows[from..], "{seq}");
        }
    }

    #[test]
    fn what_is_sealed_goes_out_and_the_rest_stays() {
        for sealed in 0..=9 {
            let (database, mut size) = (memory(0), 0);
            for events in [&[3000, 1, 2][..], &[900, 10], &[20], &[5000, 4, 5]] {
                commit(&database, &mut size, events);
            }
            let before = lengths(&database);
            assert_eq!(before.iter().map(|row| row.0).collect::<Vec<_>>(), [1, 4], "{before:?}");
            change(&database, |transaction| take_out(transaction, sealed).unwrap());
            let left: Vec<usize> = lengths(&database).into_iter().flat_map(|(_, lengths)| lengths).collect();
            let all: Vec<usize> = before.into_iter().flat_map(|(_, lengths)| lengths).collect();
            assert_eq!(left, all[usize::try_from(sealed).unwrap()..], "{sealed}");
            assert_eq!(seen(&database, |tables| tables.end().unwrap()), Ok(chain_of(9)), "the end stays");
            assert!(seen(&database, |tables| tables.newest_are_last(9).unwrap()), "{sealed}");
            assert_eq!(seen(&database, |tables| tables.count().unwrap()), 9 - sealed);
        }
    }

    /// Nothing of a damaged row is left out, and no two rows hold the same frames.
    #[test]
    fn a_row_whose_lengths_do_not_fit_is_read_to_its_end() {
        let database = memory(0);
        let read = |row: &[u8]| -> Vec<Vec<u8>> {
            change(&database, |transaction| drop(transaction.open_table(TAIL).unwrap().insert(1, row).unwrap()));
            seen(&database, |tables| {
                let row = tables.rows().unwrap().next().unwrap().unwrap();
                row.frames().map(|(_, frame)| frame.to_vec()).collect()
            })
        };
        let row = Frames::of(&["one", "", "three"]);
        let row = row.plain(0..3);
        let sound = read(row);
        assert_eq!(sound, [&b"one"[..], b"", b"three"]);
        for bit in 0..row.len() * 8 {
            let mut flipped = row.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(read(&flipped), sound, "bit {bit}");
        }
        for length in 1..row.len() {
            assert_ne!(read(&row[..length]), sound, "{length} bytes");
        }
    }

    #[test]
    fn an_end_that_is_none_is_told() {
        let database = memory(0);
        let put = |number: u64, value: &[u8]| {
            change(&database, |transaction| {
                drop(transaction.open_table(NEWEST).unwrap().insert(number, value).unwrap());
            });
        };
        let told = || seen(&database, |tables| tables.end().unwrap().unwrap_err());
        let of = |length: u8| [&[0, length][..], &vec![0; usize::from(length)]].concat();
        for (value, what) in [
            (of(31), "its head is no hash"),
            (of(41), "its range has a wrong shape"),
            (of(40)[..30].to_vec(), "its head is no hash"),
            (vec![0], "its head is no hash"),
        ] {
            put(1, &value);
            assert_eq!(told(), what);
        }
        put(2, &of(40));
        assert_eq!(told(), "it says twice where it ends");
        change(&database, |transaction| transaction.open_table(NEWEST).unwrap().retain(|_, _| false).unwrap());
        assert_eq!(told(), "it does not say where it ends");
    }
}
