//! What is spoken to over sockets: database, Redis, model servers.

use jiff::Timestamp;
use nightforge_llm::{Client, EndpointConfig, EndpointState};
use nightforge_queue::Bells;
use nightforge_store::{Engine, Store, StoreError};
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use super::{Finding, Verdict};
use crate::clock;
use crate::config::{Settings, masked};
use crate::data_folder::database_path;
use crate::discover::{candidates, choose, look};
use crate::place::Place;
use crate::roles::ServedModel;

/// The database's clock decides; more than this beside it, and times in logs and on pages do not fit together.
const CLOCK_SLACK_MS: i64 = 2_000;

/// The database, and its clock where it answers.
pub(super) async fn database(place: &Place) -> (Finding, Option<Finding>) {
    let found = |verdict, message: String| Finding::new("database", verdict, message);
    let url = place.database(&place.data);
    let shown = masked(&url);
    if place.database_url.is_none() && !database_path(&place.data).exists() {
        return (found(Verdict::Ok, format!("{shown}, made at the first start")), None);
    }
    let store = match Store::open_existing(&url).await {
        Ok(store) => store,
        Err(StoreError::OlderDatabase { found: 0, .. }) => {
            return (empty_or_foreign(&url, &shown).await, None);
        }
        Err(error @ StoreError::OlderDatabase { .. }) => {
            return (found(Verdict::Warning, format!("{error}; or run: nightforge migrate")), None);
        }
        Err(error) => return (found(Verdict::Wrong, error.to_string()), None),
    };
    let (pinged, now) = (store.ping().await, store.now().await);
    let database = match (pinged, store.engine()) {
        (Err(error), _) => found(Verdict::Wrong, format!("{shown} can be read but not written: {error}")),
        (Ok(()), Engine::Sqlite) => found(Verdict::Ok, format!("{shown}, SQLite")),
        (Ok(()), Engine::Postgres) => found(Verdict::Ok, format!("{shown}, PostgreSQL")),
    };
    store.close().await;
    (database, now.ok().map(|now| judge_clock(now.0, clock::now().timestamp())))
}

/// Nothing of this program is in the database; tables of another one may be. A role would put its own beside them, or
/// fail where a name is taken.
async fn empty_or_foreign(url: &str, shown: &str) -> Finding {
    let found = |verdict, message: String| Finding::new("database", verdict, message);
    match Store::first_tables(url).await {
        Ok(tables) if tables.is_empty() => {
            found(Verdict::Ok, format!("{shown} is empty; the first role fills it"))
        }
        Ok(tables) => found(
            Verdict::Wrong,
            format!(
                "{shown} belongs to another program, it has tables such as {} and none of Nightforge's; name an empty \
                 database",
                tables.join(", ")
            ),
        ),
        Err(error) => found(Verdict::Wrong, error.to_string()),
    }
}

fn judge_clock(database_ms: i64, here: Timestamp) -> Finding {
    let ahead = here.as_millisecond() - database_ms;
    if ahead.abs() <= CLOCK_SLACK_MS {
        return Finding::new("clock", Verdict::Ok, "this machine and the database agree");
    }
    let message = format!(
        "this machine is {:.1} s {} the database; work is safe, it goes by the database's clock, but times in logs \
         will not fit together: set up NTP on both",
        ahead.unsigned_abs() as f64 / 1_000.0,
        if ahead > 0 { "ahead of" } else { "behind" }
    );
    Finding::new("clock", Verdict::Warning, message)
}

pub(super) async fn redis(place: &Place) -> Finding {
    let found = |verdict, message: String| Finding::new("redis", verdict, message);
    let Some(url) = &place.redis_url else {
        let needed = "not configured; bells stay inside one process, roles in processes of their own poll";
        return found(Verdict::Ok, needed.to_owned());
    };
    let stop = CancellationToken::new();
    let opened = place.bells(stop.clone()).await.map(|_: Bells| ());
    stop.cancel();
    match opened {
        Ok(()) => found(Verdict::Ok, masked(url.expose_secret())),
        Err(refused) => found(Verdict::Wrong, refused.message),
    }
}

/// Every configured endpoint; without configuration, what would be used.
pub(super) async fn models(settings: &Settings) -> Vec<Finding> {
    let models = match &settings.models {
        Some((models, _)) => models.clone(),
        None => {
            match look(&candidates(settings.discover.as_deref())).await.and_then(|found| choose(&found)) {
                Ok(choice) => vec![choice.model],
                Err(failure) => return vec![Finding::new("model", Verdict::Wrong, failure.message)],
            }
        }
    };
    let mut findings = Vec::new();
    for model in &models {
        for endpoint in &model.endpoints {
            findings.push(self::endpoint(model, endpoint).await);
        }
    }
    findings
}

async fn endpoint(model: &ServedModel, endpoint: &crate::roles::ServedEndpoint) -> Finding {
    let name = format!("model {} at {}", model.name, endpoint.url);
    let config = EndpointConfig {
        url: endpoint.url.clone(),
        model: model.server_name.clone(),
        api_key: endpoint.api_key.clone(),
        context_tokens: model.context_tokens,
        ..EndpointConfig::default()
    };
    let client = match Client::new(config) {
        Ok(client) => client,
        Err(error) => return Finding::new(name, Verdict::Wrong, error.to_string()),
    };
    let seen = client.look().await;
    let verdict = match seen.state {
        EndpointState::Ready | EndpointState::Busy => Verdict::Ok,
        EndpointState::Cold | EndpointState::Loading => Verdict::Warning,
        _ => Verdict::Wrong,
    };
    Finding::new(name, verdict, format!("{}: {}", seen.state.as_str(), seen.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_differs_is_told_with_its_direction() {
        let here = Timestamp::from_millisecond(1_000_000).unwrap();
        assert_eq!(judge_clock(1_001_000, here).verdict, Verdict::Ok);
        let behind = judge_clock(1_000_000 + 300_000, here);
        assert!(behind.message.contains("300.0 s behind the database"), "{behind:?}");
        let ahead = judge_clock(1_000_000 - 2_001, here);
        assert_eq!(ahead.verdict, Verdict::Warning);
        assert!(ahead.message.contains("2.0 s ahead of the database"), "{ahead:?}");
    }
}
