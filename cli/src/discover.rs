//! Looks on loopback for model servers, where none is configured.

use std::time::Duration;

use nightforge_domain::{AgentModels, ModelName};
use nightforge_llm::{
    Client, EndpointConfig, EndpointState, LEAST_BUILD_CONTEXT_TOKENS, ListedModel, ModeRule, Residence,
    Sampling, Survey, TimeLimits,
};

use crate::exit::{Exit, Failure};
use crate::roles::{ServedEndpoint, ServedModel};

/// The servers that people run, with the ports that they take by default.
const USUAL: [(&str, u16); 5] =
    [("LM Studio", 1234), ("Ollama", 11434), ("llama.cpp", 8080), ("vLLM", 8000), ("SGLang", 30000)];

const CONNECT_WITHIN: Duration = Duration::from_millis(500);

/// Where a server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Which server usually is there.
    pub(crate) server: String,
    /// Base URL, `…/v1`.
    pub(crate) url: String,
}

/// What is at a candidate's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Finding {
    /// Nothing that answers.
    Nothing,
    /// Something that can't say now what it has: what it said, and what to do.
    Closed(String),
    /// A server with what it has, which may be no model.
    Server(Survey),
}

/// The usual addresses, or those that the configuration names.
pub(crate) fn candidates(configured: Option<&[String]>) -> Vec<Candidate> {
    match configured {
        None => USUAL
            .iter()
            .map(|(server, port)| Candidate {
                server: (*server).to_owned(),
                url: format!("http://127.0.0.1:{port}/v1"),
            })
            .collect(),
        Some(urls) => urls
            .iter()
            .map(|url| Candidate { server: "server".to_owned(), url: url.trim_end_matches('/').to_owned() })
            .collect(),
    }
}

/// Looks at every candidate at the same time.
///
/// # Errors
/// When no HTTP client can be made.
pub(crate) async fn look(candidates: &[Candidate]) -> Result<Vec<(Candidate, Finding)>, Failure> {
    let mut looks = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let config = EndpointConfig { url: candidate.url.clone(), ..EndpointConfig::default() };
        let client = Client::with_connect_timeout(config, CONNECT_WITHIN)
            .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        looks.push(tokio::spawn(async move { client.survey().await }));
    }
    let mut findings = Vec::with_capacity(candidates.len());
    for (candidate, look) in candidates.iter().zip(looks) {
        let finding = match look.await {
            Ok(Ok(survey)) => Finding::Server(survey),
            Ok(Err(seen)) if seen.state == EndpointState::Unreachable => Finding::Nothing,
            Ok(Err(seen)) => Finding::Closed(seen.message),
            Err(error) => Finding::Closed(format!("the look at it failed: {error}")),
        };
        findings.push((candidate.clone(), finding));
    }
    Ok(findings)
}

/// The model that is used, and what is said about the choice.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) model: ServedModel,
    pub(crate) agents: AgentModels,
    /// A line each.
    pub(crate) said: Vec<String>,
}

/// A model that was found, and where.
#[derive(Clone, Copy)]
struct Found<'a> {
    candidate: &'a Candidate,
    survey: &'a Survey,
    model: &'a ListedModel,
}

/// Takes the first model that can be asked now; where there is none, the first that is being loaded, then the first
/// that is installed, then the first that is loaded with too little context.
///
/// # Errors
/// When there is none: what was looked for, what to start, how to try the demo.
pub(crate) fn choose(findings: &[(Candidate, Finding)]) -> Result<Choice, Failure> {
    let found: Vec<Found<'_>> =
        findings.iter().flat_map(|(candidate, finding)| text_models(candidate, finding)).collect();
    let Some(taken) = found.iter().copied().min_by_key(Found::rank) else {
        return Err(nothing_found(findings));
    };
    let (candidate, server_name) = (taken.candidate, &taken.model.name);
    let mut said = vec![format!(
        "using the model {server_name} of {} at {}: {}",
        taken.survey.server,
        candidate.url,
        taken.says()
    )];
    let is_taken = |found: &&Found<'_>| found.candidate == candidate && found.model == taken.model;
    let others: Vec<&Found<'_>> = found.iter().filter(|found| !is_taken(found)).collect();
    if let Some(first) = others.first() {
        let told: Vec<String> = others
            .iter()
            .map(|other| {
                format!(
                    "{} of {} at {} ({})",
                    other.model.name,
                    other.survey.server,
                    other.candidate.url,
                    other.is()
                )
            })
            .collect();
        said.push(format!("also found, not used: {}", told.join(", ")));
        said.push(format!(
            "to choose, write nightforge.toml: [models.coder] name = \"{}\", [[models.coder.endpoints]] url = \"{}\"",
            first.model.name, first.candidate.url
        ));
    }
    for (candidate, finding) in findings {
        if let Finding::Closed(message) = finding {
            said.push(format!("also found, not used: {} at {}: {message}", candidate.server, candidate.url));
        }
    }
    // Servers name models freely; a name that can't be ours is replaced.
    let name: ModelName = match server_name.parse() {
        Ok(name) => name,
        Err(_) => "local".parse().map_err(|error| Failure::new(Exit::Failed, format!("{error}")))?,
    };
    let endpoint = ServedEndpoint { url: candidate.url.clone(), gpu: None, slots: 1, api_key: None };
    let model = ServedModel {
        name: name.clone(),
        server_name: server_name.clone(),
        // The server's own, which each look reads.
        context_tokens: None,
        sampling: Sampling { max_tokens: crate::config::CODE_MAX_TOKENS, ..Sampling::default() },
        mode: ModeRule::Auto,
        time_limits: TimeLimits::default(),
        endpoints: vec![endpoint],
    };
    Ok(Choice { model, agents: AgentModels::same(&name), said })
}

/// The models that talk: servers list those for embeddings among the others.
fn text_models<'a>(candidate: &'a Candidate, finding: &'a Finding) -> Vec<Found<'a>> {
    match finding {
        Finding::Server(survey) => survey
            .models
            .iter()
            .filter(|model| !model.embeds)
            .map(|model| Found { candidate, survey, model })
            .collect(),
        Finding::Nothing | Finding::Closed(_) => Vec::new(),
    }
}

impl Found<'_> {
    fn rank(&self) -> u8 {
        match (self.model.residence, self.model.context_tokens) {
            (Residence::Loaded, Some(LEAST_BUILD_CONTEXT_TOKENS..)) => 0,
            (Residence::Loading, _) => 1,
            (Residence::Installed, _) => 2,
            (Residence::Loaded, _) => 3,
        }
    }

    /// In a word or two, for a list.
    fn is(&self) -> &'static str {
        match self.model.residence {
            Residence::Loaded => "loaded",
            Residence::Loading => "being loaded",
            Residence::Installed => "installed",
        }
    }

    fn says(&self) -> String {
        let (url, name) = (&self.candidate.url, &self.model.name);
        match (self.model.residence, self.model.context_tokens) {
            (Residence::Loaded, Some(tokens @ LEAST_BUILD_CONTEXT_TOKENS..)) => {
                format!("loaded with {tokens} tokens of context")
            }
            (Residence::Loaded, Some(tokens)) => {
                let server = self.survey.server;
                let remedy =
                    server.longer_context(name, LEAST_BUILD_CONTEXT_TOKENS, self.survey.server_slots);
                format!(
                    "loaded with {tokens} tokens of context; a build needs {LEAST_BUILD_CONTEXT_TOKENS}, so work waits \
                     for more. {remedy}"
                )
            }
            (Residence::Loaded, None) => format!(
                "the server does not tell its context length, so work waits until nightforge.toml does: [models.coder] \
                 name = \"{name}\", context = TOKENS, [[models.coder.endpoints]] url = \"{url}\""
            ),
            (Residence::Loading, _) => "it is being loaded; work waits for it".to_owned(),
            (Residence::Installed, _) => {
                "installed, not loaded; it is loaded before the first call, which takes a while".to_owned()
            }
        }
    }
}

fn nothing_found(findings: &[(Candidate, Finding)]) -> Failure {
    let mut message = "no model server was found, and none is configured. Looked for:".to_owned();
    for (candidate, finding) in findings {
        let (server, what) = match finding {
            Finding::Nothing => (candidate.server.clone(), "nothing answers".to_owned()),
            Finding::Closed(what) => (candidate.server.clone(), what.clone()),
            Finding::Server(survey) if survey.models.is_empty() => {
                (survey.server.to_string(), "it has no model; load one there".to_owned())
            }
            Finding::Server(survey) => {
                let names: Vec<&str> = survey.models.iter().map(|model| model.name.as_str()).collect();
                (survey.server.to_string(), format!("only models for embeddings: {}", names.join(", ")))
            }
        };
        message.push_str(&format!("\n  {server} at {}: {what}", candidate.url));
    }
    message.push_str(
        "\nStart one of them with a model loaded, for example LM Studio's local server or `ollama serve`, or name \
         yours in nightforge.toml:\n  [models.coder]\n  name = \"MODEL\"\n  [[models.coder.endpoints]]\n  \
         url = \"http://127.0.0.1:1234/v1\"\nTo see Nightforge at work without any: nightforge demo",
    );
    Failure::new(Exit::Unreachable, message)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each path with its JSON, and every other one with 404.
    async fn server(answers: &[(&'static str, Value)]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers: HashMap<&str, String> =
            answers.iter().map(|(path, body)| (*path, body.to_string())).collect();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let length = socket.read(&mut request).await.unwrap();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap();
                let (status, body) = match answers.get(path) {
                    Some(body) => ("200 OK", body.as_str()),
                    None => ("404 Not Found", "{}"),
                };
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                socket.write_all(head.as_bytes()).await.unwrap();
                socket.write_all(body.as_bytes()).await.unwrap();
            }
        });
        url
    }

    async fn vllm(models: &[(&str, u64)]) -> String {
        let data: Vec<Value> = models
            .iter()
            .map(|(id, tokens)| json!({"id": id, "owned_by": "vllm", "max_model_len": tokens}))
            .collect();
        server(&[("/v1/models", json!({"object": "list", "data": data})), ("/health", json!({}))]).await
    }

    /// With the models that are installed, and those that are loaded with their context.
    async fn ollama(installed: &[&str], loaded: &[(&str, u64)]) -> String {
        let data: Vec<Value> =
            installed.iter().map(|name| json!({"id": name, "owned_by": "library"})).collect();
        let tags: Vec<Value> = installed.iter().map(|name| json!({"name": name})).collect();
        let running: Vec<Value> =
            loaded.iter().map(|(name, tokens)| json!({"name": name, "context_length": tokens})).collect();
        server(&[
            ("/v1/models", json!({"object": "list", "data": data})),
            ("/api/tags", json!({"models": tags})),
            ("/api/ps", json!({"models": running})),
        ])
        .await
    }

    /// An address that nothing listens on.
    async fn closed() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    }

    async fn chosen(urls: &[String]) -> Result<Choice, Failure> {
        choose(&look(&candidates(Some(urls))).await.unwrap())
    }

    #[tokio::test]
    async fn the_first_loaded_model_that_can_talk_is_taken_and_the_others_are_told() {
        let urls = [
            closed().await,
            ollama(&["gpt-oss:20b"], &[]).await,
            vllm(&[("text-embedding-nomic", 32_768), ("gpt-oss-20b", 32_768), ("qwen", 32_768)]).await,
        ];
        let choice = chosen(&urls).await.unwrap();
        assert_eq!(choice.model.server_name, "gpt-oss-20b");
        assert_eq!(choice.agents.of(nightforge_domain::Agent::Coder).unwrap().as_str(), "gpt-oss-20b");
        assert_eq!((&choice.model.endpoints[0].url, choice.model.context_tokens), (&urls[2], None));
        let said = choice.said.join("\n");
        for part in [
            &format!("gpt-oss-20b of vLLM at {}: loaded with 32768 tokens", urls[2]),
            &format!("gpt-oss:20b of Ollama at {} (installed)", urls[1]),
            &format!("qwen of vLLM at {} (loaded)", urls[2]),
            "nightforge.toml",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("embedding"), "{said}");
    }

    #[tokio::test]
    async fn a_model_that_is_not_loaded_is_taken_before_one_with_too_little_context() {
        let urls = [vllm(&[("short", 4_096)]).await, ollama(&["gpt-oss:20b"], &[]).await];
        let choice = chosen(&urls).await.unwrap();
        assert_eq!(choice.model.server_name, "gpt-oss:20b");
        let said = choice.said.join("\n");
        assert!(said.contains("installed, not loaded; it is loaded before the first call"), "{said}");
        assert!(said.contains("short of vLLM"), "{said}");
    }

    #[tokio::test]
    async fn what_keeps_the_only_model_from_being_asked_is_said_with_its_remedy() {
        let too_little = chosen(&[ollama(&["m"], &[("m", 4_096)]).await]).await.unwrap().said.join("\n");
        for part in ["4096 tokens", "a build needs 16384", "OLLAMA_CONTEXT_LENGTH=16384"] {
            assert!(too_little.contains(part), "{too_little}");
        }
        let url = server(&[("/v1/models", json!({"data": [{"id": "m"}]}))]).await;
        let unknown = chosen(std::slice::from_ref(&url)).await.unwrap().said.join("\n");
        assert!(unknown.contains("context = TOKENS") && unknown.contains(&url), "{unknown}");
    }

    #[tokio::test]
    async fn finding_none_says_where_and_what_to_do() {
        let urls = [
            closed().await,
            ollama(&[], &[]).await,
            server(&[("/v1/models", json!("hi"))]).await,
            vllm(&[("nomic-embed-text", 2_048)]).await,
        ];
        let failure = chosen(&urls).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Unreachable);
        for part in [
            &*urls[0],
            &urls[2],
            "nothing answers",
            &format!("Ollama at {}: it has no model", urls[1]),
            "no list of models",
            "only models for embeddings: nomic-embed-text",
            "nightforge demo",
        ] {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
        assert!(!failure.message.contains("model ``"), "{}", failure.message);
    }

    #[tokio::test]
    async fn a_server_that_wants_a_key_is_told_beside_the_one_that_is_used() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await.unwrap();
            let answer = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 24\r\nconnection: close\r\n\r\n{\"error\":\"Unauthorized\"}";
            socket.write_all(answer.as_bytes()).await.unwrap();
        });
        let choice = chosen(&[url.clone(), vllm(&[("m", 32_768)]).await]).await.unwrap();
        let said = choice.said.join("\n");
        assert!(said.contains(&url) && said.contains("HTTP 401") && said.contains("api_key_env"), "{said}");
    }

    #[test]
    fn the_usual_ports_are_looked_at() {
        let urls: Vec<String> = candidates(None).into_iter().map(|candidate| candidate.url).collect();
        assert_eq!(urls, [1234, 11434, 8080, 8000, 30000].map(|port| format!("http://127.0.0.1:{port}/v1")));
    }
}
