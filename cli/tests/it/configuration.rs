//! What `up` refuses to start with, and why.

use std::net::TcpListener;

use nightforge_store::{DbClock, Store};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::program::{Place, free_port};

/// A model whose server is not there; enough to come past discovery.
fn with_model(rest: &str) -> String {
    let port = free_port();
    format!(
        "{rest}\n[models.coder]\nname = \"m\"\n[[models.coder.endpoints]]\nurl = \"http://127.0.0.1:{port}/v1\"\n"
    )
}

#[test]
fn unknown_keys_are_named_with_their_place() {
    let place = Place::new();
    place.write("nightforge.toml", "[limits]\nmax_luck = 3\n");
    place.run(&["up"]).refused(78, &["nightforge.toml", "unknown key `limits.max_luck`", "max_attempts"]);
    let other = place.write("other.toml", "colour = \"red\"\n");
    let other = other.to_str().unwrap();
    place.run(&["up", "--config", other]).refused(78, &["other.toml", "unknown key `colour`", "listen"]);
    place.run(&["up", "--config", "absent.toml"]).refused(78, &["absent.toml"]);
    let broken = place.write("broken.toml", "[limits\n");
    place.run(&["up", "--config", broken.to_str().unwrap()]).refused(78, &["broken.toml"]);
}

#[test]
fn variables_are_settings_too() {
    let place = Place::new();
    let run = |name: &str, value: &str| {
        let output = place.command(&["up"]).env(name, value).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, err) = run("NIGHTFORGE_COLOUR", "red");
    assert!(code == Some(78) && err.contains("NIGHTFORGE_COLOUR: unknown key"), "{code:?} {err}");
    for value in ["0", "many"] {
        let (code, err) = run("NIGHTFORGE_LIMITS__MAX_TURNS", value);
        assert!(code == Some(78) && err.contains("NIGHTFORGE_LIMITS__MAX_TURNS:"), "{code:?} {err}");
    }
    let (code, err) = run("NIGHTFORGE_DISCOVER", "[]");
    assert!(code == Some(78) && err.contains("NIGHTFORGE_DISCOVER: discover is empty"), "{code:?} {err}");
    let (code, err) = run("NIGHTFORGE_LOG", "a=b=c");
    assert!(code == Some(78) && err.contains("NIGHTFORGE_LOG"), "{code:?} {err}");
}

#[test]
fn a_key_stands_in_no_message() {
    let place = Place::new();
    let file = with_model("").replace("[[models", "api_key = \"hunter2\"\n[[models");
    place.write("nightforge.toml", &file);
    let run = place.run(&["up"]);
    run.refused(78, &["api_key"]);
    assert!(!run.err.contains("hunter2"), "{}", run.err);
}

#[test]
fn endpoints_are_judged_before_anything_starts() {
    let place = Place::new();
    let good = with_model("");
    let cases = [
        (good.replace("http://", "http://u:hunter2@"), "[models.coder]: endpoint 1: url: holds a user"),
        (good.replace("/v1", "/v1?key=hunter2"), "endpoint 1: url: holds a query"),
        (good.replace("http://", "hunter2://"), "endpoint 1: url: must begin with http://"),
        (format!("{good}slots = 65\n"), "endpoint 1: slots must be from 1 to 64"),
        ("discover = [\"http://u:hunter2@h/v1\"]".to_owned(), "discover, entry 1: url: holds a user"),
        ("discover = [\"http://hunter2".to_owned(), "TOML parse error at line 1"),
    ];
    for (toml, part) in cases {
        place.write("nightforge.toml", &toml);
        let run = place.run(&["up", "--data", "data", "--listen", "127.0.0.1:0"]);
        run.refused(78, &["nightforge.toml:", part]);
        assert!(!run.err.contains("hunter2"), "{}", run.err);
    }
    assert!(!place.path("data").exists(), "nothing is written");
}

#[test]
fn a_damaged_database_is_called_damaged() {
    let place = Place::new();
    let data = place.path("data");
    std::fs::create_dir(&data).unwrap();
    let database = data.join("nightforge.db");
    let verbs = [&["demo", "--data", "data"][..], &["list", "--data", "data"]];
    std::fs::write(&database, "x".repeat(8_192)).unwrap();
    for verb in verbs {
        place
            .run(verb)
            .refused(78, &["nightforge.db", "damaged", "restore a backup", "move the data folder away"]);
    }
    std::fs::remove_file(&database).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = format!("sqlite:{}", database.display());
        Store::open(&url, DbClock::Database).await.unwrap().close().await;
    });
    let file = std::fs::OpenOptions::new().write(true).open(&database).unwrap();
    file.set_len(3 * 4_096).unwrap();
    for verb in verbs {
        place.run(verb).refused(78, &["malformed", "damaged", "restore a backup"]);
    }
}

#[test]
fn a_data_folder_with_a_question_mark_is_refused_before_anything_is_made() {
    let place = Place::new();
    for verb in ["demo", "list"] {
        place.run(&[verb, "--data", "o/q?mark"]).refused(78, &["q?mark", "`?`", "--data"]);
    }
    assert!(!place.path("o").exists());
}

#[test]
fn a_data_folder_without_a_name_is_refused() {
    let place = Place::new();
    place.write("nightforge.toml", &with_model("data = \"\""));
    for verb in
        [&["up"][..], &["api"], &["scheduler"], &["worker"], &["migrate"], &["doctor"], &["config", "show"]]
    {
        place.run(verb).refused(78, &["nightforge.toml", "data is empty"]);
    }
    assert!(!place.path("nightforge.db").exists(), "nothing lands in the current folder");
}

#[test]
fn no_model_server_ends_with_the_addresses_and_the_demo() {
    let place = Place::new();
    let (one, two) = (free_port(), free_port());
    let toml = format!("discover = [\"http://127.0.0.1:{one}/v1\", \"http://127.0.0.1:{two}/v1\"]\n");
    place.write("nightforge.toml", &toml);
    let run = place.run(&["up", "--data", "data", "--listen", "127.0.0.1:0"]);
    run.refused(
        5,
        &[&one.to_string(), &two.to_string(), "nothing answers", "nightforge demo", "nightforge.toml"],
    );
    assert!(!place.path("data").exists(), "nothing is written");
}

#[test]
fn a_port_in_use_is_named_and_nothing_is_written() {
    let place = Place::new();
    place.write("nightforge.toml", &with_model(""));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place.run(&["up", "--data", "data", "--listen", &address]).refused(4, &[&address, "in use", "--listen"]);
    place.run(&["demo", "--data", "data", "--listen", &address]).refused(4, &[&address, "in use"]);
    assert!(!place.path("data").exists());
}

#[test]
fn other_machines_are_not_listened_to() {
    let place = Place::new();
    place.write("nightforge.toml", &with_model("listen = \"0.0.0.0:7700\""));
    place.run(&["up", "--data", "data"]).refused(78, &["0.0.0.0:7700", "127.0.0.1"]);
    assert!(!place.path("data").exists());
}

#[test]
fn a_file_in_the_data_folders_place_is_left_alone() {
    let place = Place::new();
    place.write("nightforge.toml", &with_model(""));
    let file = place.write("data", "mine");
    for verb in ["up", "demo"] {
        place.run(&[verb, "--data", "data", "--listen", "127.0.0.1:0"]).refused(78, &["data", "--data"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
}

#[test]
fn a_newer_database_is_left_alone_and_both_versions_are_named() {
    let place = Place::new();
    let data = place.path("data");
    std::fs::create_dir(&data).unwrap();
    let database = data.join("nightforge.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = format!("sqlite:{}", database.display());
        Store::open(&url, DbClock::Database).await.unwrap().close().await;
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (9999, 'from the future', 1, x'00', 0)",
        )
        .execute(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
    });
    let known = Store::schema_version().to_string();
    place.write("nightforge.toml", &with_model(""));
    for args in [&["up", "--data", "data", "--listen", "127.0.0.1:0"][..], &["demo", "--data", "data"]] {
        place.run(args).refused(78, &["9999", &known, env!("CARGO_PKG_VERSION")]);
    }
    place.run(&["list", "--data", "data"]).refused(78, &["9999", &known]);
}
