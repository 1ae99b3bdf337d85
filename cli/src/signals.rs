//! SIGINT and SIGTERM: the first asks for an orderly end, the second ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure};
use crate::output::note;

/// Cancelled by the first signal.
///
/// # Errors
/// When the system gives out no signal handlers.
pub(crate) fn orderly_end() -> Result<CancellationToken, Failure> {
    let listen = |kind: SignalKind| {
        signal(kind)
            .map_err(|error| Failure::new(Exit::Failed, format!("signals can't be listened to: {error}")))
    };
    let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let asked = CancellationToken::new();
    tokio::spawn(count(interrupt, terminate, asked.clone()));
    Ok(asked)
}

async fn count(mut interrupt: Signal, mut terminate: Signal, asked: CancellationToken) {
    for first in [true, false] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if first {
            asked.cancel();
        }
    }
    note("ended at once; work in flight is taken up again at the next start");
    std::process::exit(i32::from(Exit::Failed.code()));
}
