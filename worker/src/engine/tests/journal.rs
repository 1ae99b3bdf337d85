//! The journal: what was done is not done again, and what no longer fits is cut.

use std::time::Duration;

use nightforge_store::{Lost, StoreError};
use tokio::sync::watch;

use super::bed::{Bed, interruption};
use crate::engine::context::retrying;
use crate::engine::{Failure, Interruption, JobContext};

/// Runs a step that must run.
async fn runs(context: &mut JobContext, name: &str, inputs: &str, output: &str) -> String {
    let mut ran = false;
    let given = context
        .step(name, &inputs, async |_| {
            ran = true;
            Ok(output.to_owned())
        })
        .await
        .unwrap();
    assert!(ran, "{name} was replayed");
    given
}

/// Runs a step that must be in the journal.
async fn replays(context: &mut JobContext, name: &str, inputs: &str) -> String {
    context
        .step(name, &inputs, async |_| -> Result<String, Failure> { panic!("{name} ran again") })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_recorded_step_gives_its_output_without_running() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    runs(&mut context, "model", "one", "first").await;
    runs(&mut context, "tool", "two", "second").await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    assert_eq!(replays(&mut context, "model", "one").await, "first");
    assert_eq!(replays(&mut context, "tool", "two").await, "second");
    runs(&mut context, "model", "three", "third").await;
    assert_eq!(bed.job(&claim.job).await.steps, 3);
    assert!(!bed.log(&claim.job.task).await.contains(&"journal-cut".to_owned()));
}

#[tokio::test]
async fn other_inputs_cut_the_journal_and_the_work_goes_on() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    for (inputs, output) in [("a", "1"), ("b", "2"), ("c", "3")] {
        runs(&mut context, "model", inputs, output).await;
    }
    let (mut context, _signal) = bed.context(claim.clone()).await;
    replays(&mut context, "model", "a").await;
    assert_eq!(runs(&mut context, "model", "edited", "new").await, "new");
    runs(&mut context, "model", "c", "3 again").await;
    let journal = bed.store.journal(&claim.job).await.unwrap();
    let outputs: Vec<&str> = journal.iter().map(|step| step.output.as_str().unwrap()).collect();
    assert_eq!(outputs, ["1", "new", "3 again"]);
    let events = bed.store.events(&claim.job.task, 0, 100).await.unwrap();
    let cuts: Vec<_> = events.iter().filter(|event| event.type_name == "journal-cut").collect();
    assert_eq!(cuts.len(), 1);
    assert_eq!(cuts[0].data["from_step"], 1);
    assert_eq!(cuts[0].data["reason"], "step `model` has other inputs now");
}

#[tokio::test]
async fn another_name_or_form_cuts_as_well() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    runs(&mut context, "model", "a", "text").await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    let number: u32 = context.step("model", &"a", async |_| Ok(7)).await.unwrap();
    assert_eq!(number, 7);
    let (mut context, _signal) = bed.context(claim.clone()).await;
    runs(&mut context, "tool", "a", "text").await;
    assert_eq!(bed.job(&claim.job).await.steps, 1);
}

#[tokio::test]
async fn an_interruption_stops_the_next_step_but_no_replay() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    runs(&mut context, "model", "a", "1").await;
    for told in [Interruption::Paused, Interruption::Draining, Interruption::Stopping, Interruption::Lost] {
        let (mut context, signal) = bed.context(claim.clone()).await;
        signal.send(Some(told)).unwrap();
        replays(&mut context, "model", "a").await;
        let next = context.step("model", &"b", async |_| -> Result<String, Failure> { panic!("ran") }).await;
        assert_eq!(interruption(next), told);
    }
    assert_eq!(bed.job(&claim.job).await.steps, 1);
}

#[tokio::test]
async fn a_step_that_fails_is_not_recorded() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    let failed =
        context.step("model", &"a", async |_| -> Result<String, _> { Err(Failure::invalid("no")) }).await;
    assert!(matches!(failed, Err(Failure::Fault { .. })));
    assert_eq!(context.next_step(), 0);
    runs(&mut context, "model", "a", "1").await;
}

#[tokio::test]
async fn a_claim_that_is_over_records_nothing() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    bed.execute("UPDATE jobs SET fence = fence + 1").await;
    let result = context.step("model", &"a", async |_| Ok("late".to_owned())).await;
    assert_eq!(interruption(result), Interruption::Lost);
    assert_eq!(bed.store.journal(&claim.job).await.unwrap(), []);
}

#[tokio::test]
async fn time_is_counted_over_claims_and_without_the_wait_for_a_slot() {
    let bed = Bed::new([]).await;
    let claim = bed.claimed().await;
    let (mut context, _signal) = bed.context(claim.clone()).await;
    let slow = async |context: &mut JobContext| {
        tokio::time::sleep(Duration::from_millis(20)).await;
        context.time.without(tokio::time::sleep(Duration::from_millis(100))).await;
        Ok("done".to_owned())
    };
    context.step("model", &"a", slow).await.unwrap();
    let spent = context.spent_ms();
    assert!((20..100).contains(&spent), "{spent}");
    let (mut context, _signal) = bed.context(claim).await;
    assert_eq!(context.spent_ms(), 0);
    replays(&mut context, "model", "a").await;
    assert_eq!(context.spent_ms(), spent);
}

fn broken() -> StoreError {
    StoreError::NoTask(nightforge_store::fresh_id())
}

#[tokio::test(start_paused = true)]
async fn a_write_is_repeated_while_the_database_fails() {
    let (_signal, told) = watch::channel(None);
    let mut tries = 0;
    let written = retrying(&told, || {
        tries += 1;
        let answer = if tries < 20 { Err(broken()) } else { Ok(Ok("written")) };
        async move { answer }
    });
    assert_eq!(written.await.unwrap(), "written");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused_or_hangs_ends_with_the_lease() {
    let (signal, told) = watch::channel(Some(Interruption::Draining));
    let refused = retrying(&told, || async { Ok(Err::<(), _>(Lost)) }).await;
    assert_eq!(interruption(refused), Interruption::Lost);

    let lose = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        signal.send(Some(Interruption::Lost)).unwrap();
    };
    let hanging = retrying(&told, std::future::pending::<nightforge_store::Fenced<()>>);
    let (ended, ()) = tokio::join!(hanging, lose);
    assert_eq!(interruption(ended), Interruption::Lost);

    let (_signal, told) = watch::channel(Some(Interruption::Lost));
    let failing = retrying(&told, || async { Err::<Result<(), Lost>, _>(broken()) }).await;
    assert_eq!(interruption(failing), Interruption::Lost);
}
