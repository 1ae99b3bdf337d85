//! Searching and reading over real HTTP, against servers of this machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod brave;
mod corpus;
mod corpus_index;
mod demo;
mod extract_child;
mod extract_pdfs;
mod feeds;
mod guard_addresses;
mod guard_names;
mod hostile_pages;
mod reader_pages;
mod reader_site;
mod reader_tls;
mod replay;
mod searxng;
mod servers;
mod tavily;
