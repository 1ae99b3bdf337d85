//! Stories of bells, a file each. Those that need a `redis-server` have `redis` in their path.

mod apalis;
mod conformance;
mod in_memory;
mod redis;
mod redis_apalis;
mod redis_leftovers;
mod redis_outages;
mod redis_processes;
mod redis_refusals;
mod redis_server;
mod redis_tls;
