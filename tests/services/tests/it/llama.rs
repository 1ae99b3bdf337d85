use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use nightforge_services::{LlamaOptions, LlamaServer};

use crate::runs;

/// The whole answer to a request, head and body.
fn http(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}");
    write!(stream, "{head}\r\nContent-Type: application/json\r\n\r\n{body}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_real_model_answers_and_dies_with_its_stream_open() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let props = http(server.port(), "GET", "/props", "").unwrap();
    assert!(props.contains("\"n_ctx\":16384"), "per slot: {props}");
    assert!(props.contains("\"total_slots\":2"));
    let models = http(server.port(), "GET", "/v1/models", "").unwrap();
    assert!(models.contains(&format!("\"id\":\"{}\"", server.model())), "{models}");
    let hello = r#"{"messages":[{"role":"user","content":"Say hello."}],"max_tokens":8}"#;
    let answer = http(server.port(), "POST", "/v1/chat/completions", hello).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"completion_tokens\":"), "{answer}");
    let endless = r#"{"messages":[{"role":"user","content":"Count."}],"stream":true,"ignore_eos":true}"#;
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{endless}", endless.len()).unwrap();
    stream.read_exact(&mut [0; 512]).unwrap();
    let id = server.process_id().unwrap();
    drop(server);
    assert!(!runs(id));
}

#[test]
fn a_killed_server_loads_again_on_its_port() {
    let options =
        LlamaOptions { context_tokens: 2_048, slots: 1, alias: "tiny".to_owned(), ..Default::default() };
    let mut server = LlamaServer::launch(&options).unwrap();
    server.wait_until_ready().unwrap();
    let port = server.port();
    assert!(http(port, "GET", "/props", "").unwrap().contains("\"n_ctx\":2048"));
    server.kill().unwrap();
    assert!(http(port, "GET", "/health", "").is_err(), "nobody answers");
    server.restart().unwrap();
    assert_eq!(server.port(), port);
    assert!(http(port, "GET", "/v1/models", "").unwrap().contains("\"id\":\"tiny\""));
    server.freeze();
    server.thaw();
    assert!(http(port, "GET", "/health", "").unwrap().starts_with("HTTP/1.1 200"));
}
