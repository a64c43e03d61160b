//! Finds the processes that listen on an address (`/proc/net/{tcp,tcp6,unix}`, `/proc/PID/fd`).

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use super::table;

/// The local address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// A TCP port, and the IP addresses that the service's URL resolves to.
    Port(u16, Vec<IpAddr>),
    /// The path of a Unix socket.
    Socket(PathBuf),
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port(port, _) => write!(formatter, "port {port}"),
            Self::Socket(path) => write!(formatter, "`{}`", path.display()),
        }
    }
}

/// The inodes of the sockets that listen at `place`.
pub(super) fn inodes(proc: &Path, place: &ListenAddress) -> BTreeSet<u64> {
    let lines = |file: &str| fs::read_to_string(proc.join("net").join(file)).unwrap_or_default();
    match place {
        ListenAddress::Port(port, addresses) => {
            let tables = [lines("tcp"), lines("tcp6")];
            let sockets = tables.iter().flat_map(|table| table.lines().skip(1));
            sockets
                .filter_map(|line| tcp(line, *port, addresses))
                .collect()
        }
        ListenAddress::Socket(path) => {
            let table = lines("unix");
            let sockets = table.lines().skip(1);
            sockets.filter_map(|line| unix(line, path)).collect()
        }
    }
}

/// The inode in a line of `tcp` or `tcp6`, if its socket listens on `port` at one of `addresses` or
/// at all addresses.
fn tcp(line: &str, port: u16, addresses: &[IpAddr]) -> Option<u64> {
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, local, _, LISTENS, ..] = fields[..] else {
        return None;
    };
    let (address, own_port) = local.split_once(':')?;
    let address = address_of(address)?.to_canonical();
    let is_there = address.is_unspecified()
        || addresses.is_empty()
        || addresses
            .iter()
            .any(|known| known.to_canonical() == address);
    let is_it = is_there && u16::from_str_radix(own_port, 16) == Ok(port);
    fields.get(9)?.parse().ok().filter(|_| is_it)
}

/// Parses 32-bit words in the machine's byte order, each as eight hexadecimal digits.
fn address_of(digits: &str) -> Option<IpAddr> {
    let word = |digits: &str| u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes);
    match digits.len() {
        8 => Some(Ipv4Addr::from(word(digits)?).into()),
        32 if digits.is_ascii() => {
            let mut bytes = [0; 16];
            for (place, bytes) in bytes.chunks_exact_mut(4).enumerate() {
                bytes.copy_from_slice(&word(&digits[8 * place..8 * place + 8])?);
            }
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

/// The inode in a line of `unix`, if its socket listens at `path`. Fields are `Num: RefCount
/// Protocol Flags Type St Inode Path`; the inode is padded, and the path may contain blanks.
fn unix(line: &str, path: &Path) -> Option<u64> {
    const ACCEPTS: &str = "00010000";
    let mut fields = [""; 7];
    let mut rest = line;
    for field in &mut fields {
        let (next, behind) = rest.trim_start().split_once(' ')?;
        (*field, rest) = (next, behind);
    }
    let is_it = fields[3] == ACCEPTS && Path::new(rest) == path;
    fields[6].parse().ok().filter(|_| is_it)
}

/// The processes that hold one of these sockets, as far as their descriptors are readable.
pub(super) fn holders(proc: &Path, inodes: &BTreeSet<u64>) -> BTreeSet<u32> {
    let holds = |pid: &u32| {
        let files = fs::read_dir(proc.join(format!("{pid}/fd")));
        files.into_iter().flatten().flatten().any(|file| {
            let target = fs::read_link(file.path()).ok();
            let inode = target.as_ref().and_then(|target| {
                let name = target.to_str()?.strip_prefix("socket:[")?;
                name.strip_suffix(']')?.parse::<u64>().ok()
            });
            inode.is_some_and(|inode| inodes.contains(&inode))
        })
    };
    table::numbers(proc).into_iter().filter(holds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 101 1 0 100 0 0 10 0\n\
   1: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 102 1 0 100 0 0 10 0\n\
   2: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000  1000        0 103 1 0 100 0 0 10 0\n";
    const TCP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 104 1 0 100 0 0 10 0\n\
   1: 00000000000000000000000000000000:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 105 1 0 100 0 0 10 0\n";
    const UNIX: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n\
0000000000000000: 00000002 00000000 00010000 0001 01   201 /run/some service.sock\n\
0000000000000000: 00000003 00000000 00000000 0001 03 202 /run/some service.sock\n\
0000000000000000: 00000002 00000000 00010000 0001 01 203\n";

    #[test]
    fn sockets_that_listen_are_found_by_port_and_address() {
        let proc = tempfile::tempdir().unwrap();
        let net = proc.path().join("net");
        fs::create_dir(&net).unwrap();
        for (file, text) in [("tcp", TCP), ("tcp6", TCP6), ("unix", UNIX)] {
            fs::write(net.join(file), text).unwrap();
        }
        let found =
            |place: ListenAddress| inodes(proc.path(), &place).into_iter().collect::<Vec<_>>();
        let port = |port, address: &str| ListenAddress::Port(port, vec![address.parse().unwrap()]);
        assert_eq!(found(port(8080, "127.0.0.1")), [101]);
        assert_eq!(found(port(8080, "::1")), [104]);
        assert_eq!(found(port(8080, "192.0.2.1")), [0; 0]);
        assert_eq!(found(port(8081, "192.0.2.1")), [102]);
        assert_eq!(found(port(8082, "127.0.0.1")), [105]);
        assert_eq!(found(port(9, "127.0.0.1")), [0; 0]);
        let socket = |path: &str| ListenAddress::Socket(path.into());
        assert_eq!(found(socket("/run/some service.sock")), [201]);
        assert_eq!(found(socket("/run/other.sock")), [0; 0]);
    }

    #[test]
    fn who_listens_here_is_this_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let place = ListenAddress::Port(address.port(), vec![address.ip()]);
        let proc = Path::new("/proc");
        if !proc.join("net/tcp").exists() {
            return;
        }
        let found = inodes(proc, &place);
        assert_eq!(found.len(), 1);
        assert!(holders(proc, &found).contains(&std::process::id()));
    }
}
