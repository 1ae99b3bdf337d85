//! What has to be true of a Redis before bells are trusted to it.

use std::collections::HashMap;
use std::sync::LazyLock;

use redis::aio::ConnectionManager;
use redis::{Client, ErrorKind, InfoDict, RedisError, Script, ServerErrorKind};

use super::config::{RedisConfig, RedisRefused};
use super::connection;

static TRY: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/try.lua")));

/// Connects once and asks.
pub(super) async fn check(client: &Client, config: &RedisConfig) -> Result<(), RedisRefused> {
    let url = config.shown_url();
    let refused = |error: RedisError| refused(&error, &url, config.prefix());
    let mut connection = connection::connect(client).await.map_err(refused)?;
    let server = info(&mut connection, "server").await;
    let said = |name: &str| server.as_ref().and_then(|info| info.get::<String>(name));
    if let Some(version) = said("redis_version").filter(|version| is_too_old(version)) {
        return Err(RedisRefused::TooOld { url, version });
    }
    if said("redis_mode").as_deref() == Some("cluster") {
        return Err(RedisRefused::Cluster { url });
    }
    let role = info(&mut connection, "replication").await.and_then(|info| info.get::<String>("role"));
    if role.as_deref() == Some("slave") {
        return Err(RedisRefused::Replica { url });
    }
    // Everything that bells need of an access list, once.
    let key = format!("{}:bells:preflight", config.prefix());
    TRY.key(&key)
        .key("core:apalis:queues:list")
        .invoke_async::<()>(&mut connection)
        .await
        .map_err(refused)?;
    connection::subscribe(client, &key).await.map_err(refused)?;
    match eviction_policy(&mut connection).await {
        Some(policy) if policy == "noeviction" => Ok(()),
        Some(policy) => Err(RedisRefused::Evicts { url, policy }),
        None => {
            tracing::warn!(
                url,
                "this Redis tells its maxmemory-policy neither by CONFIG nor by INFO; going on as if it were \
                 noeviction: make sure of that, for with any other it may throw away parts of the queues"
            );
            Ok(())
        }
    }
}

/// By CONFIG, or by INFO where that is forbidden, as it is on most managed servers.
async fn eviction_policy(connection: &mut ConnectionManager) -> Option<String> {
    let configured: Result<HashMap<String, String>, _> =
        redis::cmd("CONFIG").arg("GET").arg("maxmemory-policy").query_async(connection).await;
    match configured.ok().and_then(|mut answer| answer.remove("maxmemory-policy")) {
        Some(policy) => Some(policy),
        None => info(connection, "memory").await?.get("maxmemory_policy"),
    }
}

/// A section of INFO, unless that is forbidden.
async fn info(connection: &mut ConnectionManager, section: &str) -> Option<InfoDict> {
    redis::cmd("INFO").arg(section).query_async(connection).await.ok()
}

fn is_too_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < (6, 2),
        // A version of another shape is of another server, which may well do.
        _ => false,
    }
}

fn refused(error: &RedisError, url: &str, prefix: &str) -> RedisRefused {
    let (url, reason) = (url.to_owned(), error.to_string());
    let of_access = error.kind() == ErrorKind::AuthenticationFailed
        || error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM"))
        // What a script may not do is told without a code.
        || reason.contains("The user executing the script can't")
        || reason.contains("ACL failure in script");
    if of_access {
        RedisRefused::Access { prefix: prefix.to_owned(), url, reason }
    } else {
        RedisRefused::Unreachable { url, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::is_too_old;

    #[test]
    fn versions_before_6_2_are_too_old() {
        for (version, too_old) in [
            ("5.0.14", true),
            ("6.0.16", true),
            ("6.2.0", false),
            ("7.0.15", false),
            ("255.255.255", false),
            ("v", false),
        ] {
            assert_eq!(is_too_old(version), too_old, "{version}");
        }
    }
}
