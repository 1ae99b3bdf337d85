//! sqlx's own log of statements, recorded while it is asked for. It is how two loops are shown to send the same
//! statements: nobody has to be believed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// sqlx writes one event a statement there, when it has ended.
const TARGET: &str = "sqlx::query";

/// The driver's threads write a statement down a moment after its answer; nothing tells when.
const SETTLE: Duration = Duration::from_millis(50);

/// Records statements; while it does not, sqlx writes no log at all, so that measuring costs nothing.
pub(crate) struct StatementLog {
    filter: reload::Handle<Targets, Registry>,
    statements: Arc<Mutex<Vec<String>>>,
}

impl StatementLog {
    /// Becomes this process's subscriber, together with warnings on standard error.
    ///
    /// # Errors
    /// When there is one already.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let statements = Arc::default();
        let (filter, handle) = reload::Layer::new(Targets::new());
        let recorder = Recorder(Arc::clone(&statements)).with_filter(filter);
        let warnings = EnvFilter::new("warn,async_openai=off,sqlx=off");
        let warnings = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(warnings);
        tracing_subscriber::registry().with(recorder).with(warnings).try_init()?;
        Ok(Self { filter: handle, statements })
    }

    /// The statements that anybody in this process sends while `work` runs, in the order of their ends. Without those
    /// that set a new connection up: pools make one when they need it.
    ///
    /// # Errors
    /// When `work` fails.
    pub(crate) async fn record<T>(
        &self,
        work: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<(T, Vec<String>)> {
        tokio::time::sleep(SETTLE).await;
        self.filter.modify(|filter| *filter = Targets::new().with_target(TARGET, Level::DEBUG))?;
        let done = work.await;
        tokio::time::sleep(SETTLE).await;
        self.filter.modify(|filter| *filter = Targets::new())?;
        let mut statements = self.taken();
        statements.retain(|text| !["PRAGMA ", "SET "].iter().any(|word| text.starts_with(word)));
        Ok((done?, statements))
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.statements.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Recorder(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut read = Statement::default();
        event.record(&mut read);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(read.text());
    }
}

/// The fields of one event.
#[derive(Default)]
struct Statement {
    summary: String,
    whole: String,
}

impl Statement {
    /// sqlx leaves the whole statement out where the summary is all of it.
    fn text(self) -> String {
        let whole = self.whole.trim();
        if whole.is_empty() { self.summary } else { whole.to_owned() }
    }
}

impl Visit for Statement {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => value.clone_into(&mut self.summary),
            "db.statement" => value.clone_into(&mut self.whole),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
