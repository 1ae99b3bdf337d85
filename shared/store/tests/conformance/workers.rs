//! Live processes, their endpoints and their jobs.

use nightforge_domain::{BootId, Millis};
use nightforge_store::{EndpointReport, serves};

use crate::bed::on_every_database;
use crate::work::{model, new_task};

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn report(boot: &BootId, url: &str, state: &str) -> EndpointReport {
    EndpointReport {
        boot: boot.clone(),
        url: url.to_owned(),
        model: model(),
        gpu: Some("0".to_owned()),
        slots: 2,
        server: None,
        state: state.to_owned(),
        message: None,
        context_tokens: None,
    }
}

#[tokio::test]
async fn a_worker_is_shown_with_its_endpoints_and_its_jobs() {
    on_every_database(async |bed| {
        let (_, claim, boot) = bed.claimed().await;
        let other = bed.process().await;
        let begun = Millis(bed.now());
        let loading = EndpointReport {
            server: Some("llama.cpp".to_owned()),
            message: Some("a\0b".to_owned()),
            context_tokens: Some(8_192),
            ..report(&boot, "http://h:1/v1", "loading")
        };
        bed.store.report_endpoint(&loading).await.unwrap();
        bed.store.report_endpoint(&report(&boot, "http://h:2/v1", "ready")).await.unwrap();
        bed.pass(70);
        let workers = bed.store.workers().await.unwrap();
        assert_eq!(workers.len(), 2);
        let worker = workers.iter().find(|worker| worker.boot == boot).unwrap();
        assert_eq!(
            (worker.role.as_str(), worker.host.as_str(), worker.version.as_str()),
            ("worker", "bench", "0")
        );
        assert_eq!((worker.started_at, worker.heartbeat_age_ms, worker.slots), (begun, 70, 1));
        let [first, second] = worker.endpoints.as_slice() else { panic!("{worker:?}") };
        assert_eq!((first.url.as_str(), second.url.as_str()), ("http://h:1/v1", "http://h:2/v1"));
        assert_eq!((&first.model, first.gpu.as_deref(), first.slots), (&model(), Some("0"), 2));
        assert_eq!((first.server.as_deref(), first.state.as_str()), (Some("llama.cpp"), "loading"));
        assert_eq!((first.message.as_deref(), first.context_tokens), (Some("a\u{fffd}b"), Some(8_192)));
        assert_eq!((first.since, first.seen_at), (begun, begun));
        assert_eq!((second.server.as_deref(), second.context_tokens), (None, None));
        let [job] = worker.running.as_slice() else { panic!("{worker:?}") };
        assert_eq!((&job.job, job.kind.as_str(), job.model.as_str()), (&claim.job, "initialize", "m"));
        assert_eq!(job.claimed_at, Some(begun));
        let idle = workers.iter().find(|worker| worker.boot == other).unwrap();
        assert!(idle.endpoints.is_empty() && idle.running.is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_beginning_of_a_state_stays_while_the_state_does() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let seen = async |state: &str| {
            bed.pass(10);
            bed.store.report_endpoint(&report(&boot, "http://h/v1", state)).await.unwrap();
            let endpoint = bed.store.workers().await.unwrap().remove(0).endpoints.remove(0);
            assert_eq!((endpoint.state.as_str(), endpoint.seen_at), (state, Millis(bed.now())));
            bed.now() - endpoint.since.0
        };
        assert_eq!(seen("loading").await, 0);
        assert_eq!(seen("loading").await, 10);
        assert_eq!(seen("loading").await, 20);
        assert_eq!(seen("ready").await, 0);
        assert_eq!(seen("ready").await, 10);
    })
    .await;
}

#[tokio::test]
async fn two_models_of_one_server_are_two_endpoints() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        bed.store.report_endpoint(&report(&boot, "http://h/v1", "ready")).await.unwrap();
        let small =
            EndpointReport { model: "small".parse().unwrap(), ..report(&boot, "http://h/v1", "loading") };
        bed.store.report_endpoint(&small).await.unwrap();
        let endpoints = bed.store.workers().await.unwrap().remove(0).endpoints;
        let shown: Vec<_> = endpoints.iter().map(|e| (e.model.as_str(), e.state.as_str())).collect();
        assert_eq!(shown, [("m", "ready"), ("small", "loading")]);
    })
    .await;
}

#[tokio::test]
async fn only_the_living_are_shown() {
    on_every_database(async |bed| {
        let (gone, silent, stranger) =
            (bed.process().await, bed.process().await, nightforge_store::fresh_boot_id());
        bed.store.report_endpoint(&report(&stranger, "http://h/v1", "ready")).await.unwrap();
        assert!(bed.rows("SELECT url FROM endpoints").await.is_empty(), "it has not announced itself");
        bed.store.mark_gone(&gone).await.unwrap();
        bed.pass(60_000);
        let live = bed.store.workers().await.unwrap();
        assert_eq!(live.iter().map(|worker| &worker.boot).collect::<Vec<_>>(), [&silent]);
        bed.pass(1);
        assert!(bed.store.workers().await.unwrap().is_empty(), "also where no leader judges");
        bed.store.heartbeat(&silent).await.unwrap();
        assert_eq!(bed.store.workers().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_is_gone_for_long_is_forgotten_in_batches() {
    on_every_database(async |bed| {
        let (_, claim, holder) = bed.claimed().await;
        let mut boots = Vec::new();
        for _ in 0..3 {
            let boot = bed.process().await;
            bed.store.report_endpoint(&report(&boot, "http://h/v1", "ready")).await.unwrap();
            boots.push(boot);
        }
        for boot in boots.iter().chain([&holder]) {
            bed.store.mark_gone(boot).await.unwrap();
        }
        let living = bed.process().await;
        bed.pass(7 * DAY);
        assert_eq!(bed.store.forget_gone(7 * DAY, 10).await.unwrap(), 0, "not over seven days yet");
        bed.pass(1);
        assert_eq!(bed.store.forget_gone(7 * DAY, 2).await.unwrap(), 2);
        assert_eq!(bed.store.forget_gone(7 * DAY, 2).await.unwrap(), 1);
        assert_eq!(bed.store.forget_gone(7 * DAY, 2).await.unwrap(), 0);
        assert!(bed.rows("SELECT url FROM endpoints").await.is_empty());
        // One lives, however silent; the other's death is still to be judged.
        let kept = bed.rows("SELECT boot_id FROM processes ORDER BY gone").await;
        assert_eq!(kept, [living.to_string(), holder.to_string()]);
        let lease = nightforge_store::ExpiredLease { job: claim.job, fence: claim.fence };
        bed.store.sweep_lease(&lease).await.unwrap().unwrap();
        assert_eq!(bed.store.forget_gone(7 * DAY, 2).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_process_that_comes_back_is_not_forgotten() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        bed.store.mark_gone(&boot).await.unwrap();
        bed.pass(8 * DAY);
        bed.store.heartbeat(&boot).await.unwrap();
        assert_eq!(bed.store.forget_gone(7 * DAY, 10).await.unwrap(), 0);
        bed.started(&new_task()).await;
        assert!(bed.claim(&boot).await.is_some());
    })
    .await;
}

#[test]
fn an_endpoint_takes_jobs_while_it_is_ready_busy_or_degraded() {
    let states = [
        "unreachable",
        "alive",
        "cold",
        "loading",
        "wrong_model",
        "context_too_small",
        "ready",
        "busy",
        "degraded",
    ];
    let serving: Vec<_> = states.into_iter().filter(|state| serves(state)).collect();
    assert_eq!(serving, ["ready", "busy", "degraded"]);
}
