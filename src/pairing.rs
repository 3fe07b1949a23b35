//! Codes that bind an address of a channel to a person: `PAIR.<payload>.<signature>`, each good once and for minutes (design
//! 7-people, «Actors»).
//!
//! The payload is the code's id and its last second; the signature is the instance's. So a code that was never given out is
//! refused before the log is looked at, and the log says whether it was used.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use metnos_log::{EventId, Micros};
use metnos_projections::machines::actors::{Command, HOST, Rejection};

use crate::instance::{Instance, InstanceError, now, random};

/// How long a code for the host is good.
pub const HOST_PATIENCE: Duration = Duration::from_mins(5);
/// How long one for a guest is.
pub const GUEST_PATIENCE: Duration = Duration::from_hours(1);

const PREFIX: &str = "PAIR";
const PURPOSE: &str = "metnos pairing code v1";

/// A code that was given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Names it in the log.
    pub id: String,
    /// What the person sends.
    pub text: String,
    /// Until when.
    pub until: Micros,
}

/// Why a code binds nothing.
#[derive(Debug, thiserror::Error)]
pub enum PairingError {
    /// It is no code of this instance.
    #[error("this is no code of this home")]
    Foreign,
    /// It was used, is too old, or does not fit who sent it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The log did not take it.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// Makes a code for a person.
pub fn issue(instance: &Instance, actor: &str, patience: Option<Duration>) -> Result<Code, PairingError> {
    let usual = if actor == HOST { HOST_PATIENCE } else { GUEST_PATIENCE };
    let begun = now();
    let seconds = i64::try_from(patience.unwrap_or(usual).as_secs()).unwrap_or(i64::MAX);
    let last = (begun.0 / 1_000_000).saturating_add(seconds);
    let until = Micros(last.saturating_mul(1_000_000));
    let id = EventId::new(begun, random());
    let payload = [id.0.as_slice(), &last.to_be_bytes()].concat();
    let signature = instance.keys.sign_for(PURPOSE, &payload);
    let text = format!("{PREFIX}.{}.{}", URL_SAFE_NO_PAD.encode(payload), URL_SAFE_NO_PAD.encode(signature));
    let id = id.to_string();
    instance.change_actors(Command::Issue { pairing: id.clone(), actor: actor.to_owned(), until })??;
    Ok(Code { id, text, until })
}

/// Binds the address that a code came from to the person whom it was made for; their id.
pub fn redeem(instance: &Instance, code: &str, channel: &str, address: &str) -> Result<String, PairingError> {
    let pairing = read(instance, code).ok_or(PairingError::Foreign)?;
    let (channel, address) = (channel.to_owned(), address.to_owned());
    let bind = Command::Bind { pairing: pairing.clone(), channel: channel.clone(), address: address.clone() };
    let bound = instance.actors().pairings.get(&pairing).map(|code| code.actor.clone()).unwrap_or_default();
    instance.as_actor(&bound).change_actors(bind)??;
    Ok(bound)
}

/// Whether a text looks like a code, good or not.
pub fn is_code(text: &str) -> bool {
    text.starts_with("PAIR.")
}

/// The id of a code whose signature is this instance's.
pub fn read(instance: &Instance, code: &str) -> Option<String> {
    let mut parts = code.trim().split('.');
    let (prefix, payload, signature, rest) = (parts.next()?, parts.next()?, parts.next()?, parts.next());
    let payload: [u8; 24] = URL_SAFE_NO_PAD.decode(payload).ok()?.try_into().ok()?;
    let signature: [u8; 64] = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
    let is_ours = prefix == PREFIX && rest.is_none() && instance.keys.has_signed(PURPOSE, &payload, &signature);
    let id: [u8; 16] = payload.get(..16)?.try_into().ok()?;
    is_ours.then(|| EventId(id).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Flags, Variables};

    fn instance(folder: &std::path::Path) -> Instance {
        let variables = Variables { user_home: Some(folder.to_owned()), ..Variables::default() };
        Instance::open(Some(&folder.join("instance")), &Flags::default(), &variables, Duration::ZERO).unwrap()
    }

    #[test]
    fn a_code_of_this_home_binds_once_and_no_other_binds() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (here, there) = (instance(here.path()), instance(there.path()));
        let (code, foreign) = (issue(&here, HOST, None).unwrap(), issue(&there, HOST, None).unwrap());
        let redeem = |code: &str| redeem(&here, code, "telegram", "7");
        assert!(matches!(redeem(&foreign.text), Err(PairingError::Foreign)));
        for at in [5, 9, 20, code.text.len() - 2] {
            let mut forged = code.text.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).unwrap();
            assert!(matches!(redeem(&forged), Err(PairingError::Foreign)), "{forged}");
        }
        for other in ["", "PAIR", "PAIR..", "PAIR.AAAA.AAAA", &format!("{}.x", code.text)] {
            assert!(matches!(redeem(other), Err(PairingError::Foreign)), "{other}");
        }
        assert_eq!(redeem(&code.text).unwrap(), HOST);
        assert_eq!(here.actors().at("telegram", "7"), Some(HOST));
        assert!(matches!(redeem(&code.text), Err(PairingError::Rejected(Rejection::Spent))));
        let late = issue(&here, HOST, Some(Duration::ZERO)).unwrap();
        assert!(matches!(redeem(&late.text), Err(PairingError::Rejected(Rejection::Expired(_)))));
    }
}
