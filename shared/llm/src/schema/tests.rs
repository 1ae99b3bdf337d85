//! The schemas that go over the wire, letter by letter, and the types that must not.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use nightforge_domain::contract::{CodingAction, FeatureBatch, FirstFile, InitScript, ProjectPlan};
use serde::Deserialize;

use super::*;

/// The schema's bytes, broken before each described part.
fn shown<T: JsonSchema>() -> String {
    portable_schema::<T>().unwrap().to_string().replace(r#"{"description":"#, "\n{\"description\":")
}

#[test]
fn coding_action() {
    assert_snapshot!(shown::<CodingAction>(), @r#"
    {"description":"Coding agent, every turn: one thought, one action.","type":"object","properties":{"thought":
    {"description":"One or two sentences: what you saw and what you do now.","type":"string"},"action":
    {"description":"Exactly one tool call.","anyOf":[
    {"description":"Read lines of a file.","type":"object","properties":{"tool":{"type":"string","enum":["read_file"]},"path":
    {"description":"Path inside the project.","type":"string"},"start_line":
    {"description":"First line, from 1; null for the start.","anyOf":[{"type":"integer"},{"type":"null"}]},"line_count":
    {"description":"Number of lines, at most 200; null for 200.","anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["tool","path","start_line","line_count"],"additionalProperties":false},
    {"description":"List files below a folder.","type":"object","properties":{"tool":{"type":"string","enum":["list_files"]},"path":
    {"description":"Folder inside the project; \".\" for all.","type":"string"},"glob":
    {"description":"Pattern such as *.py, or null.","anyOf":[{"type":"string"},{"type":"null"}]}},"required":["tool","path","glob"],"additionalProperties":false},
    {"description":"Find a text in files.","type":"object","properties":{"tool":{"type":"string","enum":["search_text"]},"pattern":
    {"description":"The exact text to find, no regular expression.","type":"string"},"path":
    {"description":"Folder or file inside the project; null for all.","anyOf":[{"type":"string"},{"type":"null"}]}},"required":["tool","pattern","path"],"additionalProperties":false},
    {"description":"Write a whole file of at most 400 lines, new or in place of a short one.","type":"object","properties":{"tool":{"type":"string","enum":["write_file"]},"path":
    {"description":"Path inside the project.","type":"string"},"content":
    {"description":"Whole text of the file.","type":"string"}},"required":["tool","path","content"],"additionalProperties":false},
    {"description":"Replace a text that occurs exactly once in a file.","type":"object","properties":{"tool":{"type":"string","enum":["edit_file"]},"path":
    {"description":"Path inside the project.","type":"string"},"old_text":
    {"description":"The text as it stands in the file, without line numbers.","type":"string"},"new_text":
    {"description":"The text that takes its place.","type":"string"}},"required":["tool","path","old_text","new_text"],"additionalProperties":false},
    {"description":"Run a shell command that ends by itself.","type":"object","properties":{"tool":{"type":"string","enum":["run_command"]},"command":
    {"description":"The command.","type":"string"},"timeout_s":
    {"description":"Seconds it may take, at most 600; null for 60.","anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["tool","command","timeout_s"],"additionalProperties":false},
    {"description":"Run tests.","type":"object","properties":{"tool":{"type":"string","enum":["run_tests"]},"file":
    {"description":"One test file, or null for all tests that must pass, this feature's included.","anyOf":[{"type":"string"},{"type":"null"}]}},"required":["tool","file"],"additionalProperties":false},
    {"description":"Undo changes: put files back to how they were when the session began.","type":"object","properties":{"tool":{"type":"string","enum":["revert_to"]},"target":
    {"description":"A path, or session_start for all files, your new test included.","type":"string"}},"required":["tool","target"],"additionalProperties":false},
    {"description":"End the session.","type":"object","properties":{"tool":{"type":"string","enum":["finish"]},"outcome":
    {"description":"done when the feature works and its test passes, blocked when it can't be done now.","type":"string","enum":["done","blocked"]},"note":
    {"description":"What the next session must know, at most 1,000 characters.","type":"string"}},"required":["tool","outcome","note"],"additionalProperties":false}]}},"required":["thought","action"],"additionalProperties":false}
    "#);
}

#[test]
fn feature_batch() {
    assert_snapshot!(shown::<FeatureBatch>(), @r#"
    {"description":"Initializer: up to ten features.","type":"object","properties":{"thought":
    {"description":"One sentence: which part of the project these features cover.","type":"string"},"features":
    {"description":"The next features, smallest steps first.","type":"array","items":
    {"description":"One feature as the Initializer proposes it.","type":"object","properties":{"category":
    {"description":"Kind of feature.","type":"string","enum":["functional","visible","quality"]},"description":
    {"description":"One sentence that a test can prove.","type":"string"},"steps":
    {"description":"Two to five short steps that a person would take to check it.","type":"array","items":{"type":"string"}}},"required":["category","description","steps"],"additionalProperties":false}}},"required":["thought","features"],"additionalProperties":false}
    "#);
}

#[test]
fn project_plan() {
    assert_snapshot!(shown::<ProjectPlan>(), @r#"
    {"description":"Initializer, first call: how the project is built and tested.","type":"object","properties":{"thought":
    {"description":"One or two sentences: language, libraries, why they fit.","type":"string"},"name":
    {"description":"Short name of the project, lower case with dashes.","type":"string"},"test_command":
    {"description":"Shell command that runs test files. It must contain {files}; the harness puts the paths there.","type":"string"},"test_file_pattern":
    {"description":"Path of a feature's test file. It must contain {id}; the harness puts f001, f002, … there.","type":"string"},"build_command":
    {"description":"Shell command that checks or builds the project, or null. It may write caches, nothing else.","anyOf":[{"type":"string"},{"type":"null"}]},"serve_command":
    {"description":"Shell command that starts the project's server on the port in $PORT, or null.","anyOf":[{"type":"string"},{"type":"null"}]},"init_script":
    {"description":"Whole text of init.sh. It prepares the project and can be run again at any time.","type":"string"}},"required":["thought","name","test_command","test_file_pattern","build_command","serve_command","init_script"],"additionalProperties":false}
    "#);
}

#[test]
fn first_file() {
    assert_snapshot!(shown::<FirstFile>(), @r#"
    {"description":"Initializer: one of the project's first files.","type":"object","properties":{"thought":
    {"description":"One sentence: what the file is for.","type":"string"},"path":
    {"description":"Path inside the project.","type":"string"},"content":
    {"description":"Whole text of the file.","type":"string"},"more":
    {"description":"true when another first file must follow, false when this is the last.","type":"boolean"}},"required":["thought","path","content","more"],"additionalProperties":false}
    "#);
}

#[test]
fn init_script() {
    assert_snapshot!(shown::<InitScript>(), @r#"
    {"description":"Initializer: `init.sh` again, after it failed.","type":"object","properties":{"thought":
    {"description":"One sentence: what was wrong.","type":"string"},"init_script":
    {"description":"Whole text of init.sh.","type":"string"}},"required":["thought","init_script"],"additionalProperties":false}
    "#);
}

#[track_caller]
fn refused<T: JsonSchema>(expect: &str) {
    let error = portable_schema::<T>().unwrap_err().to_string();
    assert!(error.ends_with(expect), "{error}");
}

#[test]
fn what_has_no_portable_form_is_refused_with_its_place() {
    #[derive(Deserialize, JsonSchema)]
    struct Holds<T> {
        _x: T,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Recursive {
        _below: Vec<Recursive>,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Flattened {
        #[serde(flatten)]
        _choice: Choice,
        _x: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "tag")]
    enum Choice {
        _A { _a: String },
        _B { _b: String },
    }
    refused::<Holds<BTreeMap<String, u32>>>("$._x is a map; use a list of structs");
    refused::<Holds<(u32, String)>>("$._x is a tuple; use a struct");
    refused::<Holds<Value>>("$._x is free JSON; give it a type");
    refused::<Holds<Vec<Option<Value>>>>("$._x[] is free JSON; give it a type");
    refused::<Recursive>("is recursive; give it a fixed depth");
    refused::<Flattened>("$ mixes fields with a choice; do not flatten enums");
    refused::<Vec<String>>("$ is not an object; a contract is a struct");
}

#[test]
fn bounds_formats_and_defaults_are_left_out() {
    #[derive(Deserialize, JsonSchema)]
    struct Bounded {
        #[schemars(length(min = 1, max = 5), regex(pattern = "^a"))]
        _text: String,
        #[schemars(range(min = 1, max = 9))]
        #[serde(default)]
        _count: u8,
        _level: Option<Level>,
        _share: Option<f32>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Level {
        _Low,
        _High,
    }
    assert_snapshot!(portable_schema::<Bounded>().unwrap(), @r#"{"type":"object","properties":{"_text":{"type":"string"},"_count":{"type":"integer"},"_level":{"anyOf":[{"type":"string","enum":["_low","_high"]},{"type":"null"}]},"_share":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["_text","_count","_level","_share"],"additionalProperties":false}"#);
}
