//! Plain calls that fail: each has its class, its words, and is never sent twice.

use std::time::Duration;

use nightforge_domain::fault::FaultClass;
use nightforge_llm::{CallError, Client, TimeLimits};
use serde_json::json;
use tokio::net::TcpListener;

use crate::chat::{ask, request};
use crate::server::{Reply, Server, client, config, done, event, finish, piece, usage};

/// The error of one call, after a look that it was sent once and that its message says enough.
#[track_caller]
fn judged(server: &Server, error: CallError, class: FaultClass) -> CallError {
    assert_eq!(error.class, class, "{error}");
    assert_eq!(server.asked().len(), 1, "sent again: {error}");
    for part in [server.url.as_str(), "`served`", "POST /chat/completions"] {
        assert!(error.message.contains(part), "no `{part}` in: {error}");
    }
    error
}

async fn fails(reply: Reply, class: FaultClass) -> CallError {
    let server = Server::start(vec![reply]).await;
    let error = ask(&server.client()).await.unwrap_err();
    judged(&server, error, class)
}

#[tokio::test]
async fn a_cut_stream_is_aborted() {
    let error = fails(Reply::Cut(vec![piece("half")]), FaultClass::StreamAborted).await;
    assert!(error.message.contains("broke off after 1 events and 4 bytes"), "{error}");
}

#[tokio::test]
async fn an_end_without_a_finish_reason_is_aborted() {
    for events in [vec![piece("half")], vec![piece("half"), done()], vec![piece("half"), usage(1, 1), done()]]
    {
        let error = fails(Reply::Stream(events), FaultClass::StreamAborted).await;
        assert!(error.message.contains("without a finish reason"), "{error}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_aborted() {
    let nothing = || (vec![("content-type", "application/json".to_owned())], String::new());
    for reply in [
        Reply::Stream(vec![]),
        Reply::Stream(vec![done()]),
        Reply::Http(200, vec![], String::new()),
        Reply::Http(200, nothing().0, nothing().1),
    ] {
        let error = fails(reply, FaultClass::StreamAborted).await;
        assert!(error.message.contains("an empty answer"), "{error}");
    }
}

#[tokio::test]
async fn garbage_in_place_of_an_event_is_aborted() {
    let error = fails(
        Reply::Stream(vec![piece("a"), "data: {oops\n\n".to_owned(), finish("stop")]),
        FaultClass::StreamAborted,
    );
    let error = error.await;
    assert!(error.message.contains("not JSON") && !error.message.contains("oops"), "{error}");
}

#[tokio::test]
async fn an_error_inside_a_200_has_its_own_class() {
    let overflow =
        json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "too long"}});
    let error = fails(Reply::Stream(vec![piece("a"), event(&overflow)]), FaultClass::ContextOverflow).await;
    assert!(error.message.contains("`too long`"), "{error}");
    let named = format!("event: error\n{}", event(&json!({"error": "something odd"})));
    fails(Reply::Stream(vec![piece("a"), named]), FaultClass::StreamAborted).await;
    fails(
        Reply::Stream(vec![event(&json!({"error": {"code": 500, "message": "odd"}}))]),
        FaultClass::ServerError,
    )
    .await;
    let unloaded = Reply::json(200, &json!({"error": "Unexpected endpoint or method. (POST /v1/chat)"}));
    fails(unloaded, FaultClass::ModelMissing).await;
}

#[tokio::test]
async fn a_cut_at_max_tokens_is_never_complete() {
    let error =
        fails(Reply::Stream(vec![piece("{}"), finish("length"), usage(9, 8)]), FaultClass::Truncated).await;
    assert_eq!(error.usage.unwrap().completion_tokens, Some(8), "its tokens count");
}

#[tokio::test]
async fn refusals_are_seen_by_reason_and_by_field() {
    fails(Reply::Stream(vec![piece("a"), finish("content_filter")]), FaultClass::Refusal).await;
    let refusal = event(&json!({"choices": [{"delta": {"refusal": "I won't"}}]}));
    let error = fails(Reply::Stream(vec![refusal, finish("stop")]), FaultClass::Refusal).await;
    assert!(error.message.contains("I won't"), "{error}");
}

#[tokio::test]
async fn too_many_requests_keep_their_pause() {
    let limited = |after: &str| {
        let headers =
            vec![("retry-after", after.to_owned()), ("content-type", "application/json".to_owned())];
        Reply::Http(429, headers, json!({"error": {"message": "slow down"}}).to_string())
    };
    let error = fails(limited("7"), FaultClass::Overloaded).await;
    assert_eq!((error.retry_after, error.status), (Some(Duration::from_secs(7)), Some(429)));
    let error = fails(limited("3600"), FaultClass::Overloaded).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(60)));
}

#[tokio::test]
async fn statuses_and_bodies_have_their_class() {
    let loading = json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}});
    let error = fails(Reply::json(503, &loading), FaultClass::Loading).await;
    assert!(error.message.contains("HTTP 503 `Loading model`"), "{error}");
    let error = fails(Reply::json(401, &json!({"error": "no"})), FaultClass::Auth).await;
    assert!(error.message.contains("api_key"), "{error}");
    fails(Reply::Http(500, vec![], "Internal Server Error".to_owned()), FaultClass::ServerError).await;
    fails(
        Reply::json(422, &json!({"detail": [{"loc": ["body"], "msg": "field required"}]})),
        FaultClass::BadRequest,
    )
    .await;
    fails(Reply::json(404, &json!({"detail": "Not Found"})), FaultClass::ModelMissing).await;
}

#[tokio::test]
async fn a_huge_error_body_is_read_up_to_64_kib() {
    let body = |before_kib: usize| {
        format!("{} model is loading {}", "x".repeat(before_kib << 10), "x".repeat(8 << 20))
    };
    let error = fails(Reply::Http(500, vec![], body(63)), FaultClass::Loading).await;
    assert!(error.message.len() < 1_000, "{} bytes", error.message.len());
    fails(Reply::Http(500, vec![], body(65)), FaultClass::ServerError).await;
}

#[tokio::test]
async fn a_page_in_place_of_an_answer_names_the_url() {
    let page =
        Reply::Http(200, vec![("content-type", "text/html".to_owned())], "<html>Welcome</html>".to_owned());
    let error = fails(page, FaultClass::ModelMissing).await;
    assert!(
        error.message.contains("text/html") && error.message.contains("Correct the endpoint's url"),
        "{error}"
    );
    let broken = Reply::Http(200, vec![("content-type", "application/json".to_owned())], "{oops".to_owned());
    fails(broken, FaultClass::ModelMissing).await;
}

#[tokio::test]
async fn redirects_are_named_and_not_followed() {
    let elsewhere = Server::start(vec![Reply::answer("a")]).await;
    let to = format!("{}/chat/completions", elsewhere.url);
    let error =
        fails(Reply::Http(307, vec![("location", to.clone())], String::new()), FaultClass::ModelMissing)
            .await;
    assert!(error.message.contains(&to), "{error}");
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_closed_port_is_a_server_that_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let error = ask(&client(&url)).await.unwrap_err();
    assert_eq!(error.class, FaultClass::ServerDown, "{error}");
    assert!(error.message.contains(&url) && error.message.contains("refused"), "{error}");
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_is_a_server_that_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serve = async {
        let (connection, _) = listener.accept().await.unwrap();
        connection.readable().await.unwrap();
    };
    let client = client(&url);
    let (error, ()) = tokio::join!(ask(&client), serve);
    assert_eq!(error.unwrap_err().class, FaultClass::ServerDown);
}

async fn stalls(reply: Reply, limits: TimeLimits, expect: &str) {
    let mut server = Server::start(vec![reply]).await;
    let error = server.client().chat(&request(), &limits, &mut |_| {}).await.unwrap_err();
    let error = judged(&server, error, FaultClass::Stalled);
    assert!(error.message.contains(expect), "{error}");
    // A limit closes the connection, so the server stops computing.
    tokio::time::timeout(Duration::from_secs(10), server.saw_disconnect()).await.unwrap();
}

/// Long enough to connect on a busy machine, short enough to wait for.
const SHORT: Duration = Duration::from_millis(500);

#[tokio::test]
async fn each_time_limit_ends_the_call_it_is_for() {
    let first_token =
        || TimeLimits { first_token: SHORT, prompt_tokens_per_s: 1_000_000, ..TimeLimits::default() };
    let role = event(&json!({"choices": [{"delta": {"role": "assistant", "content": ""}}]}));
    let idle = TimeLimits { idle: SHORT, ..TimeLimits::default() };
    tokio::join!(
        stalls(Reply::Silent, first_token(), "no first token within"),
        stalls(Reply::Hang(vec![role]), first_token(), "no first token within"),
        stalls(Reply::Hang(vec![piece("a")]), idle, "stood still for"),
        stalls(Reply::Hang(vec![piece("a")]), TimeLimits::with_whole(SHORT), "not finished within"),
        stalls(Reply::Silent, TimeLimits::with_whole(SHORT), "not finished within"),
    );
}

#[tokio::test]
async fn a_flood_ends_at_the_limit_of_the_whole_call() {
    let server = Server::start(vec![Reply::Flood(piece("a"))]).await;
    let limits = TimeLimits::with_whole(SHORT);
    let error = server.client().chat(&request(), &limits, &mut |_| {}).await.unwrap_err();
    judged(&server, error, FaultClass::TimedOut);
}

#[tokio::test]
async fn a_line_without_end_is_given_up_and_keeps_nobody_else_waiting() {
    let server =
        Server::start(vec![Reply::Stream(vec!["data: {".to_owned()]), Reply::Flood("x".repeat(16_384))])
            .await;
    ask(&server.client()).await.unwrap_err();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let asking = async {
        let error = ask(&server.client()).await.unwrap_err();
        assert_eq!(error.class, FaultClass::StreamAborted, "{error}");
    };
    tokio::pin!(asking);
    let mut slowest = Duration::ZERO;
    loop {
        let before = std::time::Instant::now();
        tokio::select! {
            () = &mut asking => break,
            _ = ticks.tick() => slowest = slowest.max(before.elapsed()),
        }
    }
    assert!(slowest < Duration::from_secs(5), "a timer waited {slowest:?}");
}

#[tokio::test]
async fn no_error_text_holds_the_key() {
    let echo =
        json!({"error": {"message": "Incorrect API key provided: sk-secret-key", "code": "invalid_api_key"}});
    let server = Server::start(vec![Reply::json(401, &echo)]).await;
    let client = Client::new(config(&server.url, Some("sk-secret-key"))).unwrap();
    let error = ask(&client).await.unwrap_err();
    let told = format!("{error} {error:?} {client:?} {:?}", config(&server.url, Some("sk-secret-key")));
    assert!(!told.contains("secret-key"), "{told}");
    assert!(error.message.contains("[key]"), "{error}");
}
