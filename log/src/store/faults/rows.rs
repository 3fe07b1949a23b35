//! Every table of a log as rows of bytes, so that a test can change any of them without knowing what they mean.

use redb::{Database, Key, ReadableDatabase, ReadableTable, TableDefinition, TableHandle, Value, WriteTransaction};

use crate::store::tables::{BLOBS, BY_ID, CHECKPOINTS, ID_RUNS, META, NEWEST, SEGMENTS, STREAM_RUNS, STREAMS, TAIL};

/// Key and value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// One table, whatever its types.
pub(super) trait Rows {
    fn name(&self) -> &'static str;
    fn all(&self, database: &Database) -> Vec<Row>;
    fn put(&self, transaction: &WriteTransaction, row: &Row);
    fn remove(&self, transaction: &WriteTransaction, key: &[u8]);
    /// Whether the key's type can hold these bytes; redb itself refuses others.
    fn can_be_key(&self, key: &[u8]) -> bool;
}

struct Table<K: Key + 'static, V: Value + 'static> {
    name: &'static str,
    definition: TableDefinition<'static, K, V>,
}

impl<K: Key, V: Value> Rows for Table<K, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn all(&self, database: &Database) -> Vec<Row> {
        let table = database.begin_read().unwrap().open_table(self.definition).unwrap();
        let row = |(key, value): (redb::AccessGuard<'_, K>, redb::AccessGuard<'_, V>)| {
            (K::as_bytes(&key.value()).as_ref().to_vec(), V::as_bytes(&value.value()).as_ref().to_vec())
        };
        table.iter().unwrap().map(|found| row(found.unwrap())).collect()
    }

    fn put(&self, transaction: &WriteTransaction, (key, value): &Row) {
        let mut table = transaction.open_table(self.definition).unwrap();
        table.insert(K::from_bytes(key), V::from_bytes(value)).unwrap();
    }

    fn remove(&self, transaction: &WriteTransaction, key: &[u8]) {
        let mut table = transaction.open_table(self.definition).unwrap();
        table.remove(K::from_bytes(key)).unwrap();
    }

    fn can_be_key(&self, key: &[u8]) -> bool {
        K::type_name() != <&str>::type_name() || std::str::from_utf8(key).is_ok()
    }
}

/// All tables of a log; that there is no other is asserted.
pub(super) fn tables(database: &Database) -> Vec<Box<dyn Rows>> {
    macro_rules! all {
        ($($definition:expr),+) => {
            vec![$(Box::new(Table { name: $definition.name(), definition: $definition }) as Box<dyn Rows>),+]
        };
    }
    let tables: Vec<Box<dyn Rows>> =
        all!(TAIL, NEWEST, SEGMENTS, STREAMS, STREAM_RUNS, ID_RUNS, BY_ID, BLOBS, CHECKPOINTS, META);
    let transaction = database.begin_read().unwrap();
    let mut there: Vec<String> = transaction.list_tables().unwrap().map(|table| table.name().to_owned()).collect();
    let mut known: Vec<String> = tables.iter().map(|table| table.name().to_owned()).collect();
    there.sort();
    known.sort();
    assert_eq!(there, known, "a table that this test does not know");
    tables
}
