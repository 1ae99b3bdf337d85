//! Looks on loopback for model servers, where none is configured.

use std::time::Duration;

use nightforge_domain::{AgentModels, ModelName};
use nightforge_llm::{Sampling, TimeLimits};
use reqwest::redirect::Policy;
use serde::Deserialize;

use crate::exit::{Exit, Failure};
use crate::roles::{ServedEndpoint, ServedModel};

/// The servers that people run, with the ports that they take by default.
const USUAL: [(&str, u16); 5] =
    [("LM Studio", 1234), ("Ollama", 11434), ("llama.cpp", 8080), ("vLLM", 8000), ("SGLang", 30000)];

const CONNECT_WITHIN: Duration = Duration::from_millis(500);
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

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
    /// Something else, or a server without any model.
    NoModel(String),
    /// A server with these models, in its order.
    Models(Vec<String>),
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
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_WITHIN)
        .timeout(ANSWER_WITHIN)
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("the HTTP client can't be made: {error}")))?;
    let looks: Vec<_> = candidates
        .iter()
        .map(|candidate| {
            let (http, url) = (http.clone(), candidate.url.clone());
            tokio::spawn(async move { models_at(&http, &url).await })
        })
        .collect();
    let mut findings = Vec::with_capacity(candidates.len());
    for (candidate, look) in candidates.iter().zip(looks) {
        findings.push((candidate.clone(), look.await.unwrap_or(Finding::Nothing)));
    }
    Ok(findings)
}

async fn models_at(http: &reqwest::Client, url: &str) -> Finding {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let response = match http.get(format!("{url}/models")).send().await {
        Ok(response) => response,
        Err(error) if error.is_timeout() && !error.is_connect() => {
            return Finding::NoModel(format!("it did not answer within {} s", ANSWER_WITHIN.as_secs()));
        }
        Err(_) => return Finding::Nothing,
    };
    let status = response.status();
    if !status.is_success() {
        return Finding::NoModel(format!("it answered {status} to GET /v1/models"));
    }
    match response.json::<List>().await {
        Ok(list) if list.data.is_empty() => Finding::NoModel("it has no model; load one there".to_owned()),
        Ok(list) => Finding::Models(list.data.into_iter().map(|model| model.id).collect()),
        Err(_) => Finding::NoModel("its answer to GET /v1/models is not a list of models".to_owned()),
    }
}

/// The model that is used, and what is said about the choice.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) model: ServedModel,
    pub(crate) agents: AgentModels,
    /// A line each.
    pub(crate) said: Vec<String>,
}

/// Takes the first model of the first server that has one.
///
/// # Errors
/// When there is none: what was looked for, what to start, how to try the demo.
pub(crate) fn choose(findings: &[(Candidate, Finding)]) -> Result<Choice, Failure> {
    let found = findings.iter().find_map(|(candidate, finding)| match finding {
        Finding::Models(models) => Some((candidate, models, best(models)?)),
        Finding::Nothing | Finding::NoModel(_) => None,
    });
    let Some((candidate, models, taken)) = found else { return Err(nothing_found(findings)) };
    let mut said = vec![format!("using the model {taken} of {} at {}", candidate.server, candidate.url)];
    let others: Vec<String> = findings
        .iter()
        .flat_map(|(other, finding)| match finding {
            Finding::Models(models) => {
                models.iter().map(|model| format!("{model} at {}", other.url)).collect()
            }
            Finding::Nothing | Finding::NoModel(_) => Vec::new(),
        })
        .filter(|other| *other != format!("{taken} at {}", candidate.url))
        .collect();
    if !others.is_empty() {
        said.push(format!("also found, not used: {}", others.join(", ")));
        said.push(format!(
            "to choose, write nightforge.toml: [models.coder] name = \"{}\", [[models.coder.endpoints]] url = \"{}\"",
            models.iter().find(|model| *model != taken).unwrap_or(taken),
            candidate.url
        ));
    }
    // Servers name models freely; a name that can't be ours is replaced.
    let name: ModelName = match taken.parse() {
        Ok(name) => name,
        Err(_) => "local".parse().map_err(|error| Failure::new(Exit::Failed, format!("{error}")))?,
    };
    let endpoint = ServedEndpoint { url: candidate.url.clone(), gpu: None, slots: 1, api_key: None };
    let model = ServedModel {
        name: name.clone(),
        server_name: taken.clone(),
        context_tokens: None,
        sampling: Sampling { max_tokens: crate::config::CODE_MAX_TOKENS, ..Sampling::default() },
        time_limits: TimeLimits::default(),
        endpoints: vec![endpoint],
    };
    Ok(Choice { model, agents: AgentModels { initializer: name.clone(), coder: name }, said })
}

/// The first that is not for embeddings, which LM Studio lists among the others.
fn best(models: &[String]) -> Option<&String> {
    models.iter().find(|model| !model.to_ascii_lowercase().contains("embed"))
}

fn nothing_found(findings: &[(Candidate, Finding)]) -> Failure {
    let mut message = "no model server was found, and none is configured. Looked for:".to_owned();
    for (candidate, finding) in findings {
        let what = match finding {
            Finding::Nothing => "nothing answers".to_owned(),
            Finding::NoModel(what) => what.clone(),
            Finding::Models(models) => format!("only models for embeddings: {}", models.join(", ")),
        };
        message.push_str(&format!("\n  {} at {}: {what}", candidate.server, candidate.url));
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn server(body: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let length = socket.read(&mut request).await.unwrap();
            assert!(request[..length].starts_with(b"GET /v1/models "));
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            socket.write_all(head.as_bytes()).await.unwrap();
            socket.write_all(body.as_bytes()).await.unwrap();
        });
        url
    }

    /// An address that nothing listens on.
    async fn closed() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    }

    async fn chosen(urls: &[String]) -> Result<Choice, Failure> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        choose(&look(&candidates(Some(urls))).await.unwrap())
    }

    #[tokio::test]
    async fn the_first_model_that_can_talk_is_taken_and_the_others_are_told() {
        let urls = [
            closed().await,
            server(r#"{"data":[{"id":"text-embedding-nomic"},{"id":"gpt-oss-20b"},{"id":"qwen"}]}"#).await,
            server(r#"{"data":[{"id":"llama"}]}"#).await,
        ];
        let choice = chosen(&urls).await.unwrap();
        assert_eq!(choice.model.server_name, "gpt-oss-20b");
        assert_eq!(choice.agents.coder.as_str(), "gpt-oss-20b");
        assert_eq!(choice.model.endpoints[0].url, urls[1]);
        let said = choice.said.join("\n");
        assert!(said.contains("qwen at") && said.contains(&format!("llama at {}", urls[2])), "{said}");
        assert!(said.contains("nightforge.toml"), "{said}");
    }

    #[tokio::test]
    async fn finding_none_says_where_and_what_to_do() {
        let urls = [closed().await, server(r#"{"data":[]}"#).await, server("<html>").await];
        let failure = chosen(&urls).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Unreachable);
        for part in
            [&*urls[0], &urls[1], &urls[2], "it has no model", "not a list of models", "nightforge demo"]
        {
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
        }
    }

    #[test]
    fn the_usual_ports_are_looked_at() {
        let urls: Vec<String> = candidates(None).into_iter().map(|candidate| candidate.url).collect();
        assert_eq!(urls, [1234, 11434, 8080, 8000, 30000].map(|port| format!("http://127.0.0.1:{port}/v1")));
    }
}
