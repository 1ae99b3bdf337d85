//! The many names of one model.

/// Whether a server's name for a model means the one that was asked for. llama.cpp names the file it loaded,
/// Ollama adds `:latest`, and LM Studio adds `:2` to a second instance.
pub fn same_model(asked: &str, served: &str) -> bool {
    let plain = |name: &str| {
        let name = name.to_lowercase();
        let name = match name.strip_suffix(".gguf") {
            Some(path) => path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
            None => name,
        };
        match name.rsplit_once(':') {
            Some((name, tag)) if tag == "latest" || tag.bytes().all(|b| b.is_ascii_digit()) => {
                name.to_owned()
            }
            _ => name,
        }
    };
    plain(asked) == plain(served)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_names_of_one_model() {
        assert!(same_model("openai/gpt-oss-20b", "openai/gpt-oss-20b"));
        assert!(
            same_model("qwen3", "qwen3:latest") && same_model("openai/gpt-oss-20b", "openai/gpt-oss-20b:2")
        );
        assert!(same_model("gpt-oss-20b", "/models/GPT-OSS-20b.gguf"));
        assert!(!same_model("gpt-oss-20b", "gpt-oss-120b") && !same_model("qwen3:8b", "qwen3:4b"));
        assert!(!same_model("gpt-oss-20b", "gpt-oss-20b-Q4_K_M.gguf"));
    }
}
