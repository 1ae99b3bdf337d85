//! The token ledger, and what it tells of a request that hurts its server.

use nightforge_domain::build::Spent;
use nightforge_domain::{Fence, JobId, Usage};
use nightforge_store::{HandBack, LedgerEntry};

use crate::bed::on_every_database;
use crate::work::{LEASE, job, new_task};

fn call(job: &JobId, fence: Fence, tokens: Option<u64>) -> LedgerEntry {
    LedgerEntry {
        id: nightforge_store::fresh_call_id(),
        job: job.clone(),
        fence,
        agent: "coder".to_owned(),
        model: "m".to_owned(),
        endpoint: "http://gpu".to_owned(),
        outcome: "ok".to_owned(),
        usage: Usage { prompt_tokens: tokens, completion_tokens: tokens.map(|n| n / 2), cached_tokens: None },
        duration_ms: 40,
    }
}

#[tokio::test]
async fn calls_are_summed_and_unknown_tokens_are_not_zero_calls() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        assert_eq!(bed.store.spent(&task).await.unwrap(), Spent::default());
        bed.store.book(&call(&claim.job, claim.fence, Some(100))).await.unwrap();
        bed.store.book(&call(&claim.job, claim.fence, None)).await.unwrap();
        bed.store.book(&call(&claim.job, claim.fence, Some(3_000_000_000))).await.unwrap();
        let sum = Spent {
            model_calls: 3,
            prompt_tokens: 3_000_000_100,
            completion_tokens: 1_500_000_050,
            model_ms: 120,
        };
        assert_eq!(bed.store.spent(&task).await.unwrap(), sum);
        let tokens = bed.rows("SELECT prompt_tokens, cached_tokens FROM ledger ORDER BY prompt_tokens").await;
        assert!(tokens.contains(&"- | -".to_owned()), "unknown stays unknown");
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_is_over_still_books_its_calls() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        bed.pass(LEASE + 1);
        let lease = bed.store.expired_leases(1).await.unwrap().remove(0);
        bed.store.sweep_lease(&lease).await.unwrap().unwrap();
        bed.claim(&boot).await.unwrap();
        bed.store.book(&call(&claim.job, claim.fence, Some(10))).await.unwrap();
        assert_eq!(bed.store.spent(&task).await.unwrap().model_calls, 1);
    })
    .await;
}

#[tokio::test]
async fn the_endpoint_served_others_since_the_jobs_latest_failure() {
    on_every_database(async |bed| {
        let (task, claim, boot) = bed.claimed().await;
        let other = bed.started(&new_task()).await;
        let served = async || bed.store.endpoint_served_others(&claim.job, "http://gpu").await.unwrap();
        let book = async |job: JobId, outcome: &str| {
            let entry = LedgerEntry { outcome: outcome.to_owned(), ..call(&job, Fence(1), None) };
            // Its first answer may have been lost.
            bed.store.book(&entry).await.unwrap();
            bed.store.book(&entry).await.unwrap();
        };
        book(job(&other, 1), "ok").await;
        assert!(!served().await, "it has not failed");
        bed.pass(1);
        let why = HandBack { reason: "server down".to_owned(), delay_ms: 0, infrastructure: true };
        bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
        assert!(!served().await, "that was before: the server may be down for everybody");
        bed.pass(1);
        book(claim.job.clone(), "ok").await;
        book(job(&other, 1), "Stalled").await;
        assert!(!served().await, "neither its own calls nor failed ones tell anything");
        book(job(&other, 1), "ok").await;
        assert!(served().await);
        assert!(!bed.store.endpoint_served_others(&claim.job, "http://other").await.unwrap());
        bed.pass(1);
        let claim = bed.claim(&boot).await.unwrap();
        bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
        assert!(!served().await, "only what came after its latest failure counts");
        bed.pass(1);
        book(job(&task, 2), "ok").await;
        assert!(served().await);
        let claim = bed.claim(&boot).await.unwrap();
        bed.step(&claim, 0).await;
        assert!(!served().await, "a step ends the row of failures");
    })
    .await;
}
