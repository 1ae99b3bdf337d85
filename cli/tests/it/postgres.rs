//! On a PostgreSQL that goes away, or does not let everybody in.

use std::io::BufReader;
use std::process::Child;

use nightforge_services::Postgres;
use rustix::process::Signal;

use crate::program::{Place, free_port, line_with, signal};

/// A model whose server is not there.
fn configuration(database: &str) -> String {
    format!(
        "database_url = \"{database}\"\ndata = \"data\"\nlisten = \"127.0.0.1:0\"\n[models.coder]\nname = \"m\"\n\
         [[models.coder.endpoints]]\nurl = \"http://127.0.0.1:{}/v1\"\n",
        free_port()
    )
}

/// A process that ends with its test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_watches_goes_on_watching_when_the_database_comes_back() {
    let mut postgres = Postgres::start().unwrap();
    let place = Place::new();
    place.write("nightforge.toml", &configuration(&postgres.url()));
    let mut up = Ends(place.command(&["up"]).spawn().unwrap());
    let mut said = BufReader::new(up.0.stderr.take().unwrap());
    let ready = line_with(&mut said, "ready at ");
    let server = ready.split(' ').find(|word| word.starts_with("http")).unwrap().trim_end_matches(',');
    // Whatever it logs must not fill its pipe.
    let log = std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let task = place.run(&["submit", "build", "A board", "--server", server]).out.trim().to_owned();
    let mut watch = Ends(place.command(&["watch", &task, "--server", server]).spawn().unwrap());
    let mut stderr = BufReader::new(watch.0.stderr.take().unwrap());
    line_with(&mut stderr, "waiting: no endpoint of model `coder`");

    postgres.kill().unwrap();
    line_with(&mut stderr, "the server can't answer, its database is away");
    // Each waits for a connection until the server gives up, so all at once.
    let verbs = [
        &["show", &task][..],
        &["list"],
        &["events", &task],
        &["pause", &task],
        &["cancel", &task, "--yes"],
        &["queue", "list"],
        &["workers"],
        &["dead", "list"],
        &["submit", "build", "Another board"],
    ];
    std::thread::scope(|scope| {
        for args in verbs {
            let (args, place) = ([args, &["--server", server]].concat(), &place);
            scope.spawn(move || place.run(&args).refused(5, &["can't reach its database", "Start it"]));
        }
    });
    postgres.restart().unwrap();
    line_with(&mut stderr, "the server answers again");
    assert_eq!(place.run(&["cancel", &task, "--yes", "--server", server]).code, 0);
    assert_eq!(watch.0.wait().unwrap().code(), Some(1), "cancelled, which is no success");
    signal(&up.0, Signal::TERM);
    assert_eq!(up.0.wait().unwrap().code(), Some(0));
    log.join().unwrap().unwrap();
}

#[test]
fn a_server_that_lets_nobody_in_is_a_mistake_in_the_configuration() {
    let mut postgres = Postgres::start().unwrap();
    let place = Place::new();
    let refused = |url: &str| {
        place.write("nightforge.toml", &configuration(url));
        for verb in [&["scheduler"][..], &["worker"], &["api"], &["up"], &["migrate"]] {
            let run = place.run(verb);
            assert_eq!(run.code, 78, "{verb:?}: {}", run.err);
            assert!(
                run.err.contains("Check that PostgreSQL runs") && !run.err.contains("S3CRET"),
                "{}",
                run.err
            );
        }
    };
    refused(&format!("postgres://postgres@127.0.0.1:{}/absent", postgres.port()));
    refused(&format!("postgres://nobody:S3CRET@127.0.0.1:{}/postgres", postgres.port()));
    let rules = "host all all 127.0.0.1/32 scram-sha-256\n";
    std::fs::write(postgres.data().join("pg_hba.conf"), rules).unwrap();
    postgres.restart().unwrap();
    refused(&format!("postgres://postgres:S3CRET@127.0.0.1:{}/postgres", postgres.port()));
}
