//! Random histories: the store and the reference are told the same, give the same answers and end up the same.

use nightforge_domain::fault::FaultClass;
use nightforge_domain::{Input, JobNo, JobState, Millis, SessionOutcome, TaskId};
use nightforge_store::{ExpiredLease, HandBack, Renewal};
use proptest::prelude::*;

use crate::bed::{Bed, on_every_database};
use crate::fenced::told;
use crate::reference::{Claim, Reference};
use crate::work::{LEASE, answer, good_result, job, new_task, session_report, step};

const TASKS: usize = 2;
const PROCESSES: usize = 3;

/// One operation. Claims are named by their place among all that were ever made, so most of them are over.
#[derive(Debug, Clone)]
enum Op {
    Advance(usize),
    Claim(usize),
    Step(usize, i8),
    Cut(usize, u32),
    Finish(usize, bool),
    HandBack(usize, i64, bool),
    Fault(usize, u32),
    Bury(usize),
    EndCancelled(usize),
    Renew(usize, usize),
    Sweep(usize),
    Gone(usize),
    Heartbeat(usize),
    Pass(i64),
    Deadlines,
    Cancel(usize),
    Retry(usize, Option<u32>),
    Pause(usize, bool),
}

fn op() -> impl Strategy<Value = Op> {
    // The latest claim is the likeliest one.
    let claim = || prop_oneof![3 => Just(0usize), 1 => 0..6usize];
    let (task, process) = (|| 0..TASKS, || 0..PROCESSES);
    prop_oneof![
        12 => task().prop_map(Op::Advance),
        10 => process().prop_map(Op::Claim),
        8 => (claim(), prop_oneof![4 => Just(0i8), 1 => -1..2i8]).prop_map(|(claim, off)| Op::Step(claim, off)),
        1 => (claim(), 0..3u32).prop_map(|(claim, from)| Op::Cut(claim, from)),
        8 => (claim(), any::<bool>()).prop_map(|(claim, good)| Op::Finish(claim, good)),
        3 => (claim(), prop::sample::select(vec![0, 5_000]), any::<bool>())
            .prop_map(|(claim, delay, infrastructure)| Op::HandBack(claim, delay, infrastructure)),
        3 => (claim(), 0..3u32).prop_map(|(claim, retries)| Op::Fault(claim, retries)),
        1 => claim().prop_map(Op::Bury),
        3 => claim().prop_map(Op::EndCancelled),
        3 => (claim(), process()).prop_map(|(claim, process)| Op::Renew(claim, process)),
        6 => claim().prop_map(Op::Sweep),
        4 => process().prop_map(Op::Gone),
        3 => process().prop_map(Op::Heartbeat),
        4 => prop::sample::select(vec![1, 5_000, LEASE + 1]).prop_map(Op::Pass),
        1 => Just(Op::Deadlines),
        2 => task().prop_map(Op::Cancel),
        4 => (task(), prop::option::of(1..4u32)).prop_map(|(task, from)| Op::Retry(task, from)),
        2 => (task(), any::<bool>()).prop_map(|(task, paused)| Op::Pause(task, paused)),
    ]
}

/// The store under test, the reference, and what both call the same.
struct Pair<'a> {
    bed: &'a Bed,
    reference: Reference,
    tasks: Vec<TaskId>,
    boots: Vec<nightforge_domain::BootId>,
    claims: Vec<Claim>,
}

impl<'a> Pair<'a> {
    async fn new(bed: &'a Bed) -> Self {
        let mut pair = Self {
            bed,
            reference: Reference::new(bed.now(), PROCESSES),
            tasks: Vec::new(),
            boots: Vec::new(),
            claims: Vec::new(),
        };
        for owner in ["ada", "bob"] {
            let mut new = new_task();
            new.owner = owner.to_owned();
            new.limits.max_attempts = 2;
            new.deadline = (owner == "bob").then(|| Millis(bed.now() + 2 * LEASE));
            let task = bed.store.submit(&new).await.unwrap().task;
            pair.reference.submit(task.clone(), &new);
            pair.tasks.push(task);
        }
        for _ in 0..PROCESSES {
            pair.boots.push(bed.process().await);
        }
        pair
    }

    async fn play(&mut self, op: &Op) {
        let store = &self.bed.store;
        let latest = |back: usize| self.claims.iter().rev().nth(back).copied();
        match *op {
            Op::Advance(task) => {
                let advanced = match store.pending(&self.tasks[task]).await.unwrap() {
                    None => false,
                    Some(pending) => {
                        let transition = answer(&pending, Millis(self.bed.now()));
                        store.commit(&pending, &transition).await.unwrap().is_some()
                    }
                };
                assert_eq!(advanced, self.reference.advance(task));
            }
            Op::Claim(process) => {
                let found = self.bed.claim(&self.boots[process]).await;
                let expected = self.reference.claim(process);
                let found = found.map(|claim| {
                    let task = self.tasks.iter().position(|task| *task == claim.job.task).unwrap();
                    Claim { task, job: claim.job.no, fence: claim.fence, boot: process }
                });
                assert_eq!(found, expected);
                self.claims.extend(found);
            }
            Op::Gone(process) => {
                store.mark_gone(&self.boots[process]).await.unwrap();
                self.reference.set_gone(process, true);
            }
            Op::Heartbeat(process) => {
                store.heartbeat(&self.boots[process]).await.unwrap();
                self.reference.set_gone(process, false);
            }
            Op::Pass(ms) => {
                self.bed.pass(ms);
                self.reference.now += ms;
            }
            Op::Deadlines => {
                store.pass_deadlines(10).await.unwrap();
                self.reference.pass_deadlines();
            }
            Op::Cancel(task) => {
                let accepted = store.ask_cancel(&self.tasks[task], "ada").await.is_ok();
                assert_eq!(accepted, !self.reference.tasks[task].state.status().is_final());
                if accepted {
                    self.reference.ask(task, Input::Cancel { by: "ada".to_owned() });
                }
            }
            Op::Retry(task, from) => {
                let asked = store.ask_retry(&self.tasks[task], from.map(JobNo), "ada").await;
                let allowed = self.reference.tasks[task].state.may_retry(from.map(JobNo));
                assert_eq!(asked.is_ok(), allowed.is_ok());
                if asked.is_ok() {
                    let by = "ada".to_owned();
                    self.reference.resume(task);
                    self.reference.ask(task, Input::Retry { by, from: from.map(JobNo) });
                }
            }
            Op::Pause(task, paused) => {
                let changed = store.set_paused(&self.tasks[task], paused, "ada").await.ok();
                assert_eq!(changed, self.reference.set_paused(task, paused));
            }
            Op::Step(back, _)
            | Op::Cut(back, _)
            | Op::Finish(back, _)
            | Op::HandBack(back, _, _)
            | Op::Fault(back, _)
            | Op::Bury(back)
            | Op::EndCancelled(back)
            | Op::Renew(back, _)
            | Op::Sweep(back) => {
                if let Some(claim) = latest(back) {
                    self.play_claim(op, claim).await;
                }
            }
        }
    }

    async fn play_claim(&mut self, op: &Op, claim: Claim) {
        let (store, reference) = (&self.bed.store, &mut self.reference);
        let (job, fence) = (job(&self.tasks[claim.task], claim.job.0), claim.fence);
        let known = reference.tasks[claim.task].jobs[&claim.job].clone();
        let reason = || "for a reason".to_owned();
        match *op {
            Op::Step(_, off) => {
                let ordinal = known.steps.saturating_add_signed(i32::from(off));
                let recorded = store.record_step(&job, fence, &step(ordinal), &[told()]).await.unwrap();
                assert_eq!(recorded.is_ok(), reference.record_step(claim, ordinal));
            }
            Op::Cut(_, from) => {
                let cut = store.cut_journal(&job, fence, from, &reason()).await.unwrap();
                assert_eq!(cut.is_ok(), reference.cut_journal(claim, from));
            }
            Op::Finish(_, good) => {
                let result = match &known.spec {
                    nightforge_domain::JobSpec::Code { feature, session, .. } if !good => {
                        session_report(feature, *session, SessionOutcome::Failed { reason: reason() })
                    }
                    spec => good_result(spec),
                };
                let finished = store.finish(&job, fence, &result).await.unwrap();
                assert_eq!(finished.is_ok(), reference.finish(claim, &result));
            }
            Op::HandBack(_, delay_ms, infrastructure) => {
                let why = HandBack { reason: reason(), delay_ms, infrastructure };
                let ended = store.hand_back(&job, fence, &why).await.unwrap();
                assert_eq!(ended.ok(), reference.hand_back(claim, delay_ms, infrastructure));
            }
            Op::Fault(_, max_retries) => {
                let class = FaultClass::Truncated;
                let ended = store.fault(&job, fence, class, &reason(), max_retries).await.unwrap();
                let failed = Input::JobFailed { job: claim.job, class, reason: reason(), model_ms: 0 };
                assert_eq!(ended.ok(), reference.fault(claim, failed, max_retries));
            }
            Op::Bury(_) => {
                let ended = store.bury(&job, fence, &reason()).await.unwrap();
                let died = Input::JobDied { job: claim.job, reason: reason() };
                assert_eq!(ended.ok(), reference.bury(claim, died));
            }
            Op::EndCancelled(_) => {
                let ended = store.end_cancelled(&job, fence).await.unwrap();
                assert_eq!(ended.is_ok(), reference.end_cancelled(claim));
            }
            Op::Renew(_, process) => {
                let renewed = store.renew(&self.boots[process], &[(job, fence)], LEASE).await.unwrap();
                let held = process == claim.boot && reference.renew(claim);
                assert_eq!(renewed != [Renewal::Lost], held);
            }
            Op::Sweep(_) => {
                let swept = store.sweep_lease(&ExpiredLease { job, fence }).await.unwrap();
                assert_eq!(swept.map(|swept| swept.ended), reference.sweep(claim));
            }
            _ => unreachable!("not about a claim"),
        }
    }

    /// The tables say what the reference says.
    async fn compare(&self) {
        for (task, expected) in self.tasks.iter().zip(&self.reference.tasks) {
            let row = self.bed.store.task(task).await.unwrap();
            assert_eq!(row.state, expected.state);
            assert_eq!(row.seq, expected.consumed as i64);
            assert_eq!((row.status, row.stopping), (expected.state.status(), expected.state.is_stopping()));
            assert_eq!(row.status.is_final(), row.finished_at.is_some());
            assert_eq!(self.bed.events(task).await, expected.events);
            let jobs = self.bed.store.jobs(task).await.unwrap();
            assert_eq!(jobs.len(), expected.jobs.len());
            for row in jobs {
                let job = &expected.jobs[&row.no];
                let found = (row.state, row.fence.0, row.lease_until.map(|at| at.0), row.steps, row.faults);
                assert_eq!(found, (job.state, job.fence, job.lease_until, job.steps, job.faults));
                let found = (row.deaths, row.infra_failures, &row.spec);
                assert_eq!(found, (job.deaths, job.infra_failures, &job.spec));
                if row.state == JobState::Ready {
                    assert_eq!(row.run_after.0, job.run_after);
                }
            }
            let sql = format!("SELECT body FROM inputs WHERE task_id = '{task}' ORDER BY number");
            let bodies = self.bed.rows(&sql).await;
            let inputs: Vec<Input> = bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
            assert_eq!(inputs, expected.inputs);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_store_does_what_the_reference_does(history in prop::collection::vec(op(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(on_every_database(async |bed| {
            let mut pair = Pair::new(bed).await;
            for op in &history {
                pair.play(op).await;
            }
            pair.compare().await;
        }));
    }
}
