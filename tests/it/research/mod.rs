//! Research by the team of agents: every part real but the model's words.

mod cancelled;
mod changed;
mod cluster;
mod demo;
mod hostile;
mod killed;
mod limits;
mod llama;
mod unavailable;
