//! The rows of all turns, in the order in which they began in the log.
//!
//! A turn that began long ago hardly ever changes, and there is no end of them: all but the newest rows are packed, as
//! MessagePack of what tells each from the one before. That takes less than half of the memory, and a copy of the whole shares it.

use std::sync::Arc;

use metnos_log::TurnId;

use super::Row;

/// How many rows are packed together. Up to twice as many are not.
const TOGETHER: usize = 128;

/// All rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rows {
    packs: Vec<Arc<Pack>>,
    newest: Vec<(TurnId, Row)>,
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Newest(usize),
    Packed(usize, usize),
}

/// Rows that stand together.
#[derive(Debug, PartialEq)]
struct Pack {
    /// Ids sort by the clock, which may go back: the first row need not have the least.
    least: TurnId,
    greatest: TurnId,
    first_seq: u64,
    bytes: Box<[u8]>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.packs.len() * TOGETHER + self.newest.len()
    }

    pub(super) fn get(&self, id: TurnId) -> Option<Row> {
        self.find(id).map(|(_, row)| row)
    }

    /// A row, and where to [`Self::put`] it when it has changed.
    pub(super) fn find(&self, id: TurnId) -> Option<(Place, Row)> {
        if let Some(place) = self.newest.iter().rposition(|(other, _)| *other == id) {
            return Some((Place::Newest(place), self.newest[place].1));
        }
        let packs = self.packs.iter().enumerate().rev();
        packs.filter(|(_, pack)| (pack.least..=pack.greatest).contains(&id)).find_map(|(pack, packed)| {
            let row = packed.rows().into_iter().enumerate().find(|(_, (other, _))| *other == id);
            row.map(|(place, (_, row))| (Place::Packed(pack, place), row))
        })
    }

    /// Keeps a row that changed where it was found, or one that is new behind all others.
    pub(super) fn put(&mut self, place: Option<Place>, id: TurnId, row: Row) {
        match place {
            Some(Place::Newest(place)) => self.newest[place] = (id, row),
            Some(Place::Packed(pack, place)) => {
                let mut rows = self.packs[pack].rows();
                rows[place] = (id, row);
                self.packs[pack] = Arc::new(Pack::of(&rows));
            }
            None => {
                self.newest.push((id, row));
                if self.newest.len() == 2 * TOGETHER {
                    let rows: Vec<_> = self.newest.drain(..TOGETHER).collect();
                    self.packs.push(Arc::new(Pack::of(&rows)));
                }
            }
        }
    }

    /// Those whose turns began with this event or a later one, oldest first.
    pub(super) fn since(&self, seq: u64) -> impl DoubleEndedIterator<Item = (TurnId, Row)> {
        // The pack before the first that begins later may hold some.
        let first = self.packs.partition_point(|pack| pack.first_seq <= seq).saturating_sub(1);
        let packed = self.packs[first..].iter().flat_map(|pack| pack.rows());
        packed.chain(self.newest.iter().copied()).filter(move |(_, row)| row.first_seq >= seq)
    }

    /// The newest.
    pub(super) fn last(&self) -> Option<TurnId> {
        // Some are left when others are packed.
        self.newest.last().map(|(id, _)| *id)
    }
}

impl FromIterator<(TurnId, Row)> for Rows {
    /// In the order in which the turns began.
    fn from_iter<I: IntoIterator<Item = (TurnId, Row)>>(rows: I) -> Self {
        let mut all = Self::default();
        rows.into_iter().for_each(|(id, row)| all.put(None, id, row));
        all
    }
}

impl Pack {
    fn of(rows: &[(TurnId, Row)]) -> Self {
        let before = [Row::default()].into_iter().chain(rows.iter().map(|(_, row)| *row));
        let told: Vec<(TurnId, Row)> =
            rows.iter().zip(before).map(|((id, row), before)| (*id, row.apart(before))).collect();
        let ids = || rows.iter().map(|(id, _)| *id);
        Self {
            least: ids().min().unwrap_or(TurnId([0; 16])),
            greatest: ids().max().unwrap_or(TurnId([0; 16])),
            first_seq: rows.first().map_or(0, |(_, row)| row.first_seq),
            bytes: rmp_serde::to_vec(&told).expect("numbers and ids have a form").into(),
        }
    }

    fn rows(&self) -> Vec<(TurnId, Row)> {
        let mut rows: Vec<(TurnId, Row)> = rmp_serde::from_slice(&self.bytes).expect("it was written by this process");
        let mut before = Row::default();
        for (_, row) in &mut rows {
            *row = row.behind(before);
            before = *row;
        }
        rows
    }
}

impl Row {
    /// What tells it from the one before: where it began and when by that one, its end by its beginning. Numbers that fit in few
    /// bytes take few.
    fn apart(self, before: Self) -> Self {
        Self {
            first_seq: self.first_seq.wrapping_sub(before.first_seq),
            last_seq: self.last_seq.wrapping_sub(self.first_seq),
            opened_at: self.opened_at.wrapping_sub(before.opened_at),
            closed_at: self.closed_at.map(|at| at.wrapping_sub(self.opened_at)),
            ..self
        }
    }

    /// The row of which this is what [`Row::apart`] gave.
    fn behind(self, before: Self) -> Self {
        let first_seq = before.first_seq.wrapping_add(self.first_seq);
        let opened_at = before.opened_at.wrapping_add(self.opened_at);
        Self {
            first_seq,
            last_seq: first_seq.wrapping_add(self.last_seq),
            opened_at,
            closed_at: self.closed_at.map(|after| opened_at.wrapping_add(after)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const ROWS: u64 = 5 * TOGETHER as u64 + 7;

    fn id(number: u64) -> TurnId {
        let mut bytes = [0; 16];
        // Neither in the order of the rows nor against it.
        bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        TurnId(bytes)
    }

    fn row(number: u64) -> Row {
        let at = 1_700_000_000_000_000 + i64::try_from(number).unwrap() * 600_000_000;
        let closed_at = Some(at + 1_500_000);
        Row { first_seq: 10 * number, last_seq: 10 * number + 3, opened_at: at, closed_at, ..Row::default() }
    }

    fn many() -> Rows {
        (1..=ROWS).map(|number| (id(number), row(number))).collect()
    }

    #[test]
    fn rows_are_found_wherever_they_are() {
        let rows = many();
        assert_eq!((rows.len() as u64, rows.packs.len(), rows.last()), (ROWS, 4, Some(id(ROWS))));
        assert!((1..=ROWS).all(|number| rows.get(id(number)) == Some(row(number))));
        assert_eq!((rows.get(id(0)), rows.get(id(ROWS + 1)), Rows::default().last()), (None, None, None));
    }

    #[test]
    fn those_since_an_event_come_in_order_from_both_ends() {
        let rows = many();
        for since in [0, 1, 10, 11, 1_279, 1_280, 1_281, 2_555, 10 * ROWS, 10 * ROWS + 1] {
            let expected: Vec<TurnId> = (1..=ROWS).filter(|number| 10 * number >= since).map(id).collect();
            assert!(rows.since(since).map(|(id, _)| id).eq(expected.iter().copied()), "{since}");
            assert!(rows.since(since).rev().map(|(id, _)| id).eq(expected.iter().rev().copied()), "{since}");
        }
    }

    #[test]
    fn a_copy_is_not_changed_with_the_whole() {
        let (mut rows, copy) = (many(), many());
        for number in [1, 200, ROWS] {
            let (place, found) = rows.find(id(number)).unwrap();
            rows.put(Some(place), id(number), Row { changes: 9, ..found });
            assert_eq!(rows.get(id(number)).unwrap().changes, 9);
            assert_eq!(copy.get(id(number)), Some(row(number)));
        }
        assert_eq!(rows.len(), copy.len());
    }

    #[test]
    fn packed_rows_take_less_than_half_of_the_memory() {
        let rows = many();
        let bytes: usize = rows.packs.iter().map(|pack| pack.bytes.len()).sum();
        assert!(2 * bytes < 4 * TOGETHER * size_of::<(TurnId, Row)>(), "{bytes}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Whatever the numbers are, and in whatever order rows come and change, it is as if each had a place of its own.
        #[test]
        fn it_is_a_map(changes in prop::collection::vec((0_u64..600, any::<(u64, u64, i64, Option<i64>, u32)>()), 0..900)) {
            let (mut rows, mut map, mut order) = (Rows::default(), BTreeMap::new(), Vec::new());
            for (number, (first_seq, last_seq, opened_at, closed_at, word)) in changes {
                let id = id(number);
                let row = Row { first_seq, last_seq, opened_at, closed_at, actor: word, calls: !word, ..Row::default() };
                let place = rows.find(id).map(|(place, _)| place);
                if place.is_none() {
                    order.push(id);
                }
                rows.put(place, id, row);
                map.insert(id, row);
            }
            prop_assert!((0..600).step_by(13).all(|number| rows.get(id(number)) == map.get(&id(number)).copied()));
            let all = rows.packs.iter().flat_map(|pack| pack.rows()).chain(rows.newest.iter().copied());
            prop_assert!(all.eq(order.iter().map(|id| (*id, map[id]))));
        }
    }
}
