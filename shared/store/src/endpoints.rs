//! What workers last saw of their endpoints.

use nightforge_domain::{BootId, ModelName};

use crate::rows::without_nul;
use crate::{Store, StoreError};

/// What a worker sees of its endpoint now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointReport {
    /// The worker's process, which has announced itself.
    pub boot: BootId,
    /// Without credentials.
    pub url: String,
    /// As tasks ask for it.
    pub model: ModelName,
    /// The GPU that the endpoint is pinned to.
    pub gpu: Option<String>,
    /// Model calls at a time.
    pub slots: u32,
    /// Which program answers there, where it is known.
    pub server: Option<String>,
    /// One of the endpoint states of the design, in lower case, words joined by `-`; see [`serves`].
    pub state: String,
    /// For a person: what was asked, what came back, what to do.
    pub message: Option<String>,
    /// The length of its context, where it is known.
    pub context_tokens: Option<u64>,
}

/// Whether an endpoint in this state takes jobs; in every other one it is parked.
pub fn serves(state: &str) -> bool {
    matches!(state, "ready" | "busy" | "degraded")
}

impl Store {
    /// Writes down what a worker sees of its endpoint. The time of the state's beginning stays while the state does.
    /// A process that has not announced itself, or was forgotten, writes nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn report_endpoint(&self, report: &EndpointReport) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(self.sql(
            "INSERT INTO endpoints (boot_id, model, url, gpu, slots, server, state, message, context_tokens, since,
                seen_at)
             SELECT p.boot_id, $2, $3, $4, $5, $6, $7, $8, $9, {now}, {now} FROM processes p WHERE p.boot_id = $1
             ON CONFLICT (boot_id, model, url) DO UPDATE SET gpu = excluded.gpu, slots = excluded.slots,
                server = excluded.server, state = excluded.state, message = excluded.message,
                context_tokens = excluded.context_tokens, seen_at = excluded.seen_at,
                since = CASE WHEN endpoints.state = excluded.state THEN endpoints.since ELSE excluded.since END",
        ))
        .bind(report.boot.as_str())
        .bind(report.model.as_str())
        .bind(without_nul(&report.url))
        .bind(report.gpu.as_deref().map(without_nul))
        .bind(i64::from(report.slots))
        .bind(report.server.as_deref().map(without_nul))
        .bind(without_nul(&report.state))
        .bind(report.message.as_deref().map(without_nul))
        .bind(report.context_tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)))
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }
}
