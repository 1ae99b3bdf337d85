//! The jobs of a research task on a real database, a real search and real pages, with a model whose words are scripted.

mod bed;
mod breaking_off;
mod endings;
mod hostile;
mod whole;
