// SPDX-License-Identifier: Apache-2.0
//! The smallest server: `serve LISTEN [NAME=]PATH... [--preload]`. `arrowsmith serve` has all the
//! options.

use arrowsmith_flight::dataset::FileAccess;
use arrowsmith_flight::{Catalog, Options, Server, Spec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let preload = arguments.iter().position(|argument| argument == "--preload");
    let preload = preload.map(|at| arguments.remove(at)).is_some();
    let access = if preload { FileAccess::Preload } else { FileAccess::Read };
    let writable = arguments.iter().position(|argument| argument == "--writable");
    let writable = writable.map(|at| arguments.remove(at)).is_some();
    let mut arguments = arguments.into_iter();
    let mut options = Options::default();
    options.listen = arguments.next().ok_or("LISTEN is missing")?.parse()?;
    let specs = arguments.map(|path| Spec::parse(&path, None)).collect::<Result<Vec<_>, _>>()?;
    let catalog = Catalog::open(specs.into_iter().map(|spec| Spec { access, writable, ..spec }))?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let server = Server::start(catalog.into(), options, None).await?;
        println!("listening on grpc://{}", server.address());
        tokio::signal::ctrl_c().await?;
        server.shutdown().await;
        Ok(())
    })
}
