//! Indents a new text as the file is, when the model indented the old one otherwise.

/// `None` when there is no one rule that leads from the model's indentation to the file's; a guess could
/// break the file.
pub(super) fn adapt(old: &[&str], file: &[&str], new: &str) -> Option<String> {
    let pairs: Vec<(&str, &str)> = old
        .iter()
        .zip(file)
        .filter(|(old, _)| !old.trim().is_empty())
        .map(|(old, file)| (indent_of(old), indent_of(file)))
        .collect();
    let rule = Rule::from(&pairs)?;
    let lines: Option<Vec<String>> = new
        .split('\n')
        .map(|line| {
            if line.trim().is_empty() {
                return Some(line.to_owned());
            }
            let indent = indent_of(line);
            Some(rule.apply(indent)? + &line[indent.len()..])
        })
        .collect();
    Some(lines?.join("\n"))
}

enum Rule {
    /// The file has this in front of the model's.
    Add(String),
    /// The model has this in front of the file's.
    Remove(String),
    /// So many spaces of the model are a tab of the file, plus some levels.
    ToTabs { width: usize, levels: i64 },
    /// A tab of the model is so many spaces of the file, plus some more.
    ToSpaces { width: usize, more: i64 },
}

impl Rule {
    fn from(pairs: &[(&str, &str)]) -> Option<Self> {
        let (old, file) = pairs.first()?;
        if let Some(added) = file.strip_suffix(old)
            && pairs.iter().all(|(old, file)| file.strip_prefix(added) == Some(old))
        {
            return Some(Rule::Add(added.to_owned()));
        }
        if let Some(removed) = old.strip_suffix(file)
            && pairs.iter().all(|(old, file)| old.strip_prefix(removed) == Some(file))
        {
            return Some(Rule::Remove(removed.to_owned()));
        }
        let only = |which: fn(&(&str, &str)) -> (usize, bool)| pairs.iter().all(|pair| which(pair).1);
        if only(|pair| spaces(pair.0)) && only(|pair| tabs(pair.1)) {
            return to_tabs(pairs).map(|(width, levels)| Rule::ToTabs { width, levels });
        }
        if only(|pair| tabs(pair.0)) && only(|pair| spaces(pair.1)) {
            // The same, read the other way round: file = old * width + more.
            return [4, 2, 8, 3, 1].into_iter().find_map(|width| {
                let mut rests =
                    pairs.iter().map(|(old, file)| signed(file.len()) - signed(old.len() * width));
                let more = rests.next()?;
                (rests.all(|rest| rest == more)).then_some(Rule::ToSpaces { width, more })
            });
        }
        None
    }

    fn apply(&self, indent: &str) -> Option<String> {
        match self {
            Rule::Add(added) => Some(format!("{added}{indent}")),
            Rule::Remove(removed) => indent.strip_prefix(removed.as_str()).map(str::to_owned),
            Rule::ToTabs { width, levels } => {
                let (count, true) = spaces(indent) else { return Some(indent.to_owned()) };
                let tabs = usize::try_from(signed(count / width) + levels).ok()?;
                Some("\t".repeat(tabs) + &" ".repeat(count % width))
            }
            Rule::ToSpaces { width, more } => {
                let (count, true) = tabs(indent) else { return Some(indent.to_owned()) };
                Some(" ".repeat(usize::try_from(signed(count * width) + more).ok()?))
            }
        }
    }
}

/// The width of a tab in spaces for which all pairs agree; 4 first, and one without a shift before others.
fn to_tabs(pairs: &[(&str, &str)]) -> Option<(usize, i64)> {
    let mut fitting = [4, 2, 8, 3, 1].into_iter().filter_map(|width| {
        let mut levels = pairs.iter().map(|(old, file)| {
            old.len().is_multiple_of(width).then(|| signed(file.len()) - signed(old.len() / width))
        });
        let first = levels.next()??;
        levels.all(|level| level == Some(first)).then_some((width, first))
    });
    let first = fitting.next()?;
    Some(if first.1 == 0 { first } else { fitting.find(|(_, levels)| *levels == 0).unwrap_or(first) })
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn spaces(indent: &str) -> (usize, bool) {
    (indent.len(), indent.bytes().all(|byte| byte == b' '))
}

fn tabs(indent: &str) -> (usize, bool) {
    (indent.len(), indent.bytes().all(|byte| byte == b'\t'))
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
