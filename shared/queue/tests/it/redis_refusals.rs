//! A Redis that cannot carry bells is refused at once, with the remedy.

use nightforge_queue::{Bell, Bells, RedisConfig, RedisRefused};
use tokio_util::sync::CancellationToken;

use crate::conformance::{soon, task};
use crate::redis_server::RedisServer;

async fn refusal(url: &str) -> RedisRefused {
    let bells = Bells::redis(RedisConfig::new(url), CancellationToken::new());
    soon("an answer", bells).await.expect_err("it is not fit for bells")
}

/// Bells do work, not only start.
async fn works(bells: &Bells) {
    let mut tasks = bells.tasks();
    bells.ring(Bell::Task(task(1)));
    assert_eq!(soon("a bell", tasks.next()).await, Some(task(1)));
    assert_eq!(bells.stats().restarts, 0);
}

#[tokio::test]
async fn nobody_there() {
    let mut server = RedisServer::start().await;
    server.kill();
    let refused = refusal(&format!("redis://me:s3cret@127.0.0.1:{}/0", server.port())).await;
    assert!(matches!(refused, RedisRefused::Unreachable { .. }), "{refused:?}");
    let said = refused.to_string();
    assert!(said.contains(&format!("redis://me:***@127.0.0.1:{}/0", server.port())), "{said}");
    assert!(said.contains("redis-server") && !said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn somebody_else_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    // Accepts and says nothing.
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let refused = refusal(&format!("redis://127.0.0.1:{port}")).await;
    assert!(matches!(refused, RedisRefused::Unreachable { .. }), "{refused:?}");
    silent.abort();
}

#[tokio::test]
async fn tls_to_a_plain_server() {
    let server = RedisServer::start().await;
    let refused = refusal(&format!("rediss://127.0.0.1:{}", server.port())).await;
    assert!(matches!(refused, RedisRefused::Unreachable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("speaks TLS"), "{refused}");
}

#[tokio::test]
async fn a_wrong_password() {
    let server = RedisServer::start_with(&["--requirepass", "right"]).await;
    works(&server.bells().await).await;
    for url in ["redis://:wr0ng@127.0.0.1", "redis://nobody:wr0ng@127.0.0.1", "redis://127.0.0.1"] {
        let refused = refusal(&format!("{url}:{}", server.port())).await;
        assert!(matches!(refused, RedisRefused::Access { .. }), "{url}: {refused:?}");
        let said = refused.to_string();
        assert!(said.contains("redis://user:password@host") && !said.contains("wr0ng"), "{said}");
    }
}

#[tokio::test]
async fn an_evicting_policy() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let server = RedisServer::start_with(&["--maxmemory-policy", policy]).await;
        let refused = server.refusal().await;
        assert!(
            matches!(&refused, RedisRefused::Evicts { policy: found, .. } if found == policy),
            "{refused:?}"
        );
        let said = refused.to_string();
        assert!(said.contains(policy) && said.contains("maxmemory-policy noeviction"), "{said}");
        let _: () = server.run(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
        works(&server.bells().await).await;
    }
}

/// As on managed servers.
#[tokio::test]
async fn an_evicting_policy_where_config_is_forbidden() {
    let server = RedisServer::start_with(&["--maxmemory-policy", "allkeys-lfu"]).await;
    let _: () = server.run(&["ACL", "SETUSER", "bells", "on", ">pw", "~*", "&*", "+@all", "-config"]).await;
    let refused = refusal(&format!("redis://bells:pw@127.0.0.1:{}", server.port())).await;
    assert!(
        matches!(&refused, RedisRefused::Evicts { policy, .. } if policy == "allkeys-lfu"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_is_not_in_the_way() {
    let server = RedisServer::start().await;
    let _: () =
        server.run(&["ACL", "SETUSER", "bells", "on", ">pw", "~*", "&*", "+@all", "-config", "-info"]).await;
    let config = RedisConfig::new(format!("redis://bells:pw@127.0.0.1:{}", server.port()));
    works(&Bells::redis(config, CancellationToken::new()).await.expect("it goes on, with a warning")).await;
}

#[tokio::test]
async fn a_user_with_exactly_the_rights_that_the_refusal_names() {
    let server = RedisServer::start().await;
    let rights = ["~nightforge:*", "~core:apalis:queues:list", "&nightforge:*"];
    let base = ["ACL", "SETUSER", "bells", "reset", "on", ">pw", "+@all", "-@dangerous"];
    let url = format!("redis://bells:pw@127.0.0.1:{}", server.port());
    for missing in rights {
        let some: Vec<&str> =
            base.into_iter().chain(rights.into_iter().filter(|right| *right != missing)).collect();
        let _: () = server.run(&some).await;
        let refused = refusal(&url).await;
        assert!(matches!(refused, RedisRefused::Access { .. }), "without {missing}: {refused:?}");
        assert!(refused.to_string().contains(&missing[1..]), "without {missing}: {refused}");
    }
    let all: Vec<&str> = base.into_iter().chain(rights).collect();
    let _: () = server.run(&all).await;
    works(&Bells::redis(RedisConfig::new(url), CancellationToken::new()).await.expect("enough rights")).await;
}

#[tokio::test]
async fn a_replica_and_a_cluster() {
    let primary = RedisServer::start().await;
    let replica = RedisServer::start_with(&["--replicaof", "127.0.0.1", &primary.port().to_string()]).await;
    assert!(matches!(replica.refusal().await, RedisRefused::Replica { .. }));
    let cluster = RedisServer::start_with(&["--cluster-enabled", "yes"]).await;
    assert!(matches!(cluster.refusal().await, RedisRefused::Cluster { .. }));
}

#[tokio::test]
async fn a_bad_prefix() {
    let config = RedisConfig::new("redis://127.0.0.1").with_prefix("night forge");
    let refused = Bells::redis(config, CancellationToken::new()).await.expect_err("a space is no prefix");
    assert_eq!(refused, RedisRefused::BadPrefix { prefix: "night forge".to_owned() });
}
