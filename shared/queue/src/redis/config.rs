//! Where Redis is, and why it was refused.

use std::fmt;

use nightforge_domain::masked_url;
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};
use secrecy::{ExposeSecret, SecretString};

/// Where bells find their Redis.
#[derive(Clone)]
pub struct RedisConfig {
    url: SecretString,
    prefix: String,
}

impl RedisConfig {
    /// Bells over the Redis at `url`: `redis://user:password@host:port/database`, or `rediss://` for TLS with the
    /// certificates of the system (or of `SSL_CERT_FILE`). The prefix of all keys and channels is `nightforge`.
    pub fn new(url: impl Into<SecretString>) -> RedisConfig {
        RedisConfig { url: url.into(), prefix: "nightforge".to_owned() }
    }

    /// Another prefix, so that several installations can share a Redis: letters, digits, `-`, `_`, `.` and `:`.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> RedisConfig {
        self.prefix = prefix.into();
        self
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn check_prefix(&self) -> Result<(), RedisRefused> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if self.prefix.is_empty() || !self.prefix.bytes().all(plain) {
            return Err(RedisRefused::BadPrefix { prefix: self.prefix.clone() });
        }
        Ok(())
    }

    /// Opens no connection yet.
    pub(super) fn client(&self) -> Result<Client, RedisRefused> {
        let bad = |error: redis::RedisError| RedisRefused::BadUrl { reason: error.to_string() };
        let info: ConnectionInfo = self.url.expose_secret().into_connection_info().map_err(bad)?;
        let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
        // Subscriptions have a connection of their own, so the older protocol does all that is needed.
        let protocol = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            // Redis-rs takes whatever this process has installed, and panics without. An error says that another
            // part of the process was first.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Client::open(info.set_tcp_settings(tcp).set_redis_settings(protocol)).map_err(bad)
    }

    /// The URL without its password, for people.
    pub(super) fn shown_url(&self) -> String {
        masked_url(self.url.expose_secret())
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig").field("url", &self.shown_url()).field("prefix", &self.prefix).finish()
    }
}

/// Why a Redis cannot carry bells. Each says what to do about it, and none holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedisRefused {
    /// The URL is none.
    #[error(
        "the Redis URL cannot be used ({reason}); write redis://user:password@host:port/database, or rediss:// for \
         TLS, and percent-encode special characters in the password"
    )]
    BadUrl {
        /// What redis-rs said; it does not repeat the URL.
        reason: String,
    },
    /// The prefix is empty or has special characters.
    #[error("`{prefix}` cannot be the prefix of keys in Redis; use letters, digits, `-`, `_`, `.` and `:`")]
    BadPrefix {
        /// As it was given.
        prefix: String,
    },
    /// Nobody answers, or not as Redis does.
    #[error(
        "no Redis answers at {url} ({reason}); start it (Debian package `redis-server`), or correct the URL: its \
         host, its port, and `rediss` if and only if the server speaks TLS"
    )]
    Unreachable {
        /// Without its password.
        url: String,
        /// What the last try said.
        reason: String,
    },
    /// The server wants another user or password, or allows this user too little.
    #[error(
        "Redis at {url} refuses the user or the password ({reason}); set them in the URL as \
         redis://user:password@host (redis://:password@host for the default user), and allow that user the keys \
         and channels `{prefix}:*`, the key `core:apalis:queues:list` and Lua scripts"
    )]
    Access {
        /// Of the keys and channels that are needed.
        prefix: String,
        /// Without its password.
        url: String,
        /// What Redis said.
        reason: String,
    },
    /// Redis may throw away keys of a queue, and a queue that misses some breaks its consumers.
    #[error(
        "Redis at {url} has maxmemory-policy {policy}, which may throw away parts of the queues; set \
         `maxmemory-policy noeviction` in its configuration (at once: `redis-cli config set maxmemory-policy \
         noeviction`), or give Nightforge a Redis of its own"
    )]
    Evicts {
        /// Without its password.
        url: String,
        /// The policy that was found.
        policy: String,
    },
    /// The scripts need commands that this Redis does not have.
    #[error("Redis at {url} is version {version}; bells need 6.2 or newer, so update it")]
    TooOld {
        /// Without its password.
        url: String,
        /// The version that was found.
        version: String,
    },
    /// The keys of a queue would be on several nodes.
    #[error(
        "Redis at {url} is a node of a cluster, which apalis cannot use; give Nightforge a Redis of its own"
    )]
    Cluster {
        /// Without its password.
        url: String,
    },
    /// Bells have to be written.
    #[error("Redis at {url} is a replica and takes no writes; name its primary in the URL")]
    Replica {
        /// Without its password.
        url: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("redis://host/1", "redis://host/1"),
            ("redis://me:s3cret@host:1/2", "redis://me:***@host:1/2"),
            ("rediss://:s3cret@host?protocol=resp3", "rediss://:***@host?protocol=resp3"),
            ("redis+unix:///run/redis.sock?pass=s3cret", "redis+unix:///run/redis.sock?pass=***"),
            ("redis://:12?s3cret@host", "redis://:***@host"),
            ("redis://:1/s3#s3cret @ü%:s3cret@host", "redis://:***@host"),
            ("redis://s3cret@host", "redis://***@host"),
            ("redis://:s3cret", "redis://***"),
            ("s3cret", "***"),
        ] {
            let config = RedisConfig::new(url);
            assert_eq!(config.shown_url(), shown);
            assert!(!format!("{config:?}").contains("s3cret"));
        }
    }

    #[test]
    fn a_bad_url_says_how_to_write_it_and_does_not_repeat_it() {
        for url in ["", "http://:s3cret@host", "redis://:s3cret@host:port", "redis://:s3cret@host/db"] {
            let refused = RedisConfig::new(url).client().unwrap_err();
            assert!(matches!(refused, RedisRefused::BadUrl { .. }), "{url}");
            assert!(refused.to_string().contains("redis://user:password@host"), "{refused}");
            assert!(!refused.to_string().contains("s3cret"), "{refused}");
        }
    }

    #[test]
    fn a_prefix_is_plain() {
        let prefix = |prefix: &str| RedisConfig::new("redis://host").with_prefix(prefix).check_prefix();
        assert_eq!((prefix("nightforge"), prefix("a:B-1_.")), (Ok(()), Ok(())));
        for bad in ["", "a b", "a*", "ä", "{a}"] {
            assert_eq!(prefix(bad), Err(RedisRefused::BadPrefix { prefix: bad.to_owned() }));
        }
    }
}
