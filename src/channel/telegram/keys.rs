//! What a button carries: a number that only this instance can have made, for one button of one message. What it agrees to
//! stands in the log, never in the button.

use metnos_log::EventId;
use metnos_projections::machines::channels::Channel;

/// 128 bits.
const BYTES: usize = 16;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// What one button of a message carries.
pub(super) fn nonce(key: &[u8; 32], message: EventId, button: &str) -> String {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&message.0).update(button.as_bytes());
    base32(&hasher.finalize().as_bytes()[..BYTES])
}

/// Whose button it is: the message and the button. Every button that is known is compared, and none by its letters' order.
pub(super) fn find(key: &[u8; 32], channel: &Channel, carried: &str) -> Option<(EventId, String)> {
    let carried = blake3::hash(carried.as_bytes());
    let known = channel.consents.values().flat_map(|consent| {
        consent.buttons.iter().map(move |button| (consent.id, button, nonce(key, consent.id, button)))
    });
    let mut found = None;
    for (message, button, nonce) in known {
        // Hashes compare in constant time.
        if blake3::hash(nonce.as_bytes()) == carried {
            found = Some((message, button.clone()));
        }
    }
    found
}

fn base32(bytes: &[u8]) -> String {
    let (mut text, mut held, mut bits) = (String::new(), 0_u32, 0);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(ALPHABET[(held >> bits & 31) as usize]));
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        text.push(char::from(ALPHABET[(held << (5 - bits) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_carries_letters_that_fit_and_that_no_other_button_has() {
        let (key, message) = ([1; 32], EventId([2; 16]));
        let yes = nonce(&key, message, "yes");
        assert_eq!(yes.len(), 26);
        assert!(yes.bytes().all(|byte| ALPHABET.contains(&byte)));
        let others =
            [nonce(&key, message, "no"), nonce(&[3; 32], message, "yes"), nonce(&key, EventId([4; 16]), "yes")];
        assert!(!others.contains(&yes));
        assert_eq!(base32(b"\xff\xff\xff\xff\xff"), "77777777");
        assert_eq!(base32(b"foobar"), "mzxw6ytboi");
    }
}
