//! The program that runs a command beside services.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use crate::{all_end, children};

#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn with_services(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_with-services"));
    // This test may itself run beside services.
    command.env_remove("NIGHTFORGE_TEST_POSTGRES_URL");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn error_of(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Starts a command that says where its services are and then waits; the url and the ids of all processes.
fn waiting(signal_trap: &str) -> (Child, Vec<u32>) {
    let script = format!("{signal_trap} echo $NIGHTFORGE_TEST_POSTGRES_URL; while :; do sleep 0.05; done");
    let mut child = with_services(&["--postgres", "--", "sh", "-c", &script]);
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    assert!(url.starts_with("postgres://postgres@127.0.0.1:"), "{url}");
    let mine = children(child.id());
    let all: Vec<u32> = mine.iter().flat_map(|id| children(*id)).chain(mine.iter().copied()).collect();
    assert!(all.len() > 3, "{all:?}");
    (child, all)
}

fn signal(id: u32, name: &str) {
    #[expect(clippy::disallowed_methods, reason = "the test sends a signal")]
    let told = Command::new("kill").args([name, &id.to_string()]).status().unwrap();
    assert!(told.success());
}

#[test]
fn the_exit_code_is_the_commands() {
    let mut child = with_services(&["--", "sh", "-c", "echo $NIGHTFORGE_TEST_POSTGRES_URL; exit 7"]);
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.trim()), (Some(7), ""), "no service was asked for");
    let killed = with_services(&["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(error_of(killed).0, Some(128 + 9));
}

#[test]
fn wrong_use_is_told() {
    let (code, text) = error_of(with_services(&["--mysql", "--", "true"]));
    assert!(code == Some(1) && text.contains("--mysql") && text.contains("usage:"), "{text}");
    let (code, text) = error_of(with_services(&[]));
    assert!(code == Some(1) && text.contains("no command"), "{text}");
    let (code, text) = error_of(with_services(&["--", "/no/such/program"]));
    assert!(code == Some(1) && text.contains("/no/such/program"), "{text}");
}

#[test]
fn told_to_end_it_passes_it_on_and_stops_everything() {
    let (mut child, all) = waiting("trap 'exit 3' TERM;");
    signal(child.id(), "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(all_end(&all));
}

#[test]
fn killed_it_takes_its_services_along() {
    let (mut child, all) = waiting("");
    let [postgres, command] = children(child.id())[..] else { panic!("a server and a command") };
    let arguments = std::fs::read_to_string(format!("/proc/{postgres}/cmdline")).unwrap();
    let data = arguments.split('\0').find(|argument| argument.ends_with("/data")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let services: Vec<u32> = all.into_iter().filter(|id| *id != command).collect();
    // The command itself may not be one that can be ended at once; here it is this test's to end.
    signal(command, "-KILL");
    assert!(all_end(&services));
    std::fs::remove_dir_all(std::path::Path::new(data).parent().unwrap()).unwrap();
}
