//! Against a Redis that can't be trusted with bells.

use nightforge_services::Redis;

use crate::program::{Place, free_port};

#[test]
fn a_redis_that_refuses_or_forgets_is_a_mistake_in_the_configuration_and_one_that_is_away_is_not() {
    let evicting = Redis::start_with(&["--maxmemory-policy", "allkeys-lru"]).unwrap();
    let cluster = Redis::start_with(&["--cluster-enabled", "yes"]).unwrap();
    let redis = Redis::start().unwrap();
    let replica = Redis::start_with(&["--replicaof", "127.0.0.1", &redis.port().to_string()]).unwrap();
    let place = Place::new();
    for (url, code, part) in [
        (format!("redis://nobody:S3CRET@127.0.0.1:{}", redis.port()), 78, "refuses the user or the password"),
        (format!("redis://:S3CRET@127.0.0.1:{}", redis.port()), 78, "refuses the user or the password"),
        (evicting.url(), 78, "allkeys-lru"),
        (cluster.url(), 78, "node of a cluster"),
        (replica.url(), 78, "is a replica"),
        ("redis://127.0.0.1:99999".to_owned(), 78, "the Redis URL cannot be used"),
        (format!("redis://S3CRET@127.0.0.1:{}", free_port()), 5, "no Redis answers at redis://***@127.0.0.1"),
    ] {
        place.write("nightforge.toml", &format!("data = \"data\"\nredis_url = \"{url}\"\n"));
        let run = place.run(&["scheduler"]);
        assert_eq!(run.code, code, "{url}: {}", run.err);
        assert!(run.err.contains(part) && !run.err.contains("S3CRET"), "{url}: {}", run.err);
    }
}
