//! The whole project, from the plan to the last feature, with every mistake that the script makes.

use nightforge_demo::{DemoModel, DemoOptions, OBJECTIVE, feature_count};
use nightforge_domain::FeatureId;
use nightforge_domain::contract::{Action, CodingAction, FeatureBatch, FirstFile, ProjectPlan};
use reqwest::Client;
use serde_json::Value;

use crate::client::{ask, assistant, http, request, session_start, system, user};
use crate::harness::{Ended, Project};

#[tokio::test]
async fn the_board_is_built_feature_by_feature_and_each_mistake_is_made() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let http = http();
    let mut project = initialize(&http, &model).await;
    let mut transcript = String::new();
    for place in 1..=feature_count() {
        let feature = FeatureId::numbered(place).to_string();
        let first = session(&http, &model, &mut project, &feature, 1, &mut transcript).await;
        if first == Ended::Blocked {
            let second = session(&http, &model, &mut project, &feature, 2, &mut transcript).await;
            assert_eq!(second, Ended::Passed, "{feature}");
        }
    }
    insta::assert_snapshot!("transcript", transcript);
    assert_eq!(model.violations(), Vec::<String>::new());
    assert_eq!(model.in_flight(), 0);
}

/// Plan, `init.sh` twice, first files, as the Initializer does.
async fn initialize(http: &Client, model: &DemoModel) -> Project {
    let objective = format!("OBJECTIVE: {OBJECTIVE}\n");
    let short = |tail: &str| [system(), user(&format!("{objective}{tail}"))];
    let plan: ProjectPlan =
        serde_json::from_str(&ask(http, model, &request::<ProjectPlan>(&short(""))).await).unwrap();
    let project = Project::new(plan.clone());
    project.write("init.sh", &plan.init_script);
    let batch = request::<FeatureBatch>(&short("FEATURES SO FAR: 0\nFEATURES WANTED: at most 10 more\n"));
    let batch: FeatureBatch = serde_json::from_str(&ask(http, model, &batch).await).unwrap();
    project.write("feature_list.json", &serde_json::to_string(&batch.features).unwrap());
    project.write("progress.txt", "");
    let mut written = Vec::new();
    loop {
        let so_far = if written.is_empty() { "none".to_owned() } else { written.join(", ") };
        let messages = short(&format!("FILES SO FAR: {so_far}\n"));
        let file: FirstFile =
            serde_json::from_str(&ask(http, model, &request::<FirstFile>(&messages)).await).unwrap();
        project.write(&file.path, &file.content);
        written.push(file.path);
        if !file.more {
            break;
        }
    }
    for _ in 0..2 {
        let prepared = project.shell("sh init.sh");
        assert!(prepared.status.success(), "{prepared:?}");
    }
    project
}

async fn session(
    http: &Client,
    model: &DemoModel,
    project: &mut Project,
    feature: &str,
    attempt: u32,
    transcript: &mut String,
) -> Ended {
    let mut messages: Vec<Value> = vec![system(), session_start(feature, attempt)];
    let mut session = project.session(feature);
    for _ in 0..60 {
        let answer = ask(http, model, &request::<CodingAction>(&messages)).await;
        let action: CodingAction = serde_json::from_str(&answer).unwrap();
        let (result, ended) = session.apply(&action.action);
        let verdict = result.lines().next().unwrap_or_default();
        let verdict = verdict.split_once(':').map_or(verdict, |(kind, _)| kind);
        transcript.push_str(&format!("{feature}.{attempt} {} -> {verdict}\n", call(&action.action)));
        if let Some(ended) = ended {
            return ended;
        }
        messages.extend([assistant(&answer), user(&result)]);
    }
    panic!("{feature} did not end within 60 turns\n{transcript}");
}

fn call(action: &Action) -> String {
    let argument = match action {
        Action::ReadFile { path, .. } | Action::ListFiles { path, .. } => path,
        Action::WriteFile { path, .. } | Action::EditFile { path, .. } => path,
        Action::SearchText { pattern, .. } => pattern,
        Action::RunCommand { .. } | Action::RunTests { file: None } => "",
        Action::RunTests { file: Some(file) } => file,
        Action::RevertTo { target } => target,
        Action::Finish { outcome, .. } => return format!("finish {outcome:?}"),
    };
    format!("{} {argument}", action.tool()).trim_end().to_owned()
}
