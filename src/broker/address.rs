//! What kind of address a host resolved to: the broker dials public ones, others only where they were meant.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anyone's.
    Public,
    /// This machine.
    Loopback,
    /// The home or company network.
    Private,
    /// One link only.
    LinkLocal,
    /// Where clouds hand out credentials.
    Metadata,
    /// Reserved, documentation, multicast, broadcast.
    Reserved,
}

impl Kind {
    /// The kind's name in verdicts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Reserved => "reserved",
        }
    }
}

/// The kind of an address. One that carries an IPv4 address inside (mapped, compatible, NAT64, 6to4) is never public: its
/// kind is that of what is inside, and a public inside counts as reserved, since nothing that is meant is written so.
pub(super) fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => kind4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inside) => match kind4(inside) {
                Kind::Public => Kind::Reserved,
                other => other,
            },
            None => kind6(address),
        },
    }
}

fn kind4(address: Ipv4Addr) -> Kind {
    let [a, b, c, d] = address.octets();
    match (a, b, c, d) {
        (169, 254, 169, 254) | (100, 100, 100, 200) | (192, 0, 0, 192) | (168, 63, 129, 16) => Kind::Metadata,
        // «This network» reaches this machine.
        (0 | 127, ..) => Kind::Loopback,
        (10, ..) | (172, 16..=31, ..) | (192, 168, ..) | (100, 64..=127, ..) => Kind::Private,
        (169, 254, ..) => Kind::LinkLocal,
        (192, 0, 0 | 2, _)
        | (192, 88, 99, _)
        | (198, 18..=19, ..)
        | (198, 51, 100, _)
        | (203, 0, 113, _)
        | (224..=255, ..) => Kind::Reserved,
        _ => Kind::Public,
    }
}

fn kind6(address: Ipv6Addr) -> Kind {
    let segments = address.segments();
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Kind::Loopback,
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => Kind::Metadata,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Kind::Private,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        // Only 2000::/3 is handed out, and of it neither Teredo and its kin nor documentation is anyone's host.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Reserved,
    }
}

/// The IPv4 address inside of an IPv6 one.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let low = || {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, ..] => Some(low()),
        [0x2002, high, next, ..] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), next.to_be_bytes());
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(addresses: &[&str], wanted: Kind) {
        for address in addresses {
            assert_eq!(kind(address.parse().unwrap()), wanted, "{address}");
        }
    }

    #[test]
    fn addresses_have_their_kind() {
        check(&["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"], Kind::Public);
        check(
            &[
                "127.0.0.1",
                "127.255.0.9",
                "0.0.0.0",
                "0.1.2.3",
                "::1",
                "::",
                "::ffff:127.0.0.1",
                "::127.0.0.1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
            ],
            Kind::Loopback,
        );
        check(
            &[
                "10.0.0.1",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "100.64.0.1",
                "fd12::1",
                "fc00::1",
                "fec0::1",
                "::ffff:10.0.0.1",
                "64:ff9b::c0a8:1",
            ],
            Kind::Private,
        );
        check(&["169.254.0.1", "fe80::1", "febf::1", "::ffff:169.254.1.1"], Kind::LinkLocal);
        check(
            &["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"],
            Kind::Metadata,
        );
        check(
            &[
                "224.0.0.1",
                "255.255.255.255",
                "203.0.113.9",
                "ff02::1",
                "2001:db8::1",
                "2001::1",
                "64:ff9b::808:808",
                "::ffff:8.8.8.8",
                "4000::1",
                "100::1",
            ],
            Kind::Reserved,
        );
    }
}
