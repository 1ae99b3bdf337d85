//! Agent runs as rows: what they saw, what they gave, what they cost.

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{Agent, Event, JobState, Usage};
use nightforge_store::{Claim, HandBack, LedgerEntry, Subject, fresh_call_id};
use serde_json::json;

use crate::bed::on_every_database;
use crate::script::{named_step, scripted};
use crate::work::{model, new_research, new_task};

fn call(claim: &Claim, tokens: Option<u64>) -> LedgerEntry {
    LedgerEntry {
        id: fresh_call_id(),
        job: claim.job.clone(),
        fence: claim.fence,
        agent: claim.spec.agent().to_string(),
        model: "m".to_owned(),
        endpoint: "http://gpu".to_owned(),
        outcome: "ok".to_owned(),
        usage: Usage {
            prompt_tokens: tokens,
            completion_tokens: tokens.map(|n| n / 2),
            cached_tokens: tokens.map(|n| n / 4),
        },
        duration_ms: 40,
    }
}

#[tokio::test]
async fn a_research_task_has_one_run_for_each_agent_call() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.store.submit(&new_research()).await.unwrap().task;
        bed.play_team(&task, &boot).await;
        let runs = bed.store.runs(&task).await.unwrap();
        let told: Vec<_> = runs.iter().map(|run| (run.job.0, run.agent, run.subject.clone())).collect();
        use Agent::{Critic, Manager, Researcher, Synthesizer};
        use Subject::{Iteration, Review, Subtask, Synthesis};
        assert_eq!(
            told,
            [
                (1, Manager, Iteration(1)),
                (2, Researcher, Subtask(1)),
                (3, Researcher, Subtask(2)),
                (4, Manager, Iteration(2)),
                (5, Manager, Iteration(3)),
                (6, Critic, Review(1)),
                (7, Manager, Iteration(4)),
                (8, Researcher, Subtask(3)),
                (9, Manager, Iteration(5)),
                (10, Critic, Review(2)),
                (11, Manager, Iteration(6)),
                (12, Synthesizer, Synthesis),
            ]
        );
        let jobs = bed.store.jobs(&task).await.unwrap();
        for (run, job) in runs.iter().zip(&jobs) {
            assert_eq!((run.state, &run.model, &run.error), (JobState::Done, &model(), &None));
            assert_eq!(run.input, Some(json!({ "said": format!("view of job {}", job.no) })));
            assert_eq!(run.output, Some(json!(scripted(&job.spec))));
            assert_eq!((run.claims, run.reasks, run.duration_ms), (1, 0, 7 * i64::from(job.steps)));
            assert_eq!((run.model_calls, run.usage), (0, Usage::default()));
            assert!(run.finished_at.is_some_and(|at| at > run.created_at));
        }
        assert_eq!(serde_json::to_string(&runs[1].subject).unwrap(), r#"{"subtask":1}"#);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_failed_tells_its_attempts_its_cost_and_its_last_answer() {
    on_every_database(async |bed| {
        let boot = bed.process().await;
        let task = bed.started(&new_research()).await;
        let waiting = &bed.store.runs(&task).await.unwrap()[0];
        assert_eq!((waiting.state, waiting.claims, waiting.duration_ms), (JobState::Ready, 0, 0));
        assert_eq!((&waiting.input, &waiting.output), (&None, &None));

        let claim = bed.claim(&boot).await.unwrap();
        let retry = |reasks| Event::AgentRetry { job: claim.job.no, agent: Agent::Manager, reasks };
        let record = async |claim: &Claim, ordinal, name, events: &[Event]| {
            let step = named_step(claim, ordinal, name);
            bed.store.record_step(&claim.job, claim.fence, &step, events).await.unwrap().unwrap();
        };
        record(&claim, 0, "view", &[]).await;
        record(&claim, 1, "model", &[retry(2)]).await;
        bed.store.book(&call(&claim, Some(100))).await.unwrap();
        bed.store.book(&call(&claim, None)).await.unwrap();
        let why = HandBack { reason: "server down".to_owned(), delay_ms: 0, infrastructure: true };
        bed.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
        assert_eq!(bed.store.runs(&task).await.unwrap()[0].error.as_deref(), Some("server down"));

        let again = bed.claim(&boot).await.unwrap();
        record(&again, 2, "view", &[]).await;
        record(&again, 3, "model-2", &[retry(1)]).await;
        record(&again, 4, "tool", &[]).await;
        bed.store.book(&call(&again, Some(3_000_000_000))).await.unwrap();
        let class = FaultClass::ModelOutputInvalid;
        bed.store.fault(&again.job, again.fence, class, "no JSON", 0).await.unwrap().unwrap();
        let run = bed.store.runs(&task).await.unwrap().remove(0);
        assert_eq!((run.state, run.error.as_deref()), (JobState::Failed, Some("no JSON")));
        assert_eq!(run.input, Some(json!({ "said": "view of job 1" })));
        assert_eq!(run.output, Some(json!({ "said": "model-2 of job 1" })));
        assert_eq!((run.claims, run.reasks, run.model_calls), (2, 3, 3));
        let usage = Usage {
            prompt_tokens: Some(3_000_000_100),
            completion_tokens: Some(1_500_000_050),
            cached_tokens: Some(750_000_025),
        };
        assert_eq!((run.usage, run.duration_ms), (usage, 120), "model calls took longer than the steps");
    })
    .await;
}

#[tokio::test]
async fn a_build_has_runs_as_well() {
    on_every_database(async |bed| {
        let (task, claim, _) = bed.claimed().await;
        bed.step(&claim, 0).await;
        let other = bed.started(&new_task()).await;
        let runs = bed.store.runs(&task).await.unwrap();
        assert_eq!(runs.len(), 1);
        assert_eq!((runs[0].agent, &runs[0].subject), (Agent::Initializer, &Subject::FeatureList));
        assert_eq!((runs[0].state, runs[0].claims), (JobState::Running, 1));
        assert_eq!(runs[0].output, Some(json!({ "said": "step 0" })));
        assert_eq!(bed.store.runs(&other).await.unwrap()[0].claims, 0);
    })
    .await;
}
