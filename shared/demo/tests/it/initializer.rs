//! The Initializer's questions and the routes beside the chat.

use nightforge_demo::{DemoModel, DemoOptions, OBJECTIVE, feature_count};
use nightforge_domain::contract::{Contract, FeatureBatch, FirstFile, InitScript, ProjectPlan};
use serde_json::{Value, json};

use crate::client::{ask, assistant, http, request, send, system, user};

async fn put<C: Contract>(model: &DemoModel, text: &str) -> C {
    let answer: C =
        serde_json::from_str(&ask(&http(), model, &request::<C>(&[system(), user(text)])).await).unwrap();
    answer.check().unwrap();
    answer
}

#[tokio::test]
async fn features_come_in_batches_without_gap_or_repetition() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let mut descriptions = Vec::new();
    while descriptions.len() < feature_count() {
        let text = format!(
            "OBJECTIVE: {OBJECTIVE}\nFEATURES SO FAR: {}\nFEATURES WANTED: at most 4 more\n",
            descriptions.len()
        );
        let batch: FeatureBatch = put(&model, &text).await;
        assert!(batch.features.len() <= 4);
        descriptions.extend(batch.features.into_iter().map(|feature| feature.description));
    }
    assert_eq!(descriptions.len(), feature_count());
    let unique: std::collections::BTreeSet<_> = descriptions.iter().collect();
    assert_eq!(unique.len(), feature_count());
}

#[tokio::test]
async fn a_re_ask_repeats_the_question_before_it() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let mut messages =
        vec![system(), user("OBJECTIVE: x\nFEATURES SO FAR: 4\nFEATURES WANTED: at most 2 more")];
    let answer = ask(&http(), &model, &request::<FeatureBatch>(&messages)).await;
    let batch: FeatureBatch = serde_json::from_str(&answer).unwrap();
    assert_eq!(batch.features.len(), 2);
    let empty = assistant(r#"{"thought":"Nothing.","features":[]}"#);
    messages.extend([empty, user("Your answer was not accepted: features must hold at least one feature.")]);
    assert_eq!(ask(&http(), &model, &request::<FeatureBatch>(&messages)).await, answer);
}

#[tokio::test]
async fn first_files_follow_from_the_files_so_far() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let mut so_far: Vec<String> = Vec::new();
    loop {
        let list = if so_far.is_empty() { "none".to_owned() } else { so_far.join(", ") };
        let file: FirstFile = put(&model, &format!("OBJECTIVE: x\nFILES SO FAR: {list}")).await;
        so_far.push(file.path);
        if !file.more {
            break;
        }
    }
    assert_eq!(so_far, [".gitignore", "README.md", "tests/__init__.py", "kanban/app.py"]);
}

#[tokio::test]
async fn another_objective_gets_the_same_board_and_is_told_so() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let known: ProjectPlan = put(&model, &format!("OBJECTIVE:\n{OBJECTIVE}")).await;
    let other: ProjectPlan = put(&model, "Hello.\nOBJECTIVE: Build a chess game.").await;
    assert!(other.thought.contains("I am a script"), "{}", other.thought);
    assert_eq!(other, ProjectPlan { thought: other.thought.clone(), ..known.clone() });
    let again: InitScript = put(&model, "OBJECTIVE: Build it.\ninit.sh failed.").await;
    assert_eq!(again.init_script, known.init_script);
}

#[tokio::test]
async fn an_answer_in_one_piece_says_the_same_as_a_streamed_one() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let mut body = request::<InitScript>(&[system(), user("OBJECTIVE: x")]);
    let streamed = ask(&http(), &model, &body).await;
    body["stream"] = json!(false);
    body.as_object_mut().unwrap().remove("stream_options");
    let whole: Value = send(&http(), &model, &body).await.unwrap().json().await.unwrap();
    assert_eq!(whole["choices"][0]["message"]["content"], streamed);
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    assert!(whole["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
    body["max_tokens"] = json!(3);
    let cut: Value = send(&http(), &model, &body).await.unwrap().json().await.unwrap();
    assert_eq!(cut["choices"][0]["finish_reason"], "length");
    assert_eq!(cut["usage"]["completion_tokens"], 3);
}

#[tokio::test]
async fn the_schema_may_stand_in_the_prompt() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let text = format!(
        "OBJECTIVE: x\n\nAnswer with one JSON object of this schema, named InitScript:\n{}\n",
        crate::client::schema::<InitScript>()
    );
    for format in [Value::Null, json!({"type": "json_object"})] {
        let mut body = request::<InitScript>(&[system(), user(&text)]);
        body["response_format"] = format;
        let answer = ask(&http(), &model, &body).await;
        serde_json::from_str::<InitScript>(&answer).unwrap();
    }
}

#[tokio::test]
async fn probes_see_a_server_like_llama_cpp() {
    let model = DemoModel::start(DemoOptions { slots: 3, ..DemoOptions::default() }).await.unwrap();
    let http = http();
    let get = async |url: String| http.get(url).send().await.unwrap().json::<Value>().await.unwrap();
    let root = model.url().strip_suffix("/v1").unwrap().to_owned();
    assert_eq!(get(format!("{root}/health")).await, json!({"status": "ok"}));
    let props = get(format!("{root}/props")).await;
    assert_eq!(props["default_generation_settings"]["n_ctx"], 32_768);
    assert_eq!(props["total_slots"], 3);
    assert_eq!(get(format!("{root}/v1/models")).await["data"][0]["id"], nightforge_demo::MODEL);
    assert_eq!(http.get(format!("{root}/api/v1/models")).send().await.unwrap().status(), 404);
}
