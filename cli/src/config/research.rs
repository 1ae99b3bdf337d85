//! `[research]` as written, checked once. A back-end is named by its place in the list.

use std::path::PathBuf;

use nightforge_llm::SecretString;
use nightforge_sources::search::{Brave, BraveConfig, Feeds, FeedsConfig, Patience, SearxNg, SearxNgConfig};
use nightforge_sources::search::{Tavily, TavilyConfig};
use reqwest::Url;
use serde::Deserialize;

use crate::search::{Place, SearchPlan, check_reader};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenResearch {
    /// Places as `host:port` whose pages may be read although they are not public.
    allow: Vec<String>,
    search: Vec<WrittenSearch>,
}

/// One back-end; which of the keys it may have depends on its kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSearch {
    kind: String,
    folder: Option<PathBuf>,
    url: Option<String>,
    urls: Option<Vec<String>>,
    language: Option<String>,
    key_env: Option<String>,
    file: Option<PathBuf>,
}

/// Every kind, with the keys that it must have and those that it may have.
const KINDS: [(&str, &[&str], &[&str]); 7] = [
    ("corpus", &["folder"], &[]),
    ("searxng", &["url"], &["language"]),
    ("tavily", &[], &["key_env", "url"]),
    ("brave", &[], &["key_env", "url"]),
    ("feeds", &["urls"], &[]),
    ("replay", &["file"], &[]),
    ("demo", &[], &[]),
];

/// What went wrong: the key below `research`, and what can stand there.
type Mistake = (String, String);

/// The plan that is written.
///
/// # Errors
/// With the place in the list, and the remedy.
pub(super) fn checked(written: WrittenResearch) -> Result<SearchPlan, Mistake> {
    check_reader(&written.allow).map_err(|reason| ("allow".to_owned(), format!("allow: {reason}")))?;
    let mut places = Vec::with_capacity(written.search.len());
    for (at, search) in written.search.into_iter().enumerate() {
        let place = place(search)
            .map_err(|reason| ("search".to_owned(), format!("back-end {}: {reason}", at + 1)))?;
        places.push(place);
    }
    Ok(SearchPlan { allow: written.allow, places })
}

fn place(written: WrittenSearch) -> Result<Place, String> {
    let kinds = KINDS.map(|(kind, _, _)| kind).join(", ");
    let Some((kind, required, optional)) = KINDS.iter().find(|(kind, _, _)| *kind == written.kind) else {
        return Err(format!("there is no kind of that name; known: {kinds}"));
    };
    for (key, is_there) in written.keys() {
        if is_there && !required.contains(&key) && !optional.contains(&key) {
            let known: Vec<&str> = ["kind"].iter().chain(*required).chain(*optional).copied().collect();
            return Err(format!(
                "the key `{key}` means nothing for kind = \"{kind}\"; known there: {}",
                known.join(", ")
            ));
        }
        if !is_there && required.contains(&key) {
            return Err(format!("kind = \"{kind}\" needs the key `{key}`"));
        }
    }
    match *kind {
        "corpus" => corpus(written.folder.unwrap_or_default()),
        "searxng" => {
            let base_url = url("url", written.url.as_deref().unwrap_or_default())?;
            let language = written.language;
            let config = SearxNgConfig { base_url, language, patience: Patience::default() };
            SearxNg::new(config.clone()).map_err(|error| error.to_string())?;
            Ok(Place::SearxNg(config))
        }
        "tavily" => {
            let variable = written.key_env.unwrap_or_else(|| "TAVILY_API_KEY".to_owned());
            let mut config = TavilyConfig::new(key(&variable)?);
            if let Some(text) = &written.url {
                config.base_url = url("url", text)?;
            }
            Tavily::new(config.clone()).map_err(|error| error.to_string())?;
            Ok(Place::Tavily { config, variable })
        }
        "brave" => {
            let variable = written.key_env.unwrap_or_else(|| "BRAVE_SEARCH_API_KEY".to_owned());
            let mut config = BraveConfig::new(key(&variable)?);
            if let Some(text) = &written.url {
                config.base_url = url("url", text)?;
            }
            Brave::new(config.clone()).map_err(|error| error.to_string())?;
            Ok(Place::Brave { config, variable })
        }
        "feeds" => {
            let urls: Vec<Url> = written
                .urls
                .unwrap_or_default()
                .iter()
                .enumerate()
                .map(|(at, text)| url(&format!("urls, entry {}", at + 1), text))
                .collect::<Result<_, _>>()?;
            Feeds::new(FeedsConfig::new(urls.clone())).map_err(|error| error.to_string())?;
            Ok(Place::Feeds(urls))
        }
        "replay" => Ok(Place::Replay(written.file.unwrap_or_default())),
        _ => Ok(Place::Demo),
    }
}

impl WrittenSearch {
    fn keys(&self) -> [(&'static str, bool); 6] {
        [
            ("folder", self.folder.is_some()),
            ("url", self.url.is_some()),
            ("urls", self.urls.is_some()),
            ("language", self.language.is_some()),
            ("key_env", self.key_env.is_some()),
            ("file", self.file.is_some()),
        ]
    }
}

fn corpus(folder: PathBuf) -> Result<Place, String> {
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(Place::Corpus(folder)),
        Ok(_) => Err(format!("folder: {} is a file; name the folder with the documents", folder.display())),
        Err(error) => Err(format!(
            "folder: {} can't be read: {error}; make it, or name the folder with the documents",
            folder.display()
        )),
    }
}

/// The address; it stands in no message, for it may hold a secret.
fn url(key: &str, text: &str) -> Result<Url, String> {
    text.parse().map_err(|error| format!("{key}: no URL: {error}; write for example https://host/path"))
}

/// A key stands in a variable of its own, never in the file.
fn key(variable: &str) -> Result<SecretString, String> {
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(SecretString::from(key)),
        _ => Err(format!(
            "its key is looked for in the variable {variable}, which is not set; export it with the key, name another \
             variable with key_env, or take the back-end out"
        )),
    }
}

#[cfg(test)]
mod tests {
    use figment::Figment;
    use figment::providers::{Format, Toml};

    use super::*;

    fn read(toml: &str) -> Result<SearchPlan, String> {
        let written: WrittenResearch =
            Figment::from(Toml::string(toml)).extract().map_err(|error| error.to_string())?;
        checked(written).map_err(|(key, reason)| format!("{key}: {reason}"))
    }

    #[test]
    fn nothing_is_searched_by_default_and_back_ends_keep_their_order() {
        assert!(read("").unwrap().names().is_empty());
        let folder = tempfile::tempdir().unwrap();
        let toml = format!(
            "allow = [\"wiki:8080\"]\n[[search]]\nkind = \"corpus\"\nfolder = \"{}\"\n[[search]]\nkind = \"searxng\"\n\
             url = \"http://127.0.0.1:8888/\"\nlanguage = \"ja\"\n[[search]]\nkind = \"feeds\"\n\
             urls = [\"https://h/feed\"]\n[[search]]\nkind = \"demo\"\n",
            folder.path().display()
        );
        let plan = read(&toml).unwrap();
        assert_eq!(plan.names(), ["corpus", "searxng", "feeds", "demo"]);
    }

    #[test]
    fn each_mistake_is_named() {
        let search = |rest: &str| format!("[[search]]\nkind = \"demo\"\n[[search]]\n{rest}");
        for (toml, part) in [
            (
                search("kind = \"bing\""),
                "search: back-end 2: there is no kind of that name; known: corpus, searxng",
            ),
            (search("kind = \"corpus\""), "kind = \"corpus\" needs the key `folder`"),
            (search("kind = \"corpus\"\nfolder = \"/no/such\""), "/no/such can't be read"),
            (search("kind = \"corpus\"\nfolder = \"/etc/passwd\""), "/etc/passwd is a file"),
            (
                search("kind = \"corpus\"\nfolder = \"/\"\nurl = \"http://h/\""),
                "the key `url` means nothing for kind = \"corpus\"; known there: kind, folder",
            ),
            (search("kind = \"searxng\""), "needs the key `url`"),
            (search("kind = \"searxng\"\nurl = \"hunter2\""), "url: no URL"),
            (search("kind = \"searxng\"\nurl = \"ftp://h/\""), "another scheme"),
            (search("kind = \"searxng\"\nurl = \"http://u:hunter2@h/\""), "leave them out"),
            (
                search("kind = \"tavily\"\nkey_env = \"NO_SUCH_KEY_IS_SET\""),
                "in the variable NO_SUCH_KEY_IS_SET, which is not set; export it",
            ),
            (search("kind = \"feeds\"\nurls = []"), "no feed is configured"),
            (search("kind = \"feeds\"\nurls = [\"https://h/\", \"x\"]"), "urls, entry 2: no URL"),
            (search("kind = \"replay\""), "needs the key `file`"),
            (search("kind = \"demo\"\nfile = \"x\""), "known there: kind"),
            ("allow = [\"*:80\"]".to_owned(), "allow: allow: `*:80` names no place to allow"),
        ] {
            let message = read(&toml).unwrap_err();
            assert!(message.contains(part), "{toml}\n→ {message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
