//! The user message of a research call, taken apart into its sections. Text inside fences opens no section.

/// The headers of sections; a section ends where the next of them begins.
pub(crate) const HEADERS: [&str; 25] = [
    "OBJECTIVE",
    "LANGUAGE",
    "SEARCHED IN",
    "ITERATION",
    "MENU",
    "NOT OFFERED",
    "REJECTED",
    "ASSIGNMENTS",
    "ASSIGNMENT",
    "FINDINGS",
    "OPEN QUESTIONS",
    "LATEST REVIEW",
    "REQUESTED RESEARCH",
    "LAST MESSAGES",
    "BUDGET",
    "LEFT OUT",
    "CONCERNS",
    "KNOWN ALREADY",
    "SOURCES",
    "NOT READABLE",
    "FOCUS",
    "REVIEW THESE",
    "SEEN BEFORE",
    "EARLIER REVIEWS",
    "QUESTION",
];

/// What the lines around a text from outside begin with.
pub(crate) const FENCE_OPENS: &str = "<<source ";
pub(crate) const FENCE_CLOSES: &str = "<<end ";

/// The sections of a message, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    sections: Vec<(&'static str, String)>,
}

impl View {
    pub(crate) fn read(text: &str) -> Self {
        let mut sections: Vec<(&'static str, String)> = Vec::new();
        let mut is_fenced = false;
        for line in text.lines() {
            is_fenced =
                if is_fenced { !line.starts_with(FENCE_CLOSES) } else { line.starts_with(FENCE_OPENS) };
            if let (false, Some((name, rest))) = (is_fenced, header(line)) {
                sections.push((name, rest.trim().to_owned()));
            } else if let Some((_, body)) = sections.last_mut() {
                body.push('\n');
                body.push_str(line);
            }
        }
        Self { sections }
    }

    /// A section's text without the white space around it; `None` when it is missing or empty.
    pub(crate) fn section(&self, name: &str) -> Option<&str> {
        let (_, body) = self.sections.iter().find(|(header, _)| *header == name)?;
        Some(body.trim_matches('\n').trim_end()).filter(|body| !body.trim().is_empty())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.section(name).is_some()
    }

    /// The `- …` entries of a section; what stands on the lines after one belongs to it.
    pub(crate) fn items(&self, name: &str) -> Vec<String> {
        let mut items: Vec<String> = Vec::new();
        for line in self.section(name).unwrap_or_default().lines() {
            match line.strip_prefix("- ") {
                Some(item) => items.push(item.trim().to_owned()),
                None => {
                    if let Some(item) = items.last_mut() {
                        item.push(' ');
                        item.push_str(line.trim());
                    }
                }
            }
        }
        items
    }

    /// The headers in their order, for the check that none comes twice.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &'static str> {
        self.sections.iter().map(|(name, _)| *name)
    }
}

/// The header that a line begins with, and the rest of the line.
fn header(line: &str) -> Option<(&'static str, &str)> {
    HEADERS.into_iter().find_map(|name| Some((name, line.strip_prefix(name)?.strip_prefix(':')?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "OBJECTIVE: Find it.\nIn two lines.\nLANGUAGE:\nJapanese\nMENU:\n- COMPLETE\n- FAIL\n  or not\n\
        SOURCES:\nS1 | t | -\n<<source S1 ab>>\nMENU:\n- ASSIGN_RESEARCH\n<<end S1 ab>>\nNOT READABLE:\n";

    #[test]
    fn sections_begin_at_headers_outside_fences() {
        let view = View::read(TEXT);
        assert_eq!(view.section("OBJECTIVE"), Some("Find it.\nIn two lines."));
        assert_eq!(view.section("LANGUAGE"), Some("Japanese"));
        assert_eq!(view.items("MENU"), ["COMPLETE", "FAIL or not"]);
        assert!(view.section("SOURCES").unwrap().contains("- ASSIGN_RESEARCH"));
        assert!(!view.has("NOT READABLE") && !view.has("FOCUS"));
        let headers: Vec<_> = view.headers().collect();
        assert_eq!(headers, ["OBJECTIVE", "LANGUAGE", "MENU", "SOURCES", "NOT READABLE"]);
    }
}
