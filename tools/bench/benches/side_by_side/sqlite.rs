//! The peer: SQLite in WAL mode with `synchronous = FULL`, which also syncs before it says that a commit is there.
//!
//! Two layouts: one row an event and nothing else, and with the two indexes that the log has as well (id; stream, version).

use std::path::Path;

use metnos_log::Draft;
use rusqlite::Connection;

use crate::history::place_in_turn;

/// Whether the table has the log's indexes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Rows alone.
    Rows,
    /// Rows, unique ids, unique (stream, version).
    Indexed,
}

/// One event as its columns.
pub(crate) struct Row {
    id: [u8; 16],
    time: i64,
    stream: String,
    version: i64,
    kind: &'static str,
    payload: Vec<u8>,
}

impl Row {
    pub(crate) fn of(draft: &Draft) -> Self {
        let Draft { id, time, stream, event, .. } = draft;
        let version = place_in_turn(*time);
        Self { id: id.0, time: time.0, stream: stream.clone(), version, kind: event.label(), payload: event.encode() }
    }

    /// What a raw file would hold of it.
    pub(crate) fn bytes(&self) -> usize {
        16 + 8 + self.stream.len() + 8 + self.kind.len() + self.payload.len()
    }

    /// The bytes that a raw file would hold.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.id);
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.stream.as_bytes());
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.kind.as_bytes());
        bytes.extend(&self.payload);
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload.len()
    }
}

pub(crate) struct Store(Connection);

impl Store {
    pub(crate) fn open(folder: &Path, layout: Layout) -> Self {
        let connection = Connection::open(folder.join("events.sqlite")).expect("a database in a new folder");
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).expect("WAL is built in");
        assert_eq!(mode, "wal");
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;").expect("known settings");
        let table = "CREATE TABLE events (seq INTEGER PRIMARY KEY, id BLOB NOT NULL, time INTEGER NOT NULL, stream TEXT NOT NULL,
                     version INTEGER NOT NULL, kind TEXT NOT NULL, payload BLOB NOT NULL)";
        connection.execute_batch(table).expect("a new table");
        if layout == Layout::Indexed {
            let indexes =
                "CREATE UNIQUE INDEX by_id ON events (id); CREATE UNIQUE INDEX by_stream ON events (stream, version)";
            connection.execute_batch(indexes).expect("new indexes");
        }
        Self(connection)
    }

    /// One transaction.
    pub(crate) fn append(&mut self, rows: &[Row]) {
        let transaction = self.0.transaction().expect("nobody else writes");
        {
            let insert =
                "INSERT INTO events (id, time, stream, version, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let mut insert = transaction.prepare_cached(insert).expect("a valid statement");
            for Row { id, time, stream, version, kind, payload } in rows {
                insert.execute(rusqlite::params![id, time, stream, version, kind, payload]).expect("a fresh row");
            }
        }
        transaction.commit().expect("the disk takes a commit");
    }

    /// Brings what lies beside the database into it, and takes the room back.
    pub(crate) fn checkpoint(&self) {
        let busy: i64 = self
            .0
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .expect("a checkpoint is built in");
        assert_eq!(busy, 0, "nobody else reads");
    }

    /// Calls `each` with kind and payload of every row, in order.
    pub(crate) fn scan(&self, mut each: impl FnMut(i64, &str, &str, &[u8])) {
        let mut select = self
            .0
            .prepare_cached("SELECT seq, stream, kind, payload FROM events ORDER BY seq")
            .expect("a valid statement");
        let mut rows = select.query([]).expect("a table that exists");
        while let Some(row) = rows.next().expect("a sound file") {
            let value = |column: usize| row.get_ref(column).expect("four columns");
            let (stream, kind) = (value(1).as_str().expect("text"), value(2).as_str().expect("text"));
            each(row.get(0).expect("a number"), stream, kind, value(3).as_blob().expect("bytes"));
        }
    }
}
