//! The peer: SQLite in WAL mode with `synchronous = FULL`, which also syncs before it says that a commit is there.
//!
//! A row has what the log stores of an event, but for what the log proves it by. Two layouts: rows and nothing else, and with the
//! two indexes that the log has as well (id; stream, version); with these the store says which version an event is, as the log does.

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
    schema: u16,
    actor: String,
    turn: Option<[u8; 16]>,
    cause: Option<[u8; 16]>,
    payload: Vec<u8>,
}

impl Row {
    pub(crate) fn of(draft: &Draft) -> Self {
        let Draft { id, time, stream, actor, turn, cause, event, .. } = draft;
        Self {
            id: id.0,
            time: time.0,
            stream: stream.clone(),
            version: place_in_turn(*time),
            kind: event.label(),
            schema: event.schema(),
            actor: actor.clone(),
            turn: turn.map(|turn| turn.0),
            cause: cause.map(|cause| cause.0),
            payload: event.encode(),
        }
    }

    /// What a raw file would hold of it.
    pub(crate) fn bytes(&self) -> usize {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes.len()
    }

    /// The bytes that a raw file would hold.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.id);
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.stream.as_bytes());
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.kind.as_bytes());
        bytes.extend(self.schema.to_le_bytes());
        bytes.extend(self.actor.as_bytes());
        bytes.extend(self.turn.into_iter().chain(self.cause).flatten());
        bytes.extend(&self.payload);
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload.len()
    }
}

/// A row as it is read: nothing of it is copied.
#[expect(dead_code, reason = "a black box takes them")]
pub(crate) struct Read<'r> {
    seq: i64,
    id: &'r [u8],
    time: i64,
    stream: &'r str,
    version: i64,
    pub(crate) kind: &'r str,
    pub(crate) schema: u16,
    actor: &'r str,
    turn: Option<&'r [u8]>,
    cause: Option<&'r [u8]>,
    pub(crate) payload: &'r [u8],
}

pub(crate) struct Store {
    connection: Connection,
    layout: Layout,
}

impl Store {
    pub(crate) fn open(folder: &Path, layout: Layout) -> Self {
        let connection = Connection::open(folder.join("events.sqlite")).expect("a database in a new folder");
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).expect("WAL is built in");
        assert_eq!(mode, "wal");
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;").expect("known settings");
        let table = "CREATE TABLE events (seq INTEGER PRIMARY KEY, id BLOB NOT NULL, time INTEGER NOT NULL, stream TEXT NOT NULL,
                     version INTEGER NOT NULL, kind TEXT NOT NULL, schema INTEGER NOT NULL, actor TEXT NOT NULL, turn BLOB,
                     cause BLOB, payload BLOB NOT NULL)";
        connection.execute_batch(table).expect("a new table");
        if layout == Layout::Indexed {
            let indexes =
                "CREATE UNIQUE INDEX by_id ON events (id); CREATE UNIQUE INDEX by_stream ON events (stream, version)";
            connection.execute_batch(indexes).expect("new indexes");
        }
        Self { connection, layout }
    }

    /// One transaction.
    pub(crate) fn append(&mut self, rows: &[Row]) {
        let transaction = self.connection.transaction().expect("nobody else writes");
        {
            let version = match self.layout {
                Layout::Rows => "?4",
                Layout::Indexed => "(SELECT coalesce(max(version), 0) + 1 FROM events WHERE stream = ?3)",
            };
            let insert = format!(
                "INSERT INTO events (id, time, stream, version, kind, schema, actor, turn, cause, payload)
                 VALUES (?1, ?2, ?3, {version}, ?5, ?6, ?7, ?8, ?9, ?10)"
            );
            let mut insert = transaction.prepare_cached(&insert).expect("a valid statement");
            for Row { id, time, stream, version, kind, schema, actor, turn, cause, payload } in rows {
                let values = rusqlite::params![id, time, stream, version, kind, schema, actor, turn, cause, payload];
                insert.execute(values).expect("a fresh row");
            }
        }
        transaction.commit().expect("the disk takes a commit");
    }

    /// Brings what lies beside the database into it, and takes the room back.
    pub(crate) fn checkpoint(&self) {
        let busy: i64 = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .expect("a checkpoint is built in");
        assert_eq!(busy, 0, "nobody else reads");
    }

    /// Calls `each` with every row, in order.
    pub(crate) fn scan(&self, mut each: impl FnMut(&Read<'_>)) {
        let all =
            "SELECT seq, id, time, stream, version, kind, schema, actor, turn, cause, payload FROM events ORDER BY seq";
        let mut select = self.connection.prepare_cached(all).expect("a valid statement");
        let mut rows = select.query([]).expect("a table that exists");
        while let Some(row) = rows.next().expect("a sound file") {
            let value = |column: usize| row.get_ref(column).expect("eleven columns");
            let number = |column: usize| value(column).as_i64().expect("a number");
            let text = |column: usize| value(column).as_str().expect("text");
            let bytes = |column: usize| value(column).as_blob().expect("bytes");
            let optional = |column: usize| value(column).as_blob_or_null().expect("bytes or none");
            each(&Read {
                seq: number(0),
                id: bytes(1),
                time: number(2),
                stream: text(3),
                version: number(4),
                kind: text(5),
                schema: u16::try_from(number(6)).expect("it was one"),
                actor: text(7),
                turn: optional(8),
                cause: optional(9),
                payload: bytes(10),
            });
        }
    }
}
