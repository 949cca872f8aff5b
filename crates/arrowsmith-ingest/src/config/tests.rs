// SPDX-License-Identifier: Apache-2.0
//! Tests of the configuration: layers, units, and what is refused.

use arrowsmith::options::{JSON, Value as Given};

use super::*;

fn load(text: &str, environment: &[(&str, &str)], settings: &[&str]) -> Result<Config> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    std::fs::write(&path, text).unwrap();
    let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
    let table = layer::read(Some(&path), environment, &settings)?;
    let config = Config::of(table)?.completed();
    config.check()?;
    Ok(config)
}

const SMALL: &str = "[stream.events]\nschema = 'trip'\n";

#[test]
fn later_layers_win() {
    let text = format!("[limits]\nconnections = 1\ndepth = 3\n[service]\nthreads = 1\n{SMALL}");
    let environment =
        [("ARROWSMITH_INGEST_LIMITS__CONNECTIONS", "2"), ("ARROWSMITH_INGEST_LIMITS__DEPTH", "4")];
    let config = load(
        &text,
        &environment,
        &[
            "limits.depth=5",
            "service.memory=8MiB",
            "limits.record_bytes=1MiB",
            "limits.body_bytes=2 MB",
        ],
    )
    .unwrap();
    assert_eq!(config.service.threads, 1);
    assert_eq!(config.limits.connections, 2);
    assert_eq!(config.limits.depth, 5);
    assert_eq!(config.service.memory, Size(8 << 20));
    assert_eq!(config.limits.body_bytes, Size(2_000_000));
}

#[test]
fn lists_are_set_by_number() {
    let config = load(
        SMALL,
        &[],
        &[
            "stream.events.sink.0.type=directory",
            "stream.events.sink.0.path=out",
            "stream.events.tcp=[\"127.0.0.1:1\"]",
        ],
    )
    .unwrap();
    let stream = &config.streams["events"];
    assert_eq!(stream.sinks.len(), 1);
    assert_eq!(stream.tcp, ["127.0.0.1:1"]);
    assert!(load(SMALL, &[], &["stream.events.sink.1.type=stdout"]).is_err());
}

#[test]
fn what_makes_no_sense_is_named() {
    let cases = [
        ("", "there is no stream"),
        ("[stream.a]\n", "stream.a.schema: is needed"),
        (
            "[stream.a]\nschema = 'trip'\n[stream.'a.directory']\nschema = 'trip'\n",
            "rejects/a.directory: two streams have these rejects",
        ),
        ("[stream.a]\nschema='trip'\ncolour=1", "colour"),
        ("[stream.a]\nschema='no: such type'", "stream.a.schema"),
        ("[stream.'a/b']\nschema='trip'", "stream.a/b"),
        (
            "[stream.a]\nschema='trip'\n[[stream.a.sink]]\ntype='directory'\npath='s4://b/x'",
            "s4://b/x",
        ),
        (
            "[stream.a]\nschema='trip'\n[[stream.a.sink]]\ntype='directory'\npath='http://b/x'",
            "not a web server",
        ),
        ("[stream.a]\nschema='trip'\n[service]\nadmin_token=''", "service.admin_token"),
        ("[stream.a]\nschema='trip'\ntokens=['x ']", "tokens: number 0"),
        ("[stream.a]\nschema='a: fixed_size_binary(2147483647)'", "a row takes 2147483648 bytes"),
        ("[stream.a]\nschema='trip'\ntokens=['']", "tokens"),
        ("[stream.a]\nschema='trip'\n[[stream.a.sink]]\ntype='nowhere'", "nowhere"),
        ("[stream.a]\nschema='trip'\n[service]\nmemory='12 parsecs'", "12 parsecs"),
        ("[stream.a]\nschema='trip'\n[service]\nmemory=-1", "negative"),
        ("[stream.a]\nschema='trip'\n[limits]\nidle_seconds=0", "above 0"),
        ("[stream.a]\nschema='trip'\n[limits]\nbody_bytes='1GiB'", "half of service.memory"),
        ("[stream.a]\nschema='trip'\ntcp=['h:1','h:1']", "two listeners"),
        ("[stream.a]\nschema='trip'\ntcp=['127.0.0.1:1','0.0.0.0:1']", "two listeners"),
        ("[stream.a]\nschema='trip'\ntcp=['[::1]:8080','[::]:8080']", "two listeners"),
        ("[stream.a]\nschema='trip'\ntcp=['8080']", "8080: is not HOST:PORT"),
        ("[stream.a]\nschema='trip'\ntcp=['::1:80000']", "::1:80000: is not HOST:PORT"),
        ("[stream.a]\nschema='trip'\nengine='quantum'", "quantum"),
        ("[stream.a]\nschema='trip'\nfields_max=0", "stream.a"),
        ("[stream.a]\nschema='_sequence: int8'\norder='column'", "stream.a: order: the schema"),
        ("[stream.a]\nschema='trip'\nfollow=['logs/[a']", "logs/[a"),
        ("[stream.a]\nschema='trip'\nfollow=['logs/']", "names a folder"),
        ("[stream.a]\nschema='trip'\nrejects=''", "rejects"),
        ("[stream.a]\nschema='trip'\n[[stream.a.sink]]\ntype='directory'\npath=''", "path"),
        (
            "[stream.a]\nschema='trip'\n[[stream.a.sink]]\ntype='directory'\npath='o'\n\
             [[stream.a.sink]]\ntype='directory'\npath='./o/'",
            "two go to directory",
        ),
    ];
    for (text, expected) in cases {
        let message = load(text, &[], &[]).unwrap_err().to_string();
        assert!(message.contains(expected), "{text:?} gave {message:?}");
    }
    assert!(load(SMALL, &[("ARROWSMITH_INGEST_STREAM__EVENTS__SCHEMA__X", "1")], &[]).is_err());
    let empty = [("ARROWSMITH_INGEST_SERVICE__ADMIN_TOKEN", "")];
    assert!(load(SMALL, &empty, &[]).unwrap_err().to_string().contains("service.admin_token"));
    assert!(load(SMALL, &[], &["nonsense"]).is_err());
    assert!(load(SMALL, &[], &["=1"]).is_err());
}

/// What is wrong is said in words of TOML, with the path of the setting.
#[test]
fn what_is_wrong_is_named_by_its_path() {
    let stream = "[stream.a]\nschema = 'trip'\n";
    for (text, expected) in [
        ("on_error = 'fail'", "stream.a.on_error: expected \"reject\" or \"null\", found \"fail\""),
        ("on_error = 1", "stream.a.on_error: expected \"reject\" or \"null\", found 1"),
        ("order = ['x']", "stream.a.order: expected \"metadata\" or \"column\", found a list"),
        ("acknowledge = 'yes'", "stream.a.acknowledge: expected true or false, found \"yes\""),
        (
            "message_rows = 'x'",
            "stream.a.message_rows: expected a whole number from 0, found \"x\"",
        ),
        ("message_rows = -1", "stream.a.message_rows: expected a whole number from 0, found -1"),
        ("message_rows = 1.5", "stream.a.message_rows: expected a whole number from 0, found 1.5"),
        ("tcp = 'h:1'", "stream.a.tcp: expected a list, found \"h:1\""),
        ("tcp = [1]", "stream.a.tcp.0: expected text in quotes, found 1"),
        ("key = []", "stream.a.key: expected text in quotes, found a list"),
        ("spool = 'x'", "stream.a.spool: expected a table, found \"x\""),
        ("[stream.a.spool]\nbytes = 1", "stream.a.spool.path: is needed"),
        ("[stream.a.spool]\npath = 1", "stream.a.spool.path: expected text in quotes, found 1"),
        ("sink = 1", "stream.a.sink: expected a list, found 1"),
        ("[stream.a.sink]\ntype = 'stdout'", "stream.a.sink: expected a list, found a table"),
        ("[[stream.a.sink]]\npath = 'x'", "stream.a.sink.0.type: is needed"),
        (
            "[[stream.a.sink]]\ntype = 'kafka'",
            "stream.a.sink.0.type: expected \"directory\", \"stdout\", \"pulsar\" or \"flight\", \
             found \"kafka\"",
        ),
        (
            "[[stream.a.sink]]\ntype = 'stdout'\n[[stream.a.sink]]\ntype = 'stdout'\ncolour = 1",
            "stream.a.sink.1.colour: no such setting; there are compression",
        ),
        ("[limits]\ndepth = true", "limits.depth: expected a whole number from 0, found true"),
        ("[limits]\ndepth = 1025", "limits.depth: has to be at most 1024"),
        ("[limits]\ndepth = 0", "limits.depth: has to be above 0"),
        ("[limits]\nbody_bytes = 0", "limits.body_bytes: has to be above 0"),
        ("[service]\nthreads = 1025", "service.threads: has to be at most 1024"),
        ("[service]\notlp = 'c:4318'", "service.otlp: \"c:4318\" is not http://HOST:PORT"),
        ("[service]\notlp = 'https://c'", "service.otlp: \"https://c\" is not http://HOST:PORT"),
        ("message_bytes = 0", "stream.a.message_bytes: has to be above 0"),
        ("dial = ['h:0']", "stream.a.dial: \"h:0\" is not HOST:PORT to connect to"),
        ("dial = ['tcp://h']", "stream.a.dial: \"tcp://h\" is not HOST:PORT to connect to"),
        ("[service]\nhttp = 1", "service.http: expected text in quotes, found 1"),
        ("[tls]\nkey = 'x'", "tls.certificates: is needed"),
        ("[server]\n", "server: no such setting; there are service, tls, limits, stream"),
    ] {
        let error = load(&format!("{stream}{text}\n"), &[], &[]).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
    }
    let error = load("stream = 1", &[], &[]).unwrap_err().to_string();
    assert_eq!(error, "stream: expected a table, found 1");
    let error = load("[stream]\na = 1", &[], &[]).unwrap_err().to_string();
    assert_eq!(error, "stream.a: expected a table, found 1");
}

/// A configuration of a directory with these settings, for a schema.
fn directory(schema: &str, settings: &str) -> Result<Config> {
    let sink = format!("[[stream.s.sink]]\ntype = 'directory'\n{settings}\n");
    load(&format!("[stream.s]\nschema = '{schema}'\n{sink}"), &[], &[])
}

#[test]
fn folders_are_those_of_columns() {
    let schema = "at: timestamp(us), country: dictionary<int8, utf8>, price: float64";
    let parquet = "path = 'o'\nformat = 'parquet'\n";
    for by in ["[]", "['country']", "['day(at)', 'country']", "['year(at)', 'month(at)']"] {
        directory(schema, &format!("{parquet}partition_by = {by}")).unwrap();
    }
    for (settings, expected) in [
        ("partition_by = ['week(at)']", "partition \"week(at)\""),
        ("partition_by = ['nowhere']", "no such column to partition by"),
        ("partition_by = ['price']", "cannot be named after values of type Float64"),
        ("partition_by = ['day(country)']", "needs a date or a timestamp"),
        ("partition_by = ['country', 'country']", "is a partition already"),
        ("partition_by = 'country'", "stream.s.sink.0.partition_by: expected a list"),
        ("partitions_max = 0", "above 0"),
        ("state = 'x'", "state: is of a path in a store"),
    ] {
        let error = directory(schema, &format!("{parquet}{settings}")).unwrap_err().to_string();
        assert!(error.contains(expected), "{settings}: {error}");
    }
    let error = directory(schema, "path = 'o'\npartition_by = ['country']").unwrap_err();
    assert!(error.to_string().contains("needs format = \"parquet\""), "{error}");
    let inferred = format!("{parquet}partition_by = ['country']");
    let error = directory("auto", &inferred).unwrap_err().to_string();
    assert!(error.contains("`types` has to name its type"), "{error}");
    let typed = format!(
        "[stream.s]\nschema = 'auto'\ntypes = 'country: utf8'\n\
         [[stream.s.sink]]\ntype = 'directory'\n{inferred}\n"
    );
    load(&typed, &[], &[]).unwrap();
    // Columns that the service adds are some, too.
    let ordered = format!(
        "[stream.s]\nschema = 'trip'\norder = 'column'\n[[stream.s.sink]]\n\
         type = 'directory'\n{parquet}partition_by = ['_connection']\n"
    );
    load(&ordered, &[], &[]).unwrap();
}

#[cfg(unix)]
#[test]
fn a_directory_is_the_same_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
    let two = |other: &str| {
        let here = folder.path().display();
        let sink =
            |path| format!("[[stream.s.sink]]\ntype = 'directory'\npath = '{here}/{path}'\n");
        let text = format!("[stream.s]\nschema = 'trip'\n{}{}", sink("out"), sink(other));
        load(&text, &[], &[])
    };
    assert!(two("link/out").unwrap_err().to_string().contains("two go to directory"));
    two("link/other").unwrap();
}

#[cfg(feature = "store")]
#[test]
fn a_store_has_a_folder_beside_it() {
    let config = directory("trip", "path = 's3://b/x'").unwrap();
    let SinkConfig::Directory(options) = &config.streams["s"].sinks[0] else { panic!() };
    assert_eq!(options.state, Some("s.directory.state".into()));
    directory("trip", "path = 's3://b/x'\nstate = 'y'").unwrap();
    for (settings, expected) in [
        ("path = 's3://b/x'\nstate = ''", "needs a local folder"),
        ("path = 's3://'", "s3://"),
        ("path = 's3://b/x?y'", "query"),
        ("path = 's3://SECRET@b/x'", "s3://***@b/x"),
        (
            "path = 's3://b/x'\nstate = 'y'\n[[stream.s.sink]]\ntype = 'directory'\npath = 'y'",
            "two go to directory",
        ),
        (
            "path = 's3://b/x'\n[[stream.s.sink]]\ntype = 'directory'\npath = 's3://b/x/'",
            "two go to directory s3://b/x",
        ),
    ] {
        let error = directory("trip", settings).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("SECRET"), "{settings}: {error}");
    }
}

#[cfg(not(feature = "store"))]
#[test]
fn a_build_without_stores_names_the_feature() {
    let error = directory("trip", "path = 's3://b/x'").unwrap_err().to_string();
    assert!(error.contains("s3://b/x: this build has no `store`"), "{error}");
}

#[test]
fn times_may_have_units() {
    let text = format!("[limits]\nidle_seconds = '5min'\nrecord_seconds = 1.5\n{SMALL}");
    let config = load(&text, &[], &["service.drain_seconds=500ms"]).unwrap();
    assert_eq!(config.limits.idle_seconds, Seconds(300.0));
    assert_eq!(config.limits.record_seconds, Seconds(1.5));
    assert_eq!(config.service.drain_seconds, Seconds(0.5));
    for wrong in ["'0s'", "'soon'", "'-1s'"] {
        let text = format!("[limits]\nidle_seconds = {wrong}\n{SMALL}");
        assert!(load(&text, &[], &[]).is_err(), "{wrong}");
    }
}

/// Every option of reading that applies to received records is a setting of a stream.
#[test]
fn options_of_reading_are_settings() {
    let mut settings = 0;
    for option in JSON.iter().filter(|option| option.receives) {
        for (text, value) in option.kind.examples() {
            let written = match &value {
                Given::Integer(number) => number.to_string(),
                Given::Flag(flag) => flag.to_string(),
                Given::List(_) => format!("{:?}", text.split(',').collect::<Vec<_>>()),
                _ => format!("{text:?}"),
            };
            let schema = "a: int64, b: struct<c: utf8>";
            let text = format!("[stream.s]\nschema = '{schema}'\n{} = {written}\n", option.name);
            let config = load(&text, &[], &[]).unwrap_or_else(|error| panic!("{text}{error}"));
            assert_eq!(config.streams["s"].read.get(option.name), Some(value), "{text}");
            settings += 1;
        }
    }
    assert!(settings > 10);
    for (wrong, expected) in [
        ("unknown_keys = 'drop'", "unknown_keys: expected \"skip\", \"error\", found \"drop\""),
        ("trust = 1", "trust: expected true or false, found 1"),
        ("threads = 1", "stream.events.threads: no such setting; there are schema, "),
        ("dialekt = 'spark'", "sink; and as options of reading "),
        ("types = 'a.b.c: int8'", "stream.events.schema"),
    ] {
        let error = load(&format!("[stream.events]\nschema = 'a: int64'\n{wrong}\n"), &[], &[]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{wrong}: {error}");
    }
}

/// A configuration may be named that has no end.
#[cfg(unix)]
#[test]
fn a_configuration_without_an_end_is_refused() {
    let error = Config::load(Some("/dev/zero".as_ref()), &[]).unwrap_err().to_string();
    assert!(error.contains("/dev/zero") && error.contains("more than 16777216 bytes"), "{error}");
}

#[test]
fn places_are_kept_where_nothing_else_is_said() {
    let config = load(SMALL, &[], &["stream.events.follow=[\"*.log\"]"]).unwrap();
    assert_eq!(config.streams["events"].follow_state, Some("events.places".into()));
}
