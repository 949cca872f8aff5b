// SPDX-License-Identifier: Apache-2.0
//! Who may send: tokens and certificates.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use arrowsmith_load::Options;
use arrowsmith_testkit::tools;

use crate::ingest::service::{PATIENCE, Service, assert_all, go, load};

#[test]
fn without_the_token_nothing_gets_in() {
    let mut service = Service::start("", "tokens = ['right', 'other']", "");
    let http = format!("http://127.0.0.1:{}/v1/s", service.http);
    let tcp = format!("tcp://127.0.0.1:{}", service.tcp);
    for token in [None, Some("wrong".to_owned()), Some("righ".to_owned())] {
        let report = go(&Options { token: token.clone(), ..load(&http, 0..100, 10) });
        assert_eq!(report.acknowledged_records, Some(0), "{report:?}");
        assert_eq!(report.statuses, [(401, 10)]);
        // Over TCP the connection is closed; when the sender notices depends on the system.
        go(&Options { token, ..load(&tcp, 0..100, 10) });
    }
    assert_eq!(service.total("received_records"), 0);
    let token = Some("right".to_owned());
    go(&Options { token, ..load(&tcp, 0..100, 10) });
    let token = Some("other".to_owned());
    let report = go(&Options { token, ..load(&http, 100..200, 10) });
    assert_eq!(report.acknowledged_records, Some(100));
    service.wait_received(200);
    let summary = service.end();
    assert_eq!((summary["received"], summary["rejected"]), (200, 0));
    assert_eq!(assert_all(&service.ids(), 0..200), 0);
}

fn openssl(folder: &Path, args: &[&str]) {
    let done =
        Command::new("openssl").args(args).current_dir(folder).stderr(Stdio::null()).status();
    assert!(done.unwrap().success(), "openssl {args:?}");
}

/// An authority `NAME.pem`, and `NAME-leaf.pem` that it signs, for 127.0.0.1.
fn authority(folder: &Path, name: &str) {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    let (pem, secret) = (format!("{name}.pem"), format!("{name}.key"));
    let (leaf, leaf_key) = (format!("{name}-leaf.pem"), format!("{name}-leaf.key"));
    let subject = format!("/CN={name}");
    let authority = ["req", "-x509", "-subj", &subject, "-keyout", &secret, "-out", &pem];
    openssl(folder, &[&authority[..], &key].concat());
    let signed = [
        "-CA",
        &pem,
        "-CAkey",
        &secret,
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ];
    let issued = ["req", "-x509", "-subj", "/CN=leaf", "-keyout", &leaf_key, "-out", &leaf];
    openssl(folder, &[&issued[..], &key, &signed].concat());
}

#[test]
fn only_who_speaks_tls_and_is_known_gets_in() {
    if !tools::openssl() {
        return;
    }
    let tls =
        "[tls]\ncertificates = 'a-leaf.pem'\nkey = 'a-leaf.key'\nclient_authorities = 'a.pem'\n";
    let admin = tools::free_address();
    let mut service = Service::new(&format!("admin = '{admin}'"), "", tls);
    authority(&service.path(""), "a");
    authority(&service.path(""), "b");
    let (https, tls_port) = (service.http, service.tcp);
    // Health is checked at the address without TLS.
    service.http = admin.port();
    service.run();
    let http = format!("https://127.0.0.1:{https}/v1/s");
    let tcp = format!("tls://127.0.0.1:{tls_port}");
    let path = |name: &str| service.path(name);
    let identity =
        |name: &str| Some((path(&format!("{name}-leaf.pem")), path(&format!("{name}-leaf.key"))));
    let wrong = [
        // A CA that did not sign the service's certificate; no client certificate; one of another
        // CA.
        Options { ca: Some(path("b.pem")), identity: identity("a"), ..load(&http, 0..10, 10) },
        Options { ca: Some(path("a.pem")), ..load(&http, 0..10, 10) },
        Options { ca: Some(path("a.pem")), identity: identity("b"), ..load(&http, 0..10, 10) },
        Options { ca: Some(path("b.pem")), identity: identity("a"), ..load(&tcp, 0..10, 10) },
        load(&http.replace("https", "http"), 0..10, 10),
        load(&tcp.replace("tls", "tcp"), 0..10, 10),
    ];
    for options in wrong {
        let report = go(&options);
        assert_ne!(report.acknowledged_records, Some(10), "{options:?}: {report:?}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", tls_port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"{\"id\":1}\n\x16\x03\x01\xff\xff garbage").unwrap();
    // An alert or nothing, then the end.
    let _ = stream.read_to_end(&mut Vec::new());
    assert_eq!(service.total("received_records"), 0);
    for (target, ids) in [(&http, 0..100), (&tcp, 100..200)] {
        let known = Options {
            ca: Some(path("a.pem")),
            identity: identity("a"),
            timeout: Duration::from_secs(10),
            ..load(target, ids, 10)
        };
        let report = go(&known);
        assert_eq!((report.sent_records, report.incomplete_connections), (100, 0), "{report:?}");
    }
    service.wait_received(200);
    service.end();
    assert_eq!(assert_all(&service.ids(), 0..200), 0);
}
