//! What operators ask for: retry, pause, queues, workers, dead letters, and why a task waits.

use nightforge_domain::{BootId, JobId, ModelName, TaskId};
use nightforge_store::{Claim, EndpointReport, HandBack, Process, Role, fresh_boot_id};
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, Server, answer};

mod models;

const LEASE: i64 = 30_000;

impl Server {
    async fn ask(&self, path: &str) -> Answer {
        answer(self.request(Method::POST, path)).await
    }

    /// A process that has announced itself.
    async fn process(&self, role: Role, model: Option<&str>) -> BootId {
        let process = Process {
            boot: fresh_boot_id(),
            host: "bench".to_owned(),
            role,
            version: "0".to_owned(),
            model: model.map(str::to_owned),
            endpoint: None,
            gpu: None,
            slots: 1,
        };
        self.store.announce(&process).await.unwrap();
        process.boot
    }

    async fn report(&self, boot: &BootId, model: &str, state: &str, context_tokens: Option<u64>) {
        let report = EndpointReport {
            boot: boot.clone(),
            url: "http://127.0.0.1:9/v1".to_owned(),
            model: model.parse().unwrap(),
            gpu: Some("1".to_owned()),
            slots: 1,
            server: Some("llama.cpp".to_owned()),
            state: state.to_owned(),
            message: (state != "ready")
                .then(|| "asked GET /models: no connection. Start the server".to_owned()),
            context_tokens,
        };
        self.store.report_endpoint(&report).await.unwrap();
    }

    /// Scheduler and worker in one, whose endpoint for `coder` is ready.
    async fn everything_runs(&self) -> BootId {
        let boot = self.process(Role::Embedded, None).await;
        self.report(&boot, "coder", "ready", Some(32_768)).await;
        boot
    }

    async fn started(&self) -> TaskId {
        let task = self.submit("A board").await;
        self.advance(&task).await;
        task
    }

    async fn claim(&self, boot: &BootId) -> Option<Claim> {
        let coder: ModelName = "coder".parse().unwrap();
        self.store.claim(&coder, boot, "w", LEASE).await.unwrap()
    }

    /// A task whose first job is a dead letter.
    async fn dead(&self, boot: &BootId, reason: &str) -> JobId {
        let task = self.started().await;
        let claim = self.claim(boot).await.unwrap();
        assert_eq!(claim.job.task, task);
        self.store.bury(&claim.job, claim.fence, reason).await.unwrap().unwrap();
        self.advance(&task).await;
        claim.job
    }

    /// Names of the reasons for which a task waits.
    async fn waits(&self, task: &TaskId) -> Vec<String> {
        let task = self.get(&format!("/api/tasks/{task}")).await;
        names(&task.body["waiting"], "reason")
    }
}

fn names(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_task_is_paused_and_resumed_and_says_so() {
    let server = Server::start().await;
    let boot = server.everything_runs().await;
    let task = server.started().await;
    for _ in 0..2 {
        let paused = server.ask(&format!("/api/tasks/{task}/pause")).await;
        assert_eq!((paused.status.as_u16(), &paused.body["paused"]), (200, &json!(true)), "{}", paused.text);
        assert_eq!(paused.body["paused_by"], "local");
        assert_eq!(names(&paused.body["waiting"], "reason"), ["paused"]);
    }
    assert!(server.claim(&boot).await.is_none());
    for _ in 0..2 {
        let resumed = server.ask(&format!("/api/tasks/{}/resume", &task.as_str()[..20])).await;
        assert_eq!(
            (resumed.status.as_u16(), &resumed.body["paused"]),
            (200, &json!(false)),
            "{}",
            resumed.text
        );
    }
    assert!(server.waits(&task).await.is_empty());
    assert!(server.claim(&boot).await.is_some());
    assert!(server.waits(&task).await.is_empty(), "it is at work");
}

#[tokio::test]
async fn a_task_that_is_over_is_not_resumed_and_not_shown_as_paused() {
    let server = Server::start().await;
    let task = server.started().await;
    server.ask(&format!("/api/tasks/{task}/pause")).await;
    server.ask(&format!("/api/tasks/{task}/cancel")).await;
    server.advance(&task).await;
    let shown = server.get(&format!("/api/tasks/{task}")).await;
    let paused = json!([shown.body["state"], shown.body["paused"], shown.body["paused_by"]]);
    assert_eq!(paused, json!(["cancelled", false, null]), "{}", shown.text);
    let refused = server.ask(&format!("/api/tasks/{task}/resume")).await;
    assert_eq!(refused.problem(), (409, "already-over"));
    assert!(refused.detail().contains("nothing to resume"), "{}", refused.text);
}

#[tokio::test]
async fn a_job_whose_model_server_is_away_says_so() {
    let server = Server::start().await;
    let (boot, other) = (server.everything_runs().await, server.everything_runs().await);
    let task = server.started().await;
    server.claim(&boot).await.unwrap();
    assert!(server.waits(&task).await.is_empty(), "it is at work");
    server.report(&other, "coder", "unreachable", None).await;
    assert!(server.waits(&task).await.is_empty(), "another worker's endpoint is away");
    server.report(&boot, "coder", "unreachable", None).await;
    let shown = server.get(&format!("/api/tasks/{task}")).await;
    assert_eq!(names(&shown.body["waiting"], "reason"), ["endpoint-away"], "{}", shown.text);
    let message = shown.body["waiting"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("job 1 runs") && message.contains("asked GET /models: no connection."),
        "{message}"
    );
}

#[tokio::test]
async fn a_resumed_task_is_rung_for() {
    let server = Server::start().await;
    let task = server.started().await;
    server.ask(&format!("/api/tasks/{task}/pause")).await;
    let mut tasks = server.bells.tasks();
    let mut models = server.bells.model(&"coder".parse().unwrap());
    server.ask(&format!("/api/tasks/{task}/resume")).await;
    assert_eq!(tasks.next().await, Some(task));
    assert!(models.next().await.is_some());
}

#[tokio::test]
async fn only_what_ended_early_is_retried() {
    let server = Server::start().await;
    let boot = server.everything_runs().await;
    let running = server.started().await;
    let path = |task: &TaskId| format!("/api/tasks/{task}/retry");
    let refused = server.ask(&path(&running)).await;
    assert_eq!(refused.problem(), (409, "not-retried"));
    assert!(refused.detail().contains("is running"), "{}", refused.text);
    server.ask(&format!("/api/tasks/{running}/cancel")).await;
    server.advance(&running).await;
    let refused = server.ask(&path(&running)).await;
    assert_eq!(refused.problem(), (409, "not-retried"));
    assert!(
        refused.detail().contains("cancelled") && refused.detail().contains("submit"),
        "{}",
        refused.text
    );
    let refused = server.ask(&format!("/api/tasks/{running}/pause")).await;
    assert_eq!(refused.problem(), (409, "already-over"));
    assert!(refused.detail().contains("nothing to pause"), "{}", refused.text);
    for verb in ["retry", "pause", "resume"] {
        assert_eq!(server.ask(&format!("/api/tasks/zzz/{verb}")).await.problem(), (404, "unknown-task"));
    }
    let dead = server.dead(&boot, "poison").await;
    let refused = server.post(&path(&dead.task), &json!({"from": 3})).await;
    assert_eq!(refused.problem(), (409, "not-retried"));
    assert!(refused.detail().contains("job 3 can't be retried: only job 1 can be"), "{}", refused.text);
    for (body, problem) in [
        (json!({"from": "first"}), "bad-json"),
        (json!({"from": -1}), "bad-json"),
        (json!({"job": 1}), "unknown-field"),
        (json!([1]), "bad-json"),
    ] {
        assert_eq!(server.post(&path(&dead.task), &body).await.problem(), (400, problem), "{body}");
    }
    let retried = server.post(&path(&dead.task), &json!({"from": 1})).await;
    assert_eq!(retried.status, 202, "{}", retried.text);
    server.advance(&dead.task).await;
    assert_eq!(server.claim(&boot).await.unwrap().job, dead);
}

#[tokio::test]
async fn queues_tell_their_depth_their_workers_and_who_paused_them() {
    let server = Server::start().await;
    let boot = server.everything_runs().await;
    let small = server.process(Role::Worker, Some("small")).await;
    server.report(&small, "small", "loading", None).await;
    let (paused, _) = (server.started().await, server.started().await);
    server.ask(&format!("/api/tasks/{paused}/pause")).await;
    server.submit("A third board").await;
    let queue = |page: &Answer, model: &str| {
        let models = page.body["models"].as_array().unwrap().clone();
        models.into_iter().find(|queue| queue["model"] == model).unwrap()
    };
    let page = server.get("/api/queues").await;
    let coder = queue(&page, "coder");
    let depth = json!([coder["ready"], coder["running"], coder["delayed"], coder["held"]]);
    assert_eq!(depth, json!([1, 0, 0, 1]), "{}", page.text);
    assert!(coder["oldest_ready_ms"].as_i64().unwrap() < 60_000, "{coder}");
    assert_eq!(
        json!([coder["workers_ready"], coder["workers_parked"], coder["paused"]]),
        json!([1, 0, null])
    );
    let small = queue(&page, "small");
    assert_eq!(json!([small["workers_ready"], small["workers_parked"]]), json!([0, 1]));
    let kinds = json!([
        {"kind": "build", "queued": 1, "running": 2, "paused": null},
        {"kind": "research", "queued": 0, "running": 0, "paused": null},
    ]);
    assert_eq!(page.body["kinds"], kinds);

    let answer = server.ask("/api/queues/coder/pause").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["paused"]["by"]),
        (200, &json!("local")),
        "{}",
        answer.text
    );
    assert!(server.claim(&boot).await.is_none());
    let answer = server.ask("/api/queues/coder/resume").await;
    assert_eq!((answer.status.as_u16(), &answer.body["paused"]), (200, &Value::Null), "{}", answer.text);
    let answer = server.ask("/api/queues/kinds/build/pause").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.body["paused"]["by"]),
        (200, &json!("local")),
        "{}",
        answer.text
    );
    assert!(server.claim(&boot).await.is_none());
    assert_eq!(queue(&server.get("/api/queues").await, "coder")["held"], 2);
    let answer = server.ask("/api/queues/kinds/build/resume").await;
    assert_eq!((answer.status.as_u16(), &answer.body["paused"]), (200, &Value::Null), "{}", answer.text);
    assert!(server.claim(&boot).await.is_some());
}

#[tokio::test]
async fn a_queue_that_nobody_knows_is_not_paused() {
    let server = Server::start().await;
    for path in ["/api/queues/codr/pause", "/api/queues/codr/resume"] {
        let refused = server.ask(path).await;
        assert_eq!(refused.problem(), (404, "unknown-queue"));
        assert!(refused.detail().contains("`codr`; known: coder, small"), "{}", refused.text);
    }
    let refused = server.ask("/api/queues/kinds/dream/pause").await;
    assert_eq!(refused.problem(), (404, "unknown-queue"));
    assert!(refused.detail().contains("known: build"), "{}", refused.text);
    assert!(server.store.pauses().await.unwrap().is_empty());
    // What is paused can be resumed, also when its last worker has left; and names may hold a slash.
    let boot = server.process(Role::Worker, Some("qwen/qwen3:30b")).await;
    assert_eq!(server.ask("/api/queues/qwen%2Fqwen3:30b/pause").await.status, 200);
    server.store.mark_gone(&boot).await.unwrap();
    assert_eq!(server.ask("/api/queues/qwen%2Fqwen3:30b/resume").await.status, 200);
    assert_eq!(server.ask("/api/queues/qwen%2Fqwen3:30b/resume").await.problem(), (404, "unknown-queue"));
}

#[tokio::test]
async fn workers_are_shown_with_what_they_see_and_do() {
    let server = Server::start().await;
    assert_eq!(server.get("/api/workers").await.body, json!({"workers": []}));
    let boot = server.everything_runs().await;
    let task = server.started().await;
    server.claim(&boot).await.unwrap();
    let page = server.get("/api/workers").await;
    let worker = &page.body["workers"][0];
    assert_eq!(json!([worker["boot"], worker["role"], worker["host"]]), json!([boot, "embedded", "bench"]));
    assert!(worker["heartbeat_age_ms"].as_i64().unwrap() < 60_000);
    let endpoint = &worker["endpoints"][0];
    let seen = json!([endpoint["model"], endpoint["state"], endpoint["serves"], endpoint["gpu"]]);
    assert_eq!(seen, json!(["coder", "ready", true, "1"]), "{}", page.text);
    assert_eq!(json!([endpoint["context_tokens"], endpoint["server"]]), json!([32_768, "llama.cpp"]));
    let running = &worker["running"][0];
    assert_eq!(json!([running["task"], running["job"], running["kind"]]), json!([task, 1, "initialize"]));
}

#[tokio::test]
async fn dead_letters_are_grouped_retried_and_dismissed() {
    let server = Server::start().await;
    let boot = server.everything_runs().await;
    let first = server.dead(&boot, "HTTP 500 five times").await;
    let second = server.dead(&boot, "HTTP 502 five times").await;
    let third = server.dead(&boot, "unknown job kind").await;
    let page = server.get("/api/dead").await;
    let ids = |list: &Value| names(list, "id");
    assert_eq!(ids(&page.body["letters"]), [third.to_string(), second.to_string(), first.to_string()]);
    let letter = &page.body["letters"][2];
    let shown =
        json!([letter["kind"], letter["agent"], letter["model"], letter["reason"], letter["task_state"]]);
    assert_eq!(shown, json!(["initialize", "initializer", "coder", "HTTP 500 five times", "needs_review"]));
    let groups: Vec<_> =
        page.body["reasons"].as_array().unwrap().iter().map(|g| (&g["reason"], &g["count"])).collect();
    let expected = [(json!("HTTP … five times"), json!(2)), (json!("unknown job kind"), json!(1))];
    assert_eq!(groups, expected.iter().map(|(reason, count)| (reason, count)).collect::<Vec<_>>());
    let one = server.get("/api/dead?limit=1").await;
    assert_eq!((ids(&one.body["letters"]).len(), &one.body["more"]), (1, &json!(true)));
    assert_eq!(ids(&server.get("/api/dead?model=small").await.body["letters"]).len(), 0);
    let of_task = format!("/api/dead?task={}", first.task);
    assert_eq!(ids(&server.get(&of_task).await.body["letters"]), [first.to_string()]);
    assert_eq!(server.get("/api/dead?kind=code").await.problem(), (400, "bad-query"));

    let path = |job: &JobId, verb: &str| format!("/api/dead/{}/{}/{verb}", job.task, job.no);
    let dropped = server.ask(&path(&third, "drop")).await;
    assert_eq!(
        (dropped.status.as_u16(), &dropped.body["dropped_by"]),
        (200, &json!("local")),
        "{}",
        dropped.text
    );
    assert_eq!(ids(&server.get("/api/dead").await.body["letters"]).len(), 2);
    assert_eq!(ids(&server.get("/api/dead?dropped=true").await.body["letters"]).len(), 3);

    let dry = server.post("/api/dead/retry", &json!({"dry_run": true})).await;
    assert_eq!((&dry.body["dry_run"], dry.body["retried"].as_array().unwrap().len()), (&json!(true), 2));
    assert_eq!(server.get("/api/dead").await.body["letters"].as_array().unwrap().len(), 2);
    let retried = server.ask(&path(&first, "retry")).await;
    assert_eq!(retried.status, 202, "{}", retried.text);
    server.advance(&first.task).await;
    let all = server.ask("/api/dead/retry").await;
    assert_eq!(all.body, json!({"dry_run": false, "retried": [second.to_string()], "refused": []}));
    server.advance(&second.task).await;
    server.advance(&third.task).await;
    assert!(ids(&server.get("/api/dead").await.body["letters"]).is_empty());
    let kept = server.get("/api/dead?dropped=true").await;
    assert_eq!(
        ids(&kept.body["letters"]),
        [third.to_string()],
        "what was dismissed is not retried with the others"
    );

    for (job, problem) in [
        (path(&first, "retry"), (409, "not-dead")),
        (path(&first, "drop"), (409, "not-dead")),
        (format!("/api/dead/{}/9/retry", first.task), (404, "unknown-job")),
        (format!("/api/dead/{}/9/drop", first.task), (404, "unknown-job")),
        (format!("/api/dead/{}/x/drop", first.task), (404, "unknown-job")),
        ("/api/dead/zzz/1/drop".to_owned(), (404, "unknown-task")),
    ] {
        assert_eq!(server.ask(&job).await.problem(), problem, "{job}");
    }
}

#[tokio::test]
async fn a_dead_letter_that_cannot_be_retried_yet_is_told_apart() {
    let server = Server::start().await;
    let boot = server.everything_runs().await;
    server.started().await;
    let claim = server.claim(&boot).await.unwrap();
    server.store.bury(&claim.job, claim.fence, "poison").await.unwrap().unwrap();
    // The task has not answered the death.
    let all = server.ask("/api/dead/retry").await;
    assert_eq!(all.body["retried"], json!([]), "{}", all.text);
    assert_eq!(all.body["refused"][0]["id"], claim.job.to_string());
    assert!(all.body["refused"][0]["reason"].as_str().unwrap().contains("is running"), "{}", all.text);
    let task = &claim.job.task;
    let refused = server.ask(&format!("/api/dead/{task}/1/retry")).await;
    assert_eq!(refused.problem(), (409, "not-retried"));
}

#[tokio::test]
async fn a_task_says_why_it_waits() {
    let server = Server::start().await;
    let task = server.submit("A board").await;
    let shown = server.get(&format!("/api/tasks/{task}")).await;
    assert_eq!(names(&shown.body["waiting"], "reason"), ["no-scheduler", "no-worker"], "{}", shown.text);
    assert!(shown.body["waiting"][1]["message"].as_str().unwrap().contains("serves model `coder`"));
    let scheduler = server.process(Role::Scheduler, None).await;
    assert_eq!(server.waits(&task).await, ["no-worker"]);
    server.store.mark_gone(&scheduler).await.unwrap();
    assert_eq!(server.waits(&task).await, ["no-scheduler", "no-worker"], "it ended");
    server.process(Role::Scheduler, None).await;
    let worker = server.process(Role::Worker, Some("coder")).await;
    assert_eq!(server.waits(&task).await, ["endpoints-parked"], "it has not looked yet");
    server.report(&worker, "coder", "unreachable", None).await;
    let list = server.get("/api/tasks").await;
    let waiting = &list.body["tasks"][0]["waiting"];
    assert_eq!(names(waiting, "short"), ["coder is not ready"]);
    assert!(
        waiting[0]["message"].as_str().unwrap().contains("unreachable (asked GET /models: no connection.")
    );
    server.report(&worker, "coder", "ready", None).await;
    assert!(server.waits(&task).await.is_empty(), "it is about to start");
    server.advance(&task).await;
    assert!(server.waits(&task).await.is_empty(), "it is about to be claimed");
    let claim = server.claim(&worker).await.unwrap();
    let second = server.started().await;
    assert_eq!(server.waits(&second).await, ["turn"]);
    let why = HandBack { reason: "server down".to_owned(), delay_ms: 50_000, infrastructure: true };
    server.store.hand_back(&claim.job, claim.fence, &why).await.unwrap().unwrap();
    server.ask("/api/queues/coder/pause").await;
    server.ask("/api/queues/kinds/build/pause").await;
    let shown = server.get(&format!("/api/tasks/{task}")).await;
    assert_eq!(
        names(&shown.body["waiting"], "reason"),
        ["kind-paused", "model-paused", "delayed"],
        "{}",
        shown.text
    );
    assert!(shown.body["waiting"][2]["message"].as_str().unwrap().contains("after: server down"));
}

#[tokio::test]
async fn a_task_says_how_many_come_before_it() {
    let server = Server::start().await;
    server.everything_runs().await;
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(server.started().await);
    }
    let (next, last) = (server.submit("A fifth").await, server.submit("A sixth").await);
    let said = async |task: &TaskId| {
        let shown = server.get(&format!("/api/tasks/{task}")).await;
        assert_eq!(names(&shown.body["waiting"], "reason"), ["admission"], "{}", shown.text);
        shown.body["waiting"][0]["message"].as_str().unwrap().to_owned()
    };
    assert!(said(&next).await.contains("this one is next"));
    assert!(said(&last).await.contains("1 comes before it"));
    server.ask(&format!("/api/tasks/{}/pause", tasks[0])).await;
    assert!(server.waits(&next).await.is_empty(), "a paused task leaves the count");
}

#[tokio::test]
async fn models_that_workers_announce_can_be_asked_for() {
    let server = Server::start().await;
    let ask = async || {
        let body = json!({"kind": "build", "objective": "A board", "model": "big/one"});
        server.post("/api/tasks", &body).await
    };
    let refused = ask().await;
    assert_eq!(refused.problem(), (422, "unknown-model"));
    assert!(refused.detail().contains("known: coder, small"), "{}", refused.text);
    let boot = server.process(Role::Embedded, None).await;
    server.report(&boot, "big/one", "ready", None).await;
    let task = ask().await;
    assert_eq!((task.status.as_u16(), &task.body["waiting"]), (201, &json!([])), "{}", task.text);
    let models = server.get("/api/models").await;
    let names = names(&models.body["models"], "name");
    assert_eq!(names, ["big/one", "coder", "small"]);
    assert_eq!(models.body["models"][0]["endpoints"], json!(["http://127.0.0.1:9/v1"]));
    server.store.mark_gone(&boot).await.unwrap();
    assert_eq!(ask().await.problem(), (422, "unknown-model"));
    // A configured model needs no worker to be asked for; the answer says that nobody serves it.
    let body = json!({"kind": "build", "objective": "A board", "model": "small"});
    let task = server.post("/api/tasks", &body).await;
    assert_eq!(task.status, 201, "{}", task.text);
    assert!(
        task.body["waiting"].to_string().contains("no live worker serves model `small`"),
        "{}",
        task.text
    );
}

#[tokio::test]
async fn a_build_on_a_model_with_too_small_a_context_is_refused() {
    let server = Server::start().await;
    let body = json!({"kind": "build", "objective": "A board"});
    let ask = async |key: &str| {
        answer(server.request(Method::POST, "/api/tasks").header("idempotency-key", key).json(&body)).await
    };
    assert_eq!(ask("before").await.status, 201);
    let boot = server.process(Role::Embedded, None).await;
    server.report(&boot, "coder", "ready", Some(16_383)).await;
    let refused = ask("small").await;
    assert_eq!(refused.problem(), (422, "context-too-small"));
    for part in ["`coder`", "16383", "16384", "longer context"] {
        assert!(refused.detail().contains(part), "{part}: {}", refused.text);
    }
    assert_eq!(ask("before").await.status, 200, "a repeated request is not judged again");
    // Another endpoint that has room, or that may have, is enough.
    let other = server.process(Role::Worker, Some("coder")).await;
    server.report(&other, "coder", "unreachable", None).await;
    assert_eq!(ask("unknown").await.status, 201);
    server.report(&other, "coder", "ready", Some(16_384)).await;
    assert_eq!(ask("enough").await.status, 201);
}
