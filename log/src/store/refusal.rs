//! What the system said, where an error of the log comes from that: by it a person is told what to do next.

use std::error::Error;
use std::io;

/// The system's own error that led to another one, directly or by way of the store.
pub fn refusal<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        let boxed = error.downcast_ref::<Box<redb::Error>>().map(|error| &**error);
        match boxed.or_else(|| error.downcast_ref::<redb::Error>()) {
            Some(redb::Error::Io(said)) => return Some(said),
            Some(_) => return None,
            None => {}
        }
        if let Some(said) = error.downcast_ref::<io::Error>() {
            return Some(said);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{AppendError, ArchiveError, BackupError, ReadError, RewriteError, SalvageError};
    use super::*;

    #[track_caller]
    fn check(error: &(dyn Error + 'static), expected: Option<io::ErrorKind>) {
        assert_eq!(refusal(error).map(io::Error::kind), expected, "{error}");
    }

    #[test]
    fn what_the_system_said_is_found_behind_every_error() {
        let said = || io::Error::from(io::ErrorKind::StorageFull);
        let store = || Box::new(redb::Error::Io(said()));
        let (path, full) = (PathBuf::from("x"), Some(io::ErrorKind::StorageFull));
        check(&said(), full);
        check(&BackupError::Io { path: path.clone(), source: said() }, full);
        check(&BackupError::Read(ReadError::Store(store())), full);
        check(&BackupError::Unwritten(store()), full);
        check(&RewriteError::Store(store()), full);
        check(&RewriteError::Behind(Box::new(RewriteError::Io { path: path.clone(), source: said() })), full);
        check(&ArchiveError::Store(store()), full);
        check(&SalvageError::Store(store()), full);
        check(&BackupError::Unsigned(AppendError::Stopped), None);
        check(&RewriteError::Store(Box::new(redb::Error::Corrupted("x".to_owned()))), None);
    }
}
