//! Arrows between crates run only downwards, and what is fixed to one crate is named by no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and its layer; a crate may use crates of a lower layer only.
const LAYERS: [(&str, &str, u8); 10] = [
    ("shared/domain", "nightforge-domain", 0),
    ("shared/store", "nightforge-store", 1),
    ("shared/queue", "nightforge-queue", 1),
    ("shared/llm", "nightforge-llm", 1),
    ("shared/sources", "nightforge-sources", 1),
    ("shared/demo", "nightforge-demo", 1),
    ("scheduler", "nightforge-scheduler", 2),
    ("worker", "nightforge-worker", 2),
    ("api", "nightforge-api", 2),
    ("cli", "nightforge", 3),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace's root").to_owned()
}

/// Names of the dependencies that end in the product: not those of tests.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    ["dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| manifest.get(*section)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn arrows_run_only_downwards() {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().map(|(_, name, layer)| (*name, *layer)).collect();
    for (folder, name, layer) in LAYERS {
        for used in dependencies(folder) {
            if let Some(other) = layers.get(used.as_str()) {
                assert!(*other < layer, "{name} (layer {layer}) must not use {used} (layer {other})");
            }
        }
    }
}

#[test]
fn every_crate_has_its_layer() {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let members: BTreeSet<&str> = members.iter().filter_map(|member| member.as_str()).collect();
    let layered: BTreeSet<&str> =
        LAYERS.iter().map(|(folder, ..)| *folder).chain(["tests", "tests/services", "tests/bench"]).collect();
    assert_eq!(members, layered);
}

#[test]
fn what_is_fixed_to_one_crate_is_named_by_no_other() {
    let fixed: [(&str, &[&str]); 7] = [
        ("apalis", &["shared/queue"]),
        ("apalis-core", &["shared/queue"]),
        ("apalis-redis", &["shared/queue"]),
        ("redis", &["shared/queue"]),
        ("async-openai", &["shared/llm"]),
        // The state of record; and the corpus index, a file of the worker's own that can be made anew.
        ("sqlx", &["shared/store", "shared/sources"]),
        ("git2", &["worker"]),
    ];
    for (folder, ..) in LAYERS {
        let used = dependencies(folder);
        for (package, homes) in fixed {
            assert!(
                homes.contains(&folder) || !used.contains(package),
                "{folder} must not name {package}; that is for {homes:?}"
            );
        }
    }
    assert!(dependencies("shared/queue").contains("apalis"), "the check looks at the right names");
    assert!(dependencies("shared/llm").contains("async-openai"), "the check looks at the right names");
}

#[test]
fn the_domain_has_no_input_and_no_output() {
    let allowed: BTreeSet<String> =
        ["caseless", "schemars", "serde", "serde_json", "thiserror", "unicode-normalization", "whatlang"]
            .into_iter()
            .map(str::to_owned)
            .collect();
    let used = dependencies("shared/domain");
    assert!(used.is_subset(&allowed), "unexpected dependencies: {:?}", used.difference(&allowed));
    let banned = [
        "std::fs",
        "std::net",
        "std::process",
        "std::env",
        "std::thread",
        "std::time",
        "std::io",
        "println!",
        "eprintln!",
    ];
    for path in sources(&root().join("shared/domain/src")) {
        let text = fs::read_to_string(&path).unwrap();
        // Tests of the domain may compare documents with files.
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in banned {
            assert!(!product.contains(word), "{} names {word}", path.display());
        }
    }
}
