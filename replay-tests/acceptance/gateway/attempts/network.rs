//! Reaching anything by a socket, and reaching more than was granted through the broker.

use crate::attempt::{Aim, Attempt, Control, Ear, Kind, Need, Sign, What};

const VSOCK: Need = Need::Family(40);
const ALG: Need = Need::Family(38);

/// The same request where it was granted gets there.
const GRANTED: Control = Control::Within(Sign::Asked);

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(
        "loopback",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Heard(Ear::Tcp),
        r"
import socket
socket.create_connection(('127.0.0.1', at['tcp']), 2).send(b'x')",
    ),
    Attempt::new(
        "a datagram",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Heard(Ear::Udp),
        r"
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', at['udp']))",
    ),
    Attempt::new(
        "a socket of the host by its path",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Heard(Ear::Unix),
        r"
import socket
socket.socket(socket.AF_UNIX).connect(outside + '/socket')",
    ),
    Attempt::new(
        "a socket of the instance",
        Kind::Home,
        Aim::Seccomp,
        Sign::Heard(Ear::Own),
        r"
import socket
socket.socket(socket.AF_UNIX).connect(root + '/metnos/data/run/escape')",
    ),
    Attempt::new(
        "an abstract socket of the host",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Heard(Ear::Abstract),
        r"
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', b'\0' + os.path.basename(root).encode())",
    ),
    Attempt::new(
        "an abstract socket, out of a pair",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Heard(Ear::Abstract),
        r"
import socket
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
pair[0].sendto(b'x', b'\0' + os.path.basename(root).encode())",
    ),
    Attempt::new(
        "an abstract socket, by what is inherited",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Heard(Ear::Abstract),
        r"
import socket, struct
name = struct.pack('H', 1) + b'\0' + os.path.basename(root).encode()
try: ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as error: tell(error)
for fd in range(3, 64): libc.connect(fd, name, len(name)) or os.write(fd, b'x')",
    ),
    Attempt::new(
        "a listener",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Listens,
        r"
import socket
ours = socket.socket()
ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
ours.bind(('127.0.0.1', at['listen']))
ours.listen()
hold(0.4)",
    ),
    Attempt::new(
        "messages to the kernel",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw socket"),
        r"
import socket
ours = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
show(ours.fileno())",
    ),
    Attempt::new(
        "packets",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw socket"),
        r"
import socket
ours = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
show(ours.fileno())",
    )
    .needs(&[Need::Root]),
    Attempt::new(
        "the hypervisor",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw socket"),
        r"
import socket
ours = socket.socket(40, socket.SOCK_STREAM)
show(ours.fileno())",
    )
    .needs(&[VSOCK]),
    Attempt::new(
        "the kernel's ciphers",
        Kind::Bare,
        Aim::Seccomp,
        Sign::Holds("rw socket"),
        r"
import socket
ours = socket.socket(38, socket.SOCK_SEQPACKET)
show(ours.fileno())",
    )
    .needs(&[ALG]),
    Attempt::new(
        "another port of a granted host",
        Kind::Host,
        Aim::Broker,
        Sign::Asked,
        r"
port = at['granted'] if small else at['other']
tell(ctx.http('GET', 'http://127.0.0.1:%d/forbidden' % port).status)",
    )
    .control(GRANTED),
    Attempt::new(
        "other spellings of a host",
        Kind::Host,
        Aim::Broker,
        Sign::Asked,
        r"
port = at['granted'] if small else at['other']
hosts = '2130706433 0x7f.1 0177.0.0.1 127.1 [::ffff:127.0.0.1] 0.0.0.0 127.0.0.1. localhost LOCALHOST [::1]'.split()
for host in hosts + (['127.0.0.1'] if small else []):
    try: tell(ctx.http('GET', 'http://%s:%d/forbidden' % (host, port)).status)
    except ctx.Failure as error: tell(error.message)",
    )
    .control(GRANTED),
    Attempt::new(
        "a method that only reading does not need",
        Kind::Host,
        Aim::Broker,
        Sign::Asked,
        r"
for method in ('GET',) if small else ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'GET ', 'get\t'):
    try: tell(ctx.http(method, 'http://127.0.0.1:%d/forbidden' % at['granted']).status)
    except ctx.Failure as error: tell(error.message)",
    )
    .control(GRANTED),
    Attempt::new(
        "a redirect",
        Kind::Host,
        Aim::Broker,
        Sign::Asked,
        r"
tell(ctx.http('GET', 'http://127.0.0.1:%d/%s' % (at['granted'], 'near' if small else 'away')).status)",
    )
    .control(GRANTED),
    Attempt::new(
        "a host hidden behind a user",
        Kind::Host,
        Aim::Broker,
        Sign::Asked,
        r"
other = at['granted'] if small else at['other']
for url in ('http://127.0.0.1:%d' + mark + '127.0.0.1:%d/forbidden' for mark in ('@', '\\@', '#@', '?@')):
    try: tell(ctx.http('GET', url % (at['granted'], other)).status)
    except ctx.Failure as error: tell(error.message)
if small: ctx.http('GET', 'http://127.0.0.1:%d/forbidden' % other)",
    )
    .control(GRANTED),
    Attempt::new(
        "a second request within a header",
        Kind::Host,
        Aim::Broker,
        Sign::Asked,
        r"
second = 'x\r\n\r\nGET /forbidden HTTP/1.1\r\nHost: x\r\n\r\n'
url = 'http://127.0.0.1:%d/' % at['granted']
ways = [
    ('GET', url, {'X-A': second}),
    ('GET', url, {second: 'x'}),
    ('GET', url, {'Host': second}),
    (second, url),
    ('GET', url + second),
    ('GET', url, {'Transfer-Encoding': 'chunked'}, '0' + second[1:]),
]
for way in [('GET', url + 'forbidden')] if small else ways:
    try: tell(ctx.http(*way).status)
    except ctx.Failure as error: tell(error.message)",
    )
    .control(GRANTED),
    Attempt::new(
        "more requests than allowed",
        Kind::Host,
        Aim::Broker,
        Sign::Requests(64),
        r"
for number in range(10 if small else 90):
    try: ctx.http('GET', 'http://127.0.0.1:%d/plain' % at['granted'])
    except ctx.Failure as error: tell(error.message)",
    )
    .control(Control::Within(Sign::Requests(9))),
    Attempt::new(
        "more bytes than allowed",
        Kind::Host,
        Aim::Broker,
        Sign::Says(What::Secret),
        r"
body = ctx.http('GET', 'http://127.0.0.1:%d/%s' % (at['granted'], 'middle' if small else 'long')).body
tell(body.strip(b'.').decode())",
    )
    .control(Control::Within(Sign::Says(What::Secret))),
    Attempt::new(
        "a file through the broker",
        Kind::Host,
        Aim::Broker,
        Sign::Says(What::Secret),
        r"
near = ['http://127.0.0.1:%d/secret' % at['granted']]
for url in near if small else [way + outside + '/secret.txt' for way in ('file://', 'file://127.0.0.1', 'unix:', '')]:
    try: tell(ctx.http('GET', url).body.decode())
    except ctx.Failure as error: tell(error.message)",
    )
    .control(Control::Within(Sign::Says(What::Secret))),
    Attempt::new(
        "a frame to the broker that lies",
        Kind::Host,
        Aim::Broker,
        Sign::Grew(400),
        r"
def put(length, body): os.write(ctx._net, length.to_bytes(4, 'big') + body)
if small:
    tell(ctx.http('GET', 'http://127.0.0.1:%d/plain' % at['granted']).status)
else:
    put(2, b'{}')
    put(0xffffffff, b'')
    block = bytes(1 << 20)
    for number in range(700): os.write(ctx._net, block)
tell('through')",
    )
    .control(Control::Within(Sign::Accepted("through"))),
    Attempt::new(
        "the broker without a grant",
        Kind::Bare,
        Aim::Broker,
        Sign::Asked,
        r"
import socket
request = b'{\x22method\x22:\x22GET\x22,\x22url\x22:\x22http://127.0.0.1:%d/forbidden\x22,\x22headers\x22:[]}' % at['other']
said = len(request).to_bytes(4, 'big') + request + bytes(4)
for fd in range(3, 64):
    if fd != ctx._channel:
        try: os.write(fd, said)
        except OSError: pass
direct = socket.create_connection(('127.0.0.1', at['other']), 2)
direct.send(b'GET /forbidden HTTP/1.1\r\n\r\n')",
    ),
];
