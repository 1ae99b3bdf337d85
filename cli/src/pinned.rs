//! Which model and which of its servers a worker is pinned to: its flags, laid over the configuration.

use nightforge_domain::ModelName;
use nightforge_llm::{ModeRule, Sampling, TimeLimits};

use crate::config::{CODE_MAX_TOKENS, MAX_SLOTS, checked_endpoint};
use crate::exit::Failure;
use crate::roles::{ServedEndpoint, ServedModel};

/// The flags of `worker`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) model: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) gpu: Option<String>,
    pub(crate) slots: Option<u32>,
}

/// The one model and the one endpoint. A model that is not configured is called as its name says.
///
/// # Errors
/// With the flag that is missing or that nothing matches, and what there is.
pub(crate) fn pinned(
    configured: Vec<ServedModel>,
    wanted: Wanted,
) -> Result<(ServedModel, ServedEndpoint), Failure> {
    let mut model = model(configured, wanted.model.as_deref())?;
    let mut endpoint = endpoint(&model, wanted.endpoint.as_deref(), wanted.gpu.as_deref())?;
    if wanted.gpu.is_some() {
        endpoint.gpu = wanted.gpu;
    }
    if let Some(slots) = wanted.slots {
        if !(1..=MAX_SLOTS).contains(&slots) {
            return Err(Failure::usage(format!("--slots {slots}: must be from 1 to {MAX_SLOTS}")));
        }
        endpoint.slots = slots;
    }
    model.endpoints = vec![endpoint.clone()];
    Ok((model, endpoint))
}

fn model(mut configured: Vec<ServedModel>, wanted: Option<&str>) -> Result<ServedModel, Failure> {
    let names = configured.iter().map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ");
    match wanted {
        Some(wanted) => match configured.iter().position(|model| model.name.as_str() == wanted) {
            Some(place) => Ok(configured.swap_remove(place)),
            None if configured.is_empty() => unconfigured(wanted),
            None => Err(Failure::config(format!(
                "--model {wanted}: there is no such model in the configuration; configured: {names}"
            ))),
        },
        None => match configured.len() {
            1 => Ok(configured.swap_remove(0)),
            _ => Err(Failure::usage(format!("say which model with --model; configured: {names}"))),
        },
    }
}

fn unconfigured(name: &str) -> Result<ServedModel, Failure> {
    let parsed: ModelName =
        name.parse().map_err(|error| Failure::usage(format!("--model {name}: {error}")))?;
    Ok(ServedModel {
        server_name: name.to_owned(),
        name: parsed,
        context_tokens: None,
        sampling: Sampling { max_tokens: CODE_MAX_TOKENS, ..Sampling::default() },
        mode: ModeRule::Auto,
        time_limits: TimeLimits::default(),
        endpoints: Vec::new(),
    })
}

fn endpoint(model: &ServedModel, url: Option<&str>, gpu: Option<&str>) -> Result<ServedEndpoint, Failure> {
    if let Some(url) = url {
        let url = checked_endpoint(url, &model.server_name)
            .map_err(|reason| Failure::usage(format!("--endpoint: {reason}")))?;
        let known = model.endpoints.iter().find(|endpoint| endpoint.url == url).cloned();
        return Ok(known.unwrap_or(ServedEndpoint { url, gpu: None, slots: 1, api_key: None }));
    }
    let on_gpu: Vec<&ServedEndpoint> = model
        .endpoints
        .iter()
        .filter(|endpoint| gpu.is_none() || model.endpoints.len() == 1 || endpoint.gpu.as_deref() == gpu)
        .collect();
    let listed = || {
        let each = |endpoint: &ServedEndpoint| match &endpoint.gpu {
            Some(gpu) => format!("{} (gpu {gpu})", endpoint.url),
            None => endpoint.url.clone(),
        };
        model.endpoints.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    match (on_gpu.as_slice(), gpu) {
        ([only], _) => Ok((*only).clone()),
        ([], None) => Err(Failure::usage(format!(
            "say where {} is served with --endpoint, for example --endpoint http://127.0.0.1:1234/v1",
            model.name
        ))),
        ([], Some(gpu)) => Err(Failure::usage(format!(
            "--gpu {gpu}: no endpoint of {} is on it; configured: {}",
            model.name,
            listed()
        ))),
        (_, _) => Err(Failure::usage(format!(
            "{} has several endpoints and a worker has one; choose with --endpoint or --gpu: {}",
            model.name,
            listed()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str, gpu: &str) -> ServedEndpoint {
        ServedEndpoint { url: url.to_owned(), gpu: Some(gpu.to_owned()), slots: 2, api_key: None }
    }

    fn configured(name: &str, endpoints: Vec<ServedEndpoint>) -> ServedModel {
        ServedModel { endpoints, server_name: format!("vendor/{name}"), ..unconfigured(name).unwrap() }
    }

    fn two_gpus() -> Vec<ServedModel> {
        vec![configured("coder", vec![at("http://a:1/v1", "0"), at("http://b:1/v1", "1")])]
    }

    fn wanted(flags: &str) -> Wanted {
        let mut wanted = Wanted::default();
        let words: Vec<&str> = flags.split_whitespace().collect();
        for pair in words.chunks(2) {
            let value = Some(pair[1].to_owned());
            match pair[0] {
                "--model" => wanted.model = value,
                "--endpoint" => wanted.endpoint = value,
                "--gpu" => wanted.gpu = value,
                "--slots" => wanted.slots = Some(pair[1].parse().unwrap()),
                other => panic!("{other}"),
            }
        }
        wanted
    }

    #[test]
    fn flags_choose_among_what_is_configured() {
        let (model, endpoint) = pinned(two_gpus(), wanted("--gpu 1")).unwrap();
        assert_eq!(
            (&*model.server_name, &*endpoint.url, endpoint.slots),
            ("vendor/coder", "http://b:1/v1", 2)
        );
        let (_, endpoint) =
            pinned(two_gpus(), wanted("--endpoint http://a:1/v1/ --slots 3 --gpu 7")).unwrap();
        assert_eq!(
            (&*endpoint.url, endpoint.gpu.as_deref(), endpoint.slots),
            ("http://a:1/v1", Some("7"), 3)
        );
        let (_, endpoint) = pinned(two_gpus(), wanted("--endpoint http://new:1/v1")).unwrap();
        assert_eq!((&*endpoint.url, endpoint.gpu.as_deref(), endpoint.slots), ("http://new:1/v1", None, 1));
    }

    #[test]
    fn without_configuration_the_flags_are_enough() {
        let (model, endpoint) =
            pinned(Vec::new(), wanted("--model qwen3:8b --endpoint http://h:11434/v1 --gpu 0 --slots 1"))
                .unwrap();
        assert_eq!((model.name.as_str(), &*model.server_name), ("qwen3:8b", "qwen3:8b"));
        assert_eq!((&*endpoint.url, endpoint.gpu.as_deref()), ("http://h:11434/v1", Some("0")));
    }

    #[test]
    fn each_mistake_is_named() {
        let two_models = || vec![configured("a", vec![]), configured("b", vec![])];
        for (models, flags, part) in [
            (two_gpus(), "", "choose with --endpoint or --gpu: http://a:1/v1 (gpu 0), http://b:1/v1 (gpu 1)"),
            (two_gpus(), "--gpu 5", "--gpu 5: no endpoint of coder is on it"),
            (
                two_gpus(),
                "--model x",
                "--model x: there is no such model in the configuration; configured: coder",
            ),
            (two_models(), "", "say which model with --model; configured: a, b"),
            (two_models(), "--model a", "say where a is served with --endpoint"),
            (two_gpus(), "--gpu 1 --slots 0", "--slots 0: must be from 1 to 64"),
            (two_gpus(), "--endpoint ftp://h/v1", "--endpoint: url: "),
            (Vec::new(), "--model a*b --endpoint http://h/v1", "--model a*b"),
        ] {
            let message = pinned(models, wanted(flags)).map(|_| ()).unwrap_err().message;
            assert!(message.contains(part), "{flags}\n→ {message}");
        }
    }
}
