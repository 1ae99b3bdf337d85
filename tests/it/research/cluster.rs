//! The team on several machines: PostgreSQL, Redis, two workers. Its log is the one of the demo in one process.

use std::time::Duration;

use nightforge_demo::{DemoModel, DemoOptions, RESEARCH_OBJECTIVE};
use nightforge_services::{Postgres, Redis};
use nightforge_tests::installation::Installation;
use nightforge_tests::team::TeamRecord;

#[test]
fn on_postgres_and_redis_two_workers_write_the_same_log_as_one_process() {
    let (postgres, redis) = (Postgres::start().unwrap(), Redis::start().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let models = runtime.block_on(async {
        let options = || DemoOptions { pace: Duration::from_millis(30), ..DemoOptions::default() };
        [DemoModel::start(options()).await.unwrap(), DemoModel::start(options()).await.unwrap()]
    });
    let [a, b] = models.each_ref().map(DemoModel::url);
    let mut installation = Installation::new(&format!(
        "listen = \"127.0.0.1:0\"\ndatabase_url = \"{}\"\nredis_url = \"{}\"\n[models.demo]\nname = \"{}\"\n\
         context = {}\n[[models.demo.endpoints]]\nurl = \"{a}\"\ngpu = \"0\"\n[[models.demo.endpoints]]\n\
         url = \"{b}\"\ngpu = \"1\"\n[[research.search]]\nkind = \"demo\"\n",
        postgres.url(),
        redis.url(),
        nightforge_demo::MODEL,
        nightforge_demo::CONTEXT_TOKENS,
    ));
    installation.start("api", &["api"]);
    installation.start("scheduler", &["scheduler"]);
    installation.start("worker-0", &["worker", "--gpu", "0"]);
    installation.start("worker-1", &["worker", "--gpu", "1"]);
    let queued = installation.ask(&["submit", "research", RESEARCH_OBJECTIVE]);
    let task = queued["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{queued}")).to_owned();
    let ended = |shown: &serde_json::Value| {
        (!matches!(shown["state"].as_str(), Some("queued" | "running"))).then(|| shown.clone())
    };
    let shown = installation.wait("the end", Duration::from_secs(90), &["show", &task], ended);
    assert_eq!(shown["state"], "completed", "{shown:#}");
    let records = TeamRecord::all_at(&postgres.url());
    let [record] = records.as_slice() else { panic!("one task, not {}", records.len()) };
    record.assert_history();
    record.assert_result_is_full();
    record.assert_key_findings_hold();
    let asked = models.each_ref().map(|model| model.requests().len());
    assert!(asked.iter().all(|asked| *asked > 2), "both workers had a part in it: {asked:?}");
    assert_eq!(models.each_ref().map(DemoModel::violations), [Vec::<String>::new(), Vec::new()]);
    record.assert_golden();
    for role in ["worker-0", "worker-1", "scheduler", "api"] {
        assert!(installation.end(role), "{role} ends well");
    }
}
