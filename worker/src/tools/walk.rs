//! Every file below a folder that git would not ignore, in an order that shows the nearest first.

use std::ops::ControlFlow;

use super::ToolError;
use super::confined::{Files, ProjectPath, operator};
use crate::project::MAX_DEPTH;
use crate::project::folder::{Entry, Folder, Kind};
use crate::project::ignored::{Rules, is_git_name};

/// What is done with each file and link, of which it gets the folder, the entry and the path.
type Visit<'a> = &'a mut dyn FnMut(&Folder, &Entry, &str) -> Result<ControlFlow<()>, ToolError>;

/// Visits files and links, those of a folder before those of the folders in it. Links are not followed.
pub(super) fn walk(files: &Files, start: &ProjectPath, visit: Visit<'_>) -> Result<(), ToolError> {
    let mut walk = Walk { start, visit };
    walk.down(files.top(), None, &mut Vec::new(), 0).map(drop)
}

struct Walk<'a> {
    start: &'a ProjectPath,
    visit: Visit<'a>,
}

impl Walk<'_> {
    /// To the start, collecting the rules on the way.
    fn down(
        &mut self,
        folder: &Folder,
        above: Option<&Rules<'_>>,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<ControlFlow<()>, ToolError> {
        let rules = Rules::of(folder, path, above);
        let Some(name) = self.start.names.get(depth) else { return self.below(folder, &rules, path) };
        match folder.kind(name).map_err(operator(self.start))? {
            Some(Kind::Folder) => {}
            _ => {
                return Err(ToolError::model(format!(
                    "`{}` is not a folder of the project itself",
                    self.start
                )));
            }
        }
        let next = folder.enter(name).map_err(operator(self.start))?;
        join(path, name.as_bytes());
        self.down(&next, Some(&rules), path, depth + 1)
    }

    fn below(
        &mut self,
        folder: &Folder,
        rules: &Rules<'_>,
        path: &mut Vec<u8>,
    ) -> Result<ControlFlow<()>, ToolError> {
        let mut entries = folder.entries().map_err(operator(self.start))?;
        entries.retain(|entry| !is_git_name(entry.name.as_bytes()));
        let length = path.len();
        for folders in [false, true] {
            for entry in entries.iter().filter(|entry| (entry.kind == Kind::Folder) == folders) {
                join(path, entry.name.as_bytes());
                let flow = if rules.ignore(path, folders) || entry.kind == Kind::Other {
                    ControlFlow::Continue(())
                } else if !folders {
                    (self.visit)(folder, entry, &String::from_utf8_lossy(path))?
                } else if path.iter().filter(|byte| **byte == b'/').count() < MAX_DEPTH {
                    let next = folder.enter(&entry.name).map_err(operator(self.start))?;
                    let rules = Rules::of(&next, path, Some(rules));
                    self.below(&next, &rules, path)?
                } else {
                    ControlFlow::Continue(())
                };
                path.truncate(length);
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn join(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}
