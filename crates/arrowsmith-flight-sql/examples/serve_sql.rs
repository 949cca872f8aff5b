// SPDX-License-Identifier: Apache-2.0
//! The smallest server with SQL: `serve_sql LISTEN [NAME=]PATH… [--writable] [--users FILE] [--tls
//! CERT KEY]`, for tests that need no more of the command. `arrowsmith serve` has all the options.

use std::sync::Arc;

use arrowsmith_flight::{Access, Catalog, Options, Server, Spec, Tls};
use arrowsmith_flight_sql::{FlightSql, SqlOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options::default();
    options.listen = arguments.next().ok_or("LISTEN is missing")?.parse()?;
    let (mut specs, mut writable) = (Vec::new(), false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--writable" => writable = true,
            "--users" => {
                let text = std::fs::read_to_string(arguments.next().ok_or("FILE is missing")?)?;
                let users = Access::users_of(&text).map_err(|line| format!("line {line}"))?;
                options.access.users = users;
            }
            "--tls" => {
                options.tls = Tls {
                    certificate_file: arguments.next().map(Into::into),
                    key_file: arguments.next().map(Into::into),
                    client_ca_file: None,
                };
            }
            path => specs.push(Spec::parse(path, None)?),
        }
    }
    let specs = specs.into_iter().map(|spec| Spec { writable, ..spec });
    let catalog = Arc::new(Catalog::open(specs)?);
    let sql = FlightSql::new(Arc::clone(&catalog), &SqlOptions::default())?;
    let scheme = if options.tls.certificate_file.is_some() { "grpc+tls" } else { "grpc" };
    tokio::runtime::Runtime::new()?.block_on(async {
        let server = Server::start(catalog, options, Some(Arc::new(sql))).await?;
        println!("listening on {scheme}://{}", server.address());
        tokio::signal::ctrl_c().await?;
        server.shutdown().await;
        Ok(())
    })
}
