//! A client's start-up probe is answered like any contract, at each level of its ladder.

use nightforge_demo::{DemoModel, DemoOptions};
use nightforge_domain::contract::ModeProbe;
use serde_json::{Value, json};

use crate::client::{ask, http, request, schema, system, user};

#[tokio::test]
async fn the_probe_is_answered_at_every_level() {
    let model = DemoModel::start(DemoOptions::default()).await.unwrap();
    let by_schema = request::<ModeProbe>(&[system(), user("List the files of the folder docs.")]);
    let passage = format!(
        "List the files.\n\nAnswer with one JSON object of this schema, named ModeProbe:\n{}",
        schema::<ModeProbe>()
    );
    let mut in_prompt = request::<ModeProbe>(&[system(), user(&passage)]);
    in_prompt["response_format"] = json!({"type": "json_object"});
    let mut plain = in_prompt.clone();
    plain["response_format"] = Value::Null;
    for body in [by_schema, in_prompt, plain] {
        let answer: ModeProbe = serde_json::from_str(&ask(&http(), &model, &body).await).unwrap();
        assert!(!answer.thought.is_empty());
    }
    assert_eq!(model.violations(), Vec::<String>::new());
}
