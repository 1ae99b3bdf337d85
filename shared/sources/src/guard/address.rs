//! Which addresses are public.
//!
//! Source: the special-purpose registries of IANA for IPv4 and IPv6. Whatever leads back into a private net (or
//! to a cloud's metadata service, which all live in such nets) is not public, also when an IPv6 address wraps it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Network, length of its prefix in bits, what it is.
const IPV4: [(Ipv4Addr, u32, &str); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

const IPV6: [(Ipv6Addr, u32, &str); 11] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    // Where the IPv4 address stands in it is each network's own choice, so it can't be judged by that.
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "a translator's own"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discarded"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// What the address is instead of public; `None` for a public one.
pub(crate) fn why_not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => why_not_public_v4(address),
        IpAddr::V6(address) => why_not_public_v6(address),
    }
}

fn why_not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    IPV4.iter()
        .find(|(net, bits, _)| (address.to_bits() ^ net.to_bits()) >> (32 - bits) == 0)
        .map(|(_, _, what)| *what)
}

fn why_not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let listed = IPV6.iter().find(|(net, bits, _)| (address.to_bits() ^ net.to_bits()) >> (128 - bits) == 0);
    if let Some((_, _, what)) = listed {
        return Some(what);
    }
    if let Some(wrapped) = wrapped_v4(address) {
        return why_not_public_v4(wrapped);
    }
    // Only 2000::/3 is given out for the public net.
    (address.segments()[0] >> 13 != 1).then_some("not given out for the public net")
}

/// The IPv4 address in a mapped (`::ffff:0:0/96`), compatible (`::/96`), NAT64 (`64:ff9b::/96`) or 6to4
/// (`2002::/16`) address.
fn wrapped_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((high, low)),
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    }
    .map(|(high, low)| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_every_net() {
        for (net, bits, what) in IPV4 {
            let last = Ipv4Addr::from_bits(net.to_bits() | u32::MAX.checked_shr(bits).unwrap_or(0));
            assert_eq!(why_not_public(net.into()), Some(what));
            assert_eq!(why_not_public(last.into()), Some(what));
        }
        for (net, bits, what) in IPV6 {
            let last = Ipv6Addr::from_bits(net.to_bits() | u128::MAX.checked_shr(bits).unwrap_or(0));
            assert_eq!(why_not_public(net.into()), Some(what));
            assert_eq!(why_not_public(last.into()), Some(what));
        }
    }

    #[test]
    fn what_is_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2001:200::1",
            "2a00::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(why_not_public(public.parse().unwrap()), None, "{public}");
        }
    }

    #[test]
    fn what_is_not() {
        for private in [
            "169.254.169.254",
            "100.100.100.200",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:20::1",
            "::ffff:0:127.0.0.1",
            "5f00::1",
            "4000::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "3fff:fff::1",
            "255.255.255.255",
        ] {
            assert!(why_not_public(private.parse().unwrap()).is_some(), "{private}");
        }
    }
}
