//! Looks at the endpoint: every 10 s while it serves, sooner while it does not; and writes down what it saw.

use std::sync::Arc;
use std::time::Duration;

use nightforge_llm::{CallObserver, CallRecord, EndpointState, ModeRule, Sighting, TimeLimits};
use nightforge_store::{EndpointReport, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Endpoint;

/// Between two looks at an endpoint that serves.
const LOOK_EVERY: Duration = Duration::from_secs(10);

const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Watches one endpoint.
pub(crate) struct Watch {
    endpoint: Arc<Endpoint>,
    /// What does not change from report to report.
    report: EndpointReport,
    reports: watch::Sender<Option<EndpointReport>>,
    /// How its model is to be asked for tool calls.
    mode: ModeRule,
    /// Time limits of the small calls that find it out.
    time_limits: TimeLimits,
    /// Whether it was found out for the model that is loaded now.
    mode_is_chosen: bool,
}

/// The small calls belong to no task; their sum is logged.
struct Unbooked;

impl CallObserver for Unbooked {
    fn record(&self, _: CallRecord) {}
}

impl Watch {
    /// Looks at `endpoint` and writes what it sees into `store`, in reports that begin as `report`.
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        store: Store,
        report: EndpointReport,
        mode: ModeRule,
        time_limits: TimeLimits,
    ) -> Self {
        let (reports, latest) = watch::channel(None);
        tokio::spawn(keep_reporting(store, latest));
        Self { endpoint, report, reports, mode, time_limits, mode_is_chosen: false }
    }

    /// Until `stop`.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut wait = Duration::ZERO;
        loop {
            let changed = self.endpoint.changed.notified();
            let parked = self.endpoint.is_parked();
            tokio::select! {
                () = tokio::time::sleep(if parked { wait } else { LOOK_EVERY }) => {}
                // A call failed: look at once, or later where that has not helped.
                () = changed => {
                    if let (Some(reason), strikes) = self.endpoint.parked() {
                        wait = first_wait(strikes);
                        self.say_parked(&reason);
                    }
                    continue;
                }
                () = stop.cancelled() => return,
            }
            tokio::select! {
                () = self.look() => {}
                () = stop.cancelled() => return,
            }
            wait = match self.endpoint.is_parked() {
                true => (wait * 2).clamp(FIRST_WAIT, LOOK_EVERY),
                false => Duration::ZERO,
            };
        }
    }

    async fn look(&mut self) {
        let endpoint = Arc::clone(&self.endpoint);
        let mut seen = endpoint.client.look().await;
        if seen.state == EndpointState::Cold {
            self.write_down(&seen, None);
            tracing::info!(endpoint = %endpoint.url, "the model is not loaded; loading it");
            if let Err(error) = endpoint.client.load().await {
                endpoint.withdraw(&error.message);
                return self.write_down(&seen, Some(&error.message));
            }
            seen = endpoint.client.look().await;
        }
        if !seen.state.can_be_asked() {
            // Whatever is loaded next may want to be asked in another way.
            self.mode_is_chosen = false;
            endpoint.withdraw(&seen.message);
            return self.write_down(&seen, None);
        }
        if !self.mode_is_chosen {
            // It answers, and takes no jobs yet: a first small call may take minutes.
            let alive = Sighting { state: EndpointState::Alive, ..seen.clone() };
            self.write_down(&alive, Some("finding out how its model is asked best"));
            if let Err(failed) = self.choose_mode().await {
                endpoint.withdraw(&failed);
                return self.write_down(&alive, Some(&failed));
            }
        }
        // Its looks are fine, its calls are not; the next good answer ends that.
        if endpoint.parked().1 > 0 {
            seen.state = EndpointState::Degraded;
        }
        endpoint.unpark();
        let fewer = seen.server_slots.filter(|there| *there < self.report.slots);
        let fewer = fewer.map(|there| {
            format!(
                "{}; it answers {there} calls at a time and is asked {}: further ones wait there, lower `slots`",
                seen.message, self.report.slots
            )
        });
        self.write_down(&seen, fewer.as_deref());
    }

    /// Which way of asking works there; found once, before the first job.
    async fn choose_mode(&mut self) -> Result<(), String> {
        let client = &self.endpoint.client;
        let choosing = client.choose_mode(self.mode, &self.time_limits, &Unbooked);
        let choice = choosing.await.map_err(|error| error.message)?;
        tracing::info!(
            endpoint = %self.endpoint.url,
            calls = choice.calls,
            prompt_tokens = choice.usage.prompt_tokens,
            completion_tokens = choice.usage.completion_tokens,
            "{choice}"
        );
        self.mode_is_chosen = true;
        Ok(())
    }

    /// Parked by a call, and not looked at again yet: it answers, but takes no jobs.
    fn say_parked(&mut self, reason: &str) {
        self.report.state = EndpointState::Alive.as_str().to_owned();
        self.report.message = Some(reason.to_owned());
        self.reports.send_replace(Some(self.report.clone()));
    }

    /// For the pages and for `workers`.
    fn write_down(&mut self, seen: &Sighting, message: Option<&str>) {
        self.report.server = Some(seen.server.to_string());
        self.report.state = seen.state.as_str().to_owned();
        self.report.message = Some(message.unwrap_or(&seen.message).to_owned());
        self.report.context_tokens = seen.context_tokens;
        self.reports.send_replace(Some(self.report.clone()));
    }
}

/// Writes the latest report, until nobody sends any more. Apart from the looks: a database that is slow or away costs
/// the picture, and no model its work.
async fn keep_reporting(store: Store, mut reports: watch::Receiver<Option<EndpointReport>>) {
    while reports.changed().await.is_ok() {
        let Some(report) = reports.borrow_and_update().clone() else { continue };
        if let Err(error) = store.report_endpoint(&report).await {
            tracing::warn!(%error, endpoint = %report.url, "the endpoint's state was not written down");
        }
    }
}

/// How long after it was parked the first look is.
fn first_wait(strikes: u32) -> Duration {
    match strikes {
        0 | 1 => Duration::ZERO,
        strikes => FIRST_WAIT.saturating_mul(1 << strikes.min(16)).min(LOOK_EVERY),
    }
}
