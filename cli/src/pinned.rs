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
    let mut model = model(configured, &wanted)?;
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

/// Whether `--endpoint` names one at all, before anything is asked there.
///
/// # Errors
/// When it does not.
pub(crate) fn check_endpoint(url: Option<&str>) -> Result<(), Failure> {
    url.map_or(Ok(()), |url| given_endpoint(url, "").map(drop))
}

fn given_endpoint(url: &str, model: &str) -> Result<String, Failure> {
    checked_endpoint(url, model).map_err(|reason| Failure::usage(format!("--endpoint: {reason}")))
}

/// By its name in the configuration, or by its server's; what is served elsewhere need not be configured.
fn model(mut configured: Vec<ServedModel>, wanted: &Wanted) -> Result<ServedModel, Failure> {
    let listed = |models: &mut dyn Iterator<Item = &ServedModel>| {
        models.map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let names = listed(&mut configured.iter());
    let Some(name) = wanted.model.as_deref() else {
        return match configured.len() {
            1 => Ok(configured.swap_remove(0)),
            _ => Err(Failure::usage(format!("say which model with --model; configured: {names}"))),
        };
    };
    if let Some(place) = configured.iter().position(|model| model.name.as_str() == name) {
        return Ok(configured.swap_remove(place));
    }
    let servers: Vec<usize> =
        (0..configured.len()).filter(|place| configured[*place].server_name == name).collect();
    match servers.as_slice() {
        [only] => Ok(configured.swap_remove(*only)),
        [] if configured.is_empty() || wanted.endpoint.is_some() => unconfigured(name),
        [] => Err(Failure::config(format!(
            "--model {name}: there is no such model in the configuration; configured: {names}. For one that is not \
             configured, say where it is served with --endpoint"
        ))),
        several => Err(Failure::usage(format!(
            "--model {name}: several configured models have this name at their servers; choose one of {}",
            listed(&mut several.iter().map(|place| &configured[*place]))
        ))),
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
        let url = given_endpoint(url, &model.server_name)?;
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
    fn a_model_is_named_as_here_or_as_at_its_server_and_need_not_be_configured() {
        let named = |models, flags: &str| {
            pinned(models, wanted(flags)).map(|(model, endpoint)| {
                (model.name.to_string(), model.server_name, endpoint.url, endpoint.slots)
            })
        };
        let of = |name: &str, server: &str, url: &str, slots| {
            Ok((name.to_owned(), server.to_owned(), url.to_owned(), slots))
        };
        let coder = of("coder", "vendor/coder", "http://a:1/v1", 2);
        assert_eq!(named(two_gpus(), "--model coder --gpu 0"), coder);
        assert_eq!(named(two_gpus(), "--model vendor/coder --gpu 0"), coder);
        assert_eq!(named(two_gpus(), "--model vendor/coder --endpoint http://a:1/v1"), coder);
        let new = of("qwen3:8b", "qwen3:8b", "http://h:11434/v1", 1);
        assert_eq!(named(two_gpus(), "--model qwen3:8b --endpoint http://h:11434/v1"), new);
        // A name here goes before a name at a server.
        let mut crossed = vec![configured("a", vec![at("http://a:1/v1", "0")]), configured("b", vec![])];
        crossed[1].server_name = "a".to_owned();
        assert_eq!(named(crossed, "--model a"), of("a", "vendor/a", "http://a:1/v1", 2));
        let mut twins = vec![configured("a", vec![]), configured("b", vec![])];
        twins.iter_mut().for_each(|model| model.server_name = "m".to_owned());
        let refused = named(twins, "--model m").unwrap_err();
        assert!(refused.message.contains("choose one of a, b"), "{}", refused.message);
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
