//! The rows that events must have in the indexes, compared a chunk of events at a time.
//!
//! Each event's own rows are looked for, so that none can be missing; that there are no others is a matter of counting,
//! which is `verify`'s business. The expected rows are sorted first: neighbours are then read in passing.

use std::collections::HashMap;

use redb::{Key, Range, ReadOnlyTable, ReadTransaction};

use super::tables::{BY_ID, BY_STREAM, STREAMS};
use super::verify::Damage;
use crate::envelope::Header;

/// Rows that are passed over before looking a key up from the root is cheaper.
const PASSED_ROWS_MAX: usize = 8;

/// What the indexes must hold for some events.
#[derive(Default)]
pub(super) struct Indexes {
    /// Id, seq.
    ids: Vec<([u8; 16], u64)>,
    /// Stream (by its place in `names`), version, seq.
    places: Vec<(usize, u64, u64)>,
    /// Names of streams with the first event of each that was seen.
    names: Vec<(String, u64)>,
    known: HashMap<String, usize>,
}

impl Indexes {
    /// Notes the rows of one more event.
    pub(super) fn expect(&mut self, seq: u64, header: &Header<'_>) {
        let Header(id, _, stream, version, ..) = *header;
        let at = self.known.get(stream).copied().unwrap_or_else(|| {
            self.names.push((stream.to_owned(), seq));
            self.known.insert(stream.to_owned(), self.names.len() - 1);
            self.names.len() - 1
        });
        self.ids.push((id.0, seq));
        self.places.push((at, version, seq));
    }

    /// Compares with what is stored; the damage that concerns the earliest event is the answer. Returns how many streams
    /// these events opened.
    pub(super) fn verify(mut self, transaction: &ReadTransaction) -> Result<u64, Damage> {
        let fault = |error: redb::Error| Damage::File(error.to_string());
        let open = || -> Result<_, redb::Error> {
            Ok((transaction.open_table(STREAMS)?, transaction.open_table(BY_STREAM)?, transaction.open_table(BY_ID)?))
        };
        let (streams, by_stream, by_id) = open().map_err(fault)?;
        let (numbers, unnumbered) = self.numbers(&streams).map_err(fault)?;
        let opened = self.places.iter().filter(|(_, version, _)| *version == 1).count();
        let misnumbered = self.places.iter().filter(|(at, version, seq)| *version == 1 && numbers[*at] != *seq);
        let unnumbered = unnumbered.into_iter().chain(misnumbered.map(|(_, _, seq)| *seq)).min();

        let mut rows: Vec<((u64, u64), u64)> =
            self.places.iter().map(|&(at, version, seq)| ((numbers[at], version), seq)).collect();
        rows.sort_unstable();
        let unplaced = first_missing(&by_stream, &rows).map_err(fault)?;
        self.ids.sort_unstable();
        let unnamed = first_missing(&by_id, &self.ids).map_err(fault)?;

        let found = [
            (unnumbered, "streams", "the stream has no number, or another than that of the event that opened it"),
            (unplaced, "by_stream", "the row is missing or points elsewhere"),
            (unnamed, "by_id", "the row is missing or points elsewhere"),
        ];
        // Of several tables with the same event, the first one in the list.
        let first =
            found.into_iter().filter_map(|(seq, table, what)| Some((seq?, table, what))).min_by_key(|found| found.0);
        match first {
            Some((seq, table, what)) => Err(Damage::Index { table, seq, what }),
            None => Ok(opened as u64),
        }
    }

    /// The number of each stream, 0 where it has none; and the earliest event whose stream has none.
    fn numbers(&self, streams: &ReadOnlyTable<&'static str, u64>) -> Result<(Vec<u64>, Option<u64>), redb::Error> {
        let mut numbers = vec![0; self.names.len()];
        let mut unnumbered = None;
        for ((name, first), number) in self.names.iter().zip(&mut numbers) {
            match streams.get(name.as_str())? {
                Some(stored) => *number = stored.value(),
                None => unnumbered = unnumbered.min(Some(*first)).or(Some(*first)),
            }
        }
        Ok((numbers, unnumbered))
    }
}

/// The least seq among the expected rows, sorted by key, that the table does not hold.
fn first_missing<K, T>(table: &ReadOnlyTable<K, u64>, expected: &[(T, u64)]) -> Result<Option<u64>, redb::Error>
where
    K: for<'k> Key<SelfType<'k> = T> + 'static,
    T: Copy + Ord,
{
    let Some(&(lowest, _)) = expected.first() else { return Ok(None) };
    let mut missing: Option<u64> = None;
    let mut rows = table.range(lowest..)?;
    let mut row = next_row(&mut rows)?;
    for &(key, seq) in expected {
        let mut passed = 0;
        while row.is_some_and(|(found, _)| found < key) {
            passed += 1;
            if passed > PASSED_ROWS_MAX {
                rows = table.range(key..)?;
            }
            row = next_row(&mut rows)?;
        }
        if row != Some((key, seq)) {
            missing = missing.min(Some(seq)).or(Some(seq));
        }
    }
    Ok(missing)
}

fn next_row<K, T>(rows: &mut Range<'_, K, u64>) -> Result<Option<(T, u64)>, redb::Error>
where
    K: for<'k> Key<SelfType<'k> = T> + 'static,
{
    let row = rows.next().transpose()?;
    Ok(row.map(|(key, seq)| (key.value(), seq.value())))
}
