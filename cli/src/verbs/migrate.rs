//! `migrate`: brings the database's schema up to date.

use nightforge_store::{DbClock, Store, presence};
use serde_json::json;

use crate::args::Migrate;
use crate::config::{self, masked};
use crate::data_folder::DataFolder;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output, note};

async fn adopt(url: &str, folder: &DataFolder) -> Result<(), Failure> {
    let id = presence::host_id(folder.path()).map_err(|error| {
        Failure::config(format!("the data folder {} can't be written to: {error}", folder.path().display()))
    })?;
    let store = Store::open(url, DbClock::Database).await?;
    let running = store.workers().await?.len();
    if running > 0 {
        store.close().await;
        return Err(Failure::new(
            Exit::Conflict,
            format!(
                "processes still run on this database ({running}) and go on in their own folder; end them first (one \
                 that was killed counts for a minute)"
            ),
        ));
    }
    store.move_to(&id).await?;
    store.close().await;
    Ok(())
}

pub(super) async fn run(args: Migrate) -> Result<Exit, Failure> {
    let output = Output::new(args.output.output);
    let place = config::load(&args.settings, None)?.place;
    // Its own file is made where it is missing; an `up` that runs on the folder has migrated it already.
    let folder = match &place.database_url {
        Some(_) if !args.adopt => None,
        _ => Some(DataFolder::share(&place.data)?),
    };
    let url = place.database(folder.as_ref().map_or(place.data.as_path(), DataFolder::path));
    let migrated = Store::migrate(&url).await?;
    let shown = masked(&url);
    if let (true, Some(folder)) = (args.adopt, &folder) {
        adopt(&url, folder).await?;
        note(&format!("the database belongs to {} from now on", folder.path().display()));
    }
    match output.format {
        Format::Table if migrated.from == migrated.to => {
            output.text(&format!("{shown} has schema version {} already", migrated.to))?;
        }
        Format::Table => {
            output.text(&format!("{shown}: schema version {} → {}", migrated.from, migrated.to))?;
        }
        Format::Json | Format::Jsonl => {
            output.json_line(&json!({ "database": shown, "from": migrated.from, "to": migrated.to }))?;
        }
    }
    Ok(Exit::Done)
}
