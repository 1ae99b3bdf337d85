//! The protocol once more, in memory and without any database: what a history of operations must lead to.

use std::collections::BTreeMap;

use nightforge_domain::build::{ReportFacts, Spent};
use nightforge_domain::state::{Context, TaskState, Transition, next};
use nightforge_domain::{Fence, Input, JobNo, JobResult, JobSpec, JobState, Limits, Millis, NewTask, TaskId};
use nightforge_store::Ended;

use crate::work::LEASE;

/// Deaths in a row without a new step that make a dead letter.
const MAX_DEATHS: u32 = 3;

/// A job as it must stand in the database.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    pub(crate) spec: JobSpec,
    pub(crate) state: JobState,
    pub(crate) fence: i64,
    pub(crate) lease_until: Option<i64>,
    pub(crate) steps: u32,
    pub(crate) faults: u32,
    pub(crate) deaths: u32,
    pub(crate) infra_failures: u32,
    pub(crate) run_after: i64,
    boot: Option<usize>,
    progress: bool,
    /// The fence under which each step was recorded.
    recorders: Vec<i64>,
    created_at: i64,
}

/// A task as it must stand in the database.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) state: TaskState,
    pub(crate) inputs: Vec<Input>,
    pub(crate) consumed: usize,
    pub(crate) events: Vec<String>,
    pub(crate) jobs: BTreeMap<JobNo, Job>,
    id: TaskId,
    owner: String,
    limits: Limits,
    paused: bool,
    deadline: Option<Millis>,
    due_at: Option<i64>,
}

/// A claim: task, job, fence, and the process that made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    pub(crate) task: usize,
    pub(crate) job: JobNo,
    pub(crate) fence: Fence,
    pub(crate) boot: usize,
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    pub(crate) now: i64,
    pub(crate) tasks: Vec<Task>,
    gone: Vec<bool>,
    turns: BTreeMap<String, i64>,
}

impl Reference {
    pub(crate) fn new(now: i64, processes: usize) -> Self {
        Self { now, gone: vec![false; processes], ..Self::default() }
    }

    pub(crate) fn submit(&mut self, id: TaskId, new: &NewTask) {
        self.tasks.push(Task {
            state: TaskState::new(new.kind, new.approve),
            inputs: vec![Input::Submitted],
            consumed: 0,
            events: vec!["task-submitted".to_owned()],
            jobs: BTreeMap::new(),
            id,
            owner: new.owner.clone(),
            limits: new.limits.clone(),
            paused: false,
            deadline: new.deadline,
            due_at: new.deadline.map(|at| at.0),
        });
    }

    /// One transition; false when no input waits.
    pub(crate) fn advance(&mut self, task: usize) -> bool {
        let now = self.now;
        let task = &mut self.tasks[task];
        let Some(input) = task.inputs.get(task.consumed).cloned() else { return false };
        let transition = task.answer(&input, now);
        task.consumed += 1;
        task.events.extend(transition.events.iter().map(nightforge_domain::Event::type_name));
        for new in &transition.jobs {
            task.jobs.insert(new.no, Job::ready(new.spec.clone(), now));
        }
        for no in &transition.revive {
            let job = task.jobs.get_mut(no).unwrap();
            assert!(matches!(job.state, JobState::Dead | JobState::Failed | JobState::Cancelled));
            let fresh = Job::ready(job.spec.clone(), now);
            let recorders = std::mem::take(&mut job.recorders);
            *job = Job {
                fence: job.fence + 1,
                steps: job.steps,
                recorders,
                created_at: job.created_at,
                ..fresh
            };
        }
        task.state = transition.state;
        if transition.stop_jobs {
            let ready: Vec<JobNo> =
                task.jobs.iter().filter(|(_, job)| job.state == JobState::Ready).map(|(no, _)| *no).collect();
            for no in ready {
                task.jobs.get_mut(&no).unwrap().state = JobState::Cancelled;
                task.ended(Input::JobCancelled { job: no }, &["job-cancelled"]);
            }
        }
        true
    }

    pub(crate) fn claim(&mut self, boot: usize) -> Option<Claim> {
        if self.gone[boot] {
            return None;
        }
        let mut ready: Vec<(i64, i64, &TaskId, JobNo, usize)> = Vec::new();
        for (place, task) in self.tasks.iter().enumerate() {
            let turn = self.turns.get(&task.owner).copied().unwrap_or(0);
            for (no, job) in &task.jobs {
                let open = !task.paused && !task.state.is_stopping();
                if open && job.state == JobState::Ready && job.run_after <= self.now {
                    ready.push((turn, job.created_at, &task.id, *no, place));
                }
            }
        }
        let (_, _, _, no, place) = ready.into_iter().min()?;
        let last = self.turns.values().max().copied().unwrap_or(0);
        let task = &mut self.tasks[place];
        self.turns.insert(task.owner.clone(), if last < self.now { self.now } else { last + 1 });
        let job = task.jobs.get_mut(&no).unwrap();
        job.state = JobState::Running;
        job.fence += 1;
        job.lease_until = Some(self.now + LEASE);
        job.boot = Some(boot);
        job.progress = false;
        task.events.push("job-claimed".to_owned());
        Some(Claim { task: place, job: no, fence: Fence(job.fence), boot })
    }

    /// The task and its job, if the claim still holds it.
    fn held(&mut self, claim: Claim) -> Option<(&mut Task, Job)> {
        let task = &mut self.tasks[claim.task];
        let job = task.jobs[&claim.job].clone();
        (job.state == JobState::Running && job.fence == claim.fence.0).then_some((task, job))
    }

    pub(crate) fn record_step(&mut self, claim: Claim, ordinal: u32) -> bool {
        let Some((task, job)) = self.held(claim) else { return false };
        if job.steps != ordinal {
            // A step that this claim recorded last may be recorded again: the first answer may have been lost.
            return job.steps == ordinal + 1 && job.recorders.last() == Some(&claim.fence.0);
        }
        let job = task.jobs.get_mut(&claim.job).unwrap();
        (job.steps, job.progress, job.deaths, job.infra_failures) = (ordinal + 1, true, 0, 0);
        job.recorders.push(claim.fence.0);
        task.events.push("tool-called".to_owned());
        true
    }

    pub(crate) fn cut_journal(&mut self, claim: Claim, from: u32) -> bool {
        let Some((task, job)) = self.held(claim) else { return false };
        if job.steps < from {
            return false;
        }
        let job = task.jobs.get_mut(&claim.job).unwrap();
        job.steps = from;
        job.recorders.truncate(from as usize);
        task.events.push("journal-cut".to_owned());
        true
    }

    pub(crate) fn finish(&mut self, claim: Claim, result: &JobResult) -> bool {
        let now = self.now;
        let Some((task, job)) = self.held(claim) else { return false };
        task.jobs.insert(claim.job, Job { faults: 0, infra_failures: 0, ..job.left(JobState::Done, now) });
        task.ended(Input::JobDone { job: claim.job, result: result.clone() }, &["job-done"]);
        true
    }

    pub(crate) fn hand_back(&mut self, claim: Claim, delay: i64, infrastructure: bool) -> Option<Ended> {
        let now = self.now;
        let (task, job) = self.held(claim)?;
        if task.state.is_stopping() {
            return Some(task.cancel(claim.job, &job, now));
        }
        let infra_failures = job.infra_failures + u32::from(infrastructure);
        task.jobs.insert(claim.job, Job { infra_failures, ..job.left(JobState::Ready, now + delay) });
        task.events.push("job-handed-back".to_owned());
        Some(Ended::Ready)
    }

    pub(crate) fn fault(&mut self, claim: Claim, failed: Input, max_retries: u32) -> Option<Ended> {
        let now = self.now;
        let (task, job) = self.held(claim)?;
        if task.state.is_stopping() {
            return Some(task.cancel(claim.job, &job, now));
        }
        let faults = job.faults + 1;
        let used_up = faults > max_retries;
        let state = if used_up { JobState::Failed } else { JobState::Ready };
        task.jobs.insert(claim.job, Job { faults, infra_failures: 0, ..job.left(state, now) });
        task.events.push("job-fault".to_owned());
        if used_up {
            task.ended(failed, &["job-failed"]);
            return Some(Ended::Failed);
        }
        Some(Ended::Ready)
    }

    pub(crate) fn bury(&mut self, claim: Claim, died: Input) -> Option<Ended> {
        let now = self.now;
        let (task, job) = self.held(claim)?;
        if task.state.is_stopping() {
            return Some(task.cancel(claim.job, &job, now));
        }
        task.jobs.insert(claim.job, job.left(JobState::Dead, now));
        task.ended(died, &["job-died"]);
        Some(Ended::Dead)
    }

    pub(crate) fn end_cancelled(&mut self, claim: Claim) -> bool {
        let now = self.now;
        let Some((task, job)) = self.held(claim) else { return false };
        if !task.state.is_stopping() {
            return false;
        }
        task.cancel(claim.job, &job, now);
        true
    }

    pub(crate) fn renew(&mut self, claim: Claim) -> bool {
        let now = self.now;
        let Some((task, _)) = self.held(claim) else { return false };
        task.jobs.get_mut(&claim.job).unwrap().lease_until = Some(now + LEASE);
        true
    }

    /// Sweeps a claim, if its lease is over or its process gone.
    pub(crate) fn sweep(&mut self, claim: Claim) -> Option<Ended> {
        let (now, gone) = (self.now, self.gone[claim.boot]);
        let (task, job) = self.held(claim)?;
        if !gone && job.lease_until.is_none_or(|until| until >= now) {
            return None;
        }
        task.events.push("lease-expired".to_owned());
        if task.state.is_stopping() {
            return Some(task.cancel(claim.job, &job, now));
        }
        let deaths = job.deaths + u32::from(gone && !job.progress);
        let dead = deaths >= MAX_DEATHS;
        let state = if dead { JobState::Dead } else { JobState::Ready };
        task.jobs.insert(claim.job, Job { deaths, ..job.left(state, now) });
        if dead {
            let reason = format!("its worker died {MAX_DEATHS} times in a row without a new step");
            task.ended(Input::JobDied { job: claim.job, reason }, &["job-died"]);
            return Some(Ended::Dead);
        }
        Some(Ended::Ready)
    }

    pub(crate) fn set_gone(&mut self, boot: usize, gone: bool) {
        self.gone[boot] = gone;
    }

    pub(crate) fn ask(&mut self, task: usize, input: Input) {
        self.tasks[task].inputs.push(input);
    }

    pub(crate) fn set_paused(&mut self, task: usize, paused: bool) -> Option<bool> {
        let task = &mut self.tasks[task];
        let changed = task.paused != paused;
        if task.state.status().is_final() {
            return None;
        }
        task.paused = paused;
        if changed {
            task.events.push("pause-changed".to_owned());
        }
        Some(changed)
    }

    /// With a retry, also of a task that is over.
    pub(crate) fn resume(&mut self, task: usize) {
        let task = &mut self.tasks[task];
        if std::mem::take(&mut task.paused) {
            task.events.push("pause-changed".to_owned());
        }
    }

    pub(crate) fn pass_deadlines(&mut self) {
        for task in &mut self.tasks {
            if task.due_at.is_some_and(|due| due <= self.now) {
                task.due_at = None;
                if !task.state.status().is_final() {
                    task.inputs.push(Input::DeadlinePassed);
                }
            }
        }
    }
}

impl Task {
    fn answer(&self, input: &Input, now: i64) -> Transition {
        let facts = ReportFacts::new(&self.id, "", Millis(0), Spent::default());
        let context = Context { limits: &self.limits, now: Millis(now), deadline: self.deadline, facts };
        next(&self.state, input, &context)
            .unwrap_or_else(|illegal| Transition::consuming_illegal(&self.state, &illegal))
    }

    fn ended(&mut self, input: Input, events: &[&str]) {
        self.events.extend(events.iter().map(|event| (*event).to_owned()));
        self.inputs.push(input);
    }

    fn cancel(&mut self, no: JobNo, job: &Job, now: i64) -> Ended {
        self.jobs
            .insert(no, Job { faults: 0, infra_failures: 0, ..job.clone().left(JobState::Cancelled, now) });
        self.ended(Input::JobCancelled { job: no }, &["job-cancelled"]);
        Ended::Cancelled
    }
}

impl Job {
    fn ready(spec: JobSpec, now: i64) -> Self {
        Self {
            spec,
            state: JobState::Ready,
            fence: 0,
            lease_until: None,
            steps: 0,
            faults: 0,
            deaths: 0,
            infra_failures: 0,
            run_after: now,
            boot: None,
            progress: false,
            recorders: Vec::new(),
            created_at: now,
        }
    }

    /// No longer held by anybody.
    fn left(self, state: JobState, run_after: i64) -> Self {
        Self { state, run_after, lease_until: None, boot: None, ..self }
    }
}
