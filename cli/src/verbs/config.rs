//! `config show`: the settings as they hold, with their sources.

use crate::args::{Config, ConfigAction};
use crate::config::shown;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, table};

pub(super) fn run(args: Config) -> Result<Exit, Failure> {
    let ConfigAction::Show(args) = args.action;
    let output = Output::new(args.output.output);
    let settings = shown(&args.settings)?;
    match output.format {
        Format::Table => {
            let rows: Vec<Vec<String>> = settings
                .into_iter()
                .map(|setting| vec![setting.key, plain(&setting.value), setting.source])
                .collect();
            output.text(&table(&["SETTING", "VALUE", "FROM"], &rows))?;
        }
        Format::Json => output.json(&settings)?,
        Format::Jsonl => {
            for setting in &settings {
                output.json_line(setting)?;
            }
        }
    }
    Ok(Exit::Done)
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "–".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
