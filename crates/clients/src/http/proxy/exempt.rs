//! `NO_PROXY`: hosts, `.suffix`, `*`, addresses, and networks such as `10.0.0.0/8`.

use std::net::IpAddr;

/// Whether `list` exempts `host:port` from the proxy.
pub(super) fn is_exempt(list: &str, host: &str, port: u16) -> bool {
    list.split([',', ' ', '\t'])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .any(|entry| {
            matches(
                &entry.to_ascii_lowercase(),
                &host.to_ascii_lowercase(),
                port,
            )
        })
}

fn matches(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    let address = host.parse::<IpAddr>().ok();
    if let (Some((network, bits)), Some(address)) = (entry.split_once('/'), address) {
        let network = unbracketed(network).parse();
        return network
            .ok()
            .zip(bits.parse().ok())
            .is_some_and(|(network, bits)| contains(network, bits, address));
    }
    let (entry, only) = split_port(entry);
    if only.is_some_and(|only| only != port) {
        return false;
    }
    if let (Ok(exempt), Some(address)) = (unbracketed(entry).parse::<IpAddr>(), address) {
        return exempt.to_canonical() == address.to_canonical();
    }
    let name = entry.strip_prefix('*').unwrap_or(entry);
    let name = name.strip_prefix('.').unwrap_or(name);
    let host = host.strip_suffix('.').unwrap_or(host);
    let within = host.strip_suffix(name);
    !name.is_empty()
        && address.is_none()
        && within.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Splits off a port: `host:80` and `[::1]:80` have one, a bare IPv6 address has none.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => port
            .parse()
            .map_or((entry, None), |port| (host, Some(port))),
        _ => (entry, None),
    }
}

fn unbracketed(text: &str) -> &str {
    text.strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text)
}

fn contains(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    match (network, address.to_canonical()) {
        (IpAddr::V4(network), IpAddr::V4(address)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_exempts_what_it_names_and_nothing_else() {
        for (list, host, port, expected) in [
            ("", "example.com", 443, false),
            ("*", "example.com", 443, true),
            ("example.com", "example.com", 443, true),
            ("EXAMPLE.com", "Example.COM", 443, true),
            ("example.com", "api.example.com", 443, true),
            (".example.com", "api.example.com", 443, true),
            (".example.com", "example.com", 443, true),
            ("*.example.com", "api.example.com", 443, true),
            ("example.com", "badexample.com", 443, false),
            ("example.com", "example.com.evil.test", 443, false),
            ("example.com", "example.com.", 443, true),
            ("a.test, b.test", "b.test", 80, true),
            ("a.test b.test", "b.test", 80, true),
            (",,", "b.test", 80, false),
            (".", "b.test", 80, false),
            ("b.test:8080", "b.test", 8080, true),
            ("b.test:8080", "b.test", 80, false),
            ("10.0.0.1", "10.0.0.1", 80, true),
            ("10.0.0.1", "10.0.0.10", 80, false),
            ("0.0.1", "10.0.0.1", 80, false),
            ("10.0.0.1:81", "10.0.0.1", 80, false),
            ("10.0.0.0/8", "10.200.3.4", 80, true),
            ("10.0.0.0/8", "11.0.0.1", 80, false),
            ("0.0.0.0/0", "11.0.0.1", 80, true),
            ("10.0.0.0/33", "10.0.0.1", 80, false),
            ("10.0.0.0/x", "10.0.0.1", 80, false),
            ("10.0.0.0/8", "ten.test", 80, false),
            ("2001:db8::1", "2001:db8::1", 80, true),
            ("[2001:db8::1]", "2001:db8::1", 80, true),
            ("[2001:db8::1]:81", "2001:db8::1", 80, false),
            ("2001:db8::/32", "2001:db8:5::1", 80, true),
            ("2001:db8::/32", "2001:db9::1", 80, false),
            ("::/0", "2001:db9::1", 80, true),
            ("10.0.0.1", "::ffff:10.0.0.1", 80, true),
        ] {
            assert_eq!(
                is_exempt(list, host, port),
                expected,
                "{list:?} {host}:{port}"
            );
        }
    }
}
