//! The table of host tricks: none of them may reach what was not granted.

use super::*;

fn sockets(addresses: &[&str]) -> Vec<SocketAddr> {
    addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 80)).collect()
}

fn verdict(url: &str, hosts: &[HostGrant], addresses: &[&str], from_public: bool) -> Result<(), Refusal> {
    let target = Target::parse(url)?;
    let literal = target.literal().map(|address| vec![SocketAddr::new(address, target.port)]);
    judge(&target, &matching(&target, hosts), &literal.unwrap_or_else(|| sockets(addresses)), from_public)
}

fn granted(patterns: &[&str]) -> Vec<HostGrant> {
    patterns.iter().map(|pattern| grant_for_pattern(pattern).unwrap()).collect()
}

/// All of these mean this machine or try to look like a granted host.
const TRICKS: &[&str] = &[
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://0.0.0.0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:7f00:0001]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://x.localhost/",
    "http://127。0。0。1/",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://good.example@127.0.0.1/",
    "http://good.example:80@127.0.0.1/",
    "http://user:secret@good.example/",
    "http://good.example.evil.example/",
    "http://evilgood.example/",
    "http://good.example%00.evil.example/",
    "http://evil.example/good.example",
    "http://evil.example#good.example",
    "http://evil.example?good.example",
    "http://evil.example\\@good.example/",
    "http://good.example:8080/",
    "http://good.example:443/",
    "https://good.example:80/",
    "http://sub.good.example/",
    "http://suffix.example/",
    "http://asuffix.example/",
    "http://.suffix.example/",
    "http://suffix.example.evil.example/",
    "ftp://good.example/",
    "file:///etc/passwd",
    "gopher://good.example/",
    "http:///",
    "http://",
    "//good.example/",
    "good.example",
    "",
];

#[test]
fn no_trick_reaches_anything() {
    let hosts = granted(&["good.example", "*.suffix.example"]);
    let bypasses: Vec<_> = TRICKS.iter().filter(|url| verdict(url, &hosts, &["8.8.8.8"], false).is_ok()).collect();
    assert_eq!(bypasses, Vec::<&&str>::new());
    let bypasses: Vec<_> = TRICKS.iter().filter(|url| verdict(url, &[], &["8.8.8.8"], false).is_ok()).collect();
    assert_eq!(bypasses, Vec::<&&str>::new(), "an empty list grants nothing");
}

#[test]
fn a_granted_host_is_reached_however_it_is_spelled() {
    let hosts = granted(&["good.example", "*.suffix.example", "xn--bcher-kva.example", "port.example:8080"]);
    let spelled = [
        "http://good.example/",
        "https://good.example/x?y#z",
        "http://GOOD.Example/",
        "http://good.example./",
        "http://good.example:80/",
        "http://ｇｏｏｄ.example/",
        "http://a.suffix.example/",
        "https://a.b.suffix.example/",
        "http://bücher.example/",
        "http://port.example:8080/",
    ];
    for url in spelled {
        assert_eq!(verdict(url, &hosts, &["8.8.8.8", "2606:4700::1111"], false), Ok(()), "{url}");
    }
}

#[test]
fn a_granted_name_that_leads_inside_is_refused() {
    let hosts = granted(&["good.example", "*.suffix.example"]);
    let typed = vec![grant_for("http://good.example/", true).unwrap()];
    for inside in [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "fe80::1",
        "fd00::1",
        "0.0.0.0",
        "224.0.0.1",
    ] {
        for url in ["http://good.example/", "http://a.suffix.example/"] {
            assert!(verdict(url, &hosts, &[inside], false).is_err(), "{url} {inside}");
            assert!(verdict(url, &hosts, &["8.8.8.8", inside], false).is_err(), "{url} {inside} beside a public one");
        }
        assert!(verdict("http://good.example/", &typed, &[inside], false).is_err(), "a typed public name {inside}");
    }
}

#[test]
fn what_the_person_typed_may_be_local_and_nothing_beside_it() {
    let typed = |url: &str| vec![grant_for(url, true).unwrap()];
    assert_eq!(verdict("http://127.0.0.1:8080/x", &typed("http://127.0.0.1:8080/"), &[], false), Ok(()));
    assert_eq!(
        verdict("http://localhost:8080/x", &typed("http://localhost:8080/"), &["127.0.0.1", "::1"], false),
        Ok(())
    );
    assert_eq!(verdict("http://nas.lan/", &typed("http://nas.lan/"), &["192.168.1.9"], false), Ok(()));
    for nobody in ["http://0:8080/", "http://0.0.0.0:8080/", "http://[::]:8080/", "http://[::ffff:0.0.0.0]:8080/"] {
        assert!(verdict(nobody, &typed(nobody), &[], false).is_err(), "{nobody} is no machine");
    }
    assert!(verdict("http://127.0.0.1:8081/", &typed("http://127.0.0.1:8080/"), &[], false).is_err(), "another port");
    assert!(
        verdict("http://127.0.0.2:8080/", &typed("http://127.0.0.1:8080/"), &[], false).is_err(),
        "another address"
    );
    assert!(
        verdict("http://localhost:8080/", &typed("http://127.0.0.1:8080/"), &["127.0.0.1"], false).is_err(),
        "another name"
    );
    assert!(
        verdict("http://nas.lan/", &typed("http://nas.lan/"), &["127.0.0.1"], false).is_err(),
        "a home name is not this machine"
    );
    let untyped = vec![grant_for("http://127.0.0.1:8080/", false).unwrap()];
    assert!(verdict("http://127.0.0.1:8080/", &untyped, &[], false).is_err(), "loopback is granted by typing only");
    let untyped = vec![grant_for("http://192.168.1.9/", false).unwrap()];
    assert_eq!(
        verdict("http://192.168.1.9/", &untyped, &[], false),
        Ok(()),
        "a private address that was granted literally"
    );
}

#[test]
fn what_an_address_alone_says_is_foreseen() {
    let typed = |url: &str| foreseen(url, &grant_for(url, true).into_iter().collect::<Vec<_>>());
    for fine in ["http://127.0.0.1:8080/", "http://good.example/", "http://localhost/", "http://192.168.1.9/"] {
        assert_eq!(typed(fine), Ok(()), "{fine}");
    }
    for refused in ["http://user:pw@127.0.0.1/", "http://0.0.0.0/", "http://[::]/"] {
        assert_eq!(typed(refused).unwrap_err().class, "policy_violation", "{refused}");
    }
    // What nobody typed reaches no machine that holds credentials, and no name that was not granted.
    for url in ["http://169.254.169.254/", "http://127.0.0.1/"] {
        assert!(foreseen(url, &[grant_for(url, false).unwrap()]).is_err(), "{url}");
    }
    assert!(foreseen("http://other.example/", &granted(&["good.example"])).is_err());
}

#[test]
fn a_public_host_cannot_redirect_inside_even_where_both_were_typed() {
    let hosts = vec![grant_for("http://127.0.0.1/", true).unwrap(), grant_for("http://good.example/", true).unwrap()];
    assert_eq!(verdict("http://127.0.0.1/", &hosts, &[], false), Ok(()));
    assert!(verdict("http://127.0.0.1/", &hosts, &[], true).is_err());
    assert_eq!(verdict("http://good.example/", &hosts, &["8.8.8.8"], true), Ok(()));
}

#[test]
fn patterns_that_are_too_wide_are_refused() {
    for pattern in ["*", "*.", "*.com", "*.127.0.0.1", "", "a b", "*.*.example.org", "u@h.example"] {
        assert!(grant_for_pattern(pattern).is_err(), "{pattern}");
    }
}
