//! State diagrams, drawn from the machines themselves.
