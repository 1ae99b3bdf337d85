//! Loopback ports that stay reserved while their service is down.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use anyhow::{Context, bail};
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};

/// Below the ports that the kernel gives to outgoing connections (from 32768 on): a client that keeps trying to
/// reach a server that is down could otherwise be given the server's own port, and connect to itself.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A port of 127.0.0.1 that nobody else takes while this lives.
pub(crate) struct Port {
    number: u16,
    _bound: OwnedFd,
}

impl Port {
    /// Reserves a free port.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn reserve() -> anyhow::Result<Self> {
        for _ in 0..1_000 {
            let chance = RandomState::new().hash_one(0);
            let number = PORTS.start + (chance % u64::from(PORTS.end - PORTS.start)) as u16;
            let bound = socket(AddressFamily::INET, SocketType::STREAM, None).context("no socket")?;
            if bind(&bound, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, number)).is_err() {
                continue;
            }
            // Bound alone, so the port was free; from now on a server that sets either of these, as all do, may
            // listen there.
            sockopt::set_socket_reuseaddr(&bound, true)?;
            sockopt::set_socket_reuseport(&bound, true)?;
            return Ok(Self { number, _bound: bound });
        }
        bail!("no free port of 127.0.0.1 between {} and {}", PORTS.start, PORTS.end)
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_reserved_port_is_free_for_its_server_again_and_again() {
        let port = Port::reserve().unwrap();
        for _ in 0..3 {
            drop(TcpListener::bind((Ipv4Addr::LOCALHOST, port.number())).unwrap());
        }
    }

    #[test]
    fn nobody_reserves_it_twice() {
        let ports: Vec<Port> = (0..200).map(|_| Port::reserve().unwrap()).collect();
        let numbers: std::collections::BTreeSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
    }
}
