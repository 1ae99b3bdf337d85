//! Where a process keeps what it keeps: data folder, database, and the Redis that carries bells.

use std::path::{Path, PathBuf};

use nightforge_llm::SecretString;
use nightforge_queue::{Bells, RedisConfig, RedisRefused};
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use crate::data_folder::database_url;
use crate::exit::{Exit, Failure};

/// The three places. The two URLs may hold passwords.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The data folder, as named.
    pub(crate) data: PathBuf,
    /// `sqlite:PATH` or `postgres://…`; without one, an SQLite file in the data folder.
    pub(crate) database_url: Option<SecretString>,
    /// `redis://…`; without one, bells stay inside this process.
    pub(crate) redis_url: Option<SecretString>,
}

impl Place {
    /// Everything in one folder.
    pub(crate) fn folder(data: PathBuf) -> Self {
        Self { data, database_url: None, redis_url: None }
    }

    /// The URL of the database, where `folder` is the data folder's absolute path.
    pub(crate) fn database(&self, folder: &Path) -> String {
        match &self.database_url {
            Some(url) => url.expose_secret().to_owned(),
            None => database_url(folder),
        }
    }

    /// Whether bells reach other processes.
    pub(crate) fn has_redis(&self) -> bool {
        self.redis_url.is_some()
    }

    /// The bells of this process, until `stop`.
    ///
    /// # Errors
    /// When Redis can't be reached or is set up so that it forgets.
    pub(crate) async fn bells(&self, stop: CancellationToken) -> Result<Bells, Failure> {
        let Some(url) = &self.redis_url else { return Ok(Bells::in_memory(stop)) };
        Bells::redis(RedisConfig::new(url.clone()), stop)
            .await
            .map_err(|refused| Failure::new(exit(&refused), refused.to_string()))
    }
}

/// A Redis that is away may come back; one that refuses, or can't be trusted with bells, needs a person.
fn exit(refused: &RedisRefused) -> Exit {
    match refused {
        RedisRefused::Unreachable { .. } => Exit::Unreachable,
        RedisRefused::BadUrl { .. }
        | RedisRefused::BadPrefix { .. }
        | RedisRefused::Access { .. }
        | RedisRefused::Evicts { .. }
        | RedisRefused::TooOld { .. }
        | RedisRefused::Cluster { .. }
        | RedisRefused::Replica { .. } => Exit::Config,
    }
}
