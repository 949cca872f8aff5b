// SPDX-License-Identifier: Apache-2.0
//! `verify LAYOUT.json CASES`: reads the hostile messages of a C++ example, and compares the Rust
//! reader with the C++ results: code, position, root, and every byte of the region. Valid messages
//! are also converted to Arrow and back.

use std::error::Error;

use arrowsmith_graph::Layout;
use arrowsmith_graph::arrow::{Batches, messages};
use arrowsmith_graph::wire::{Graph, Options, Reader};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [layout, cases] = arguments.as_slice() else {
        return Err("usage: verify LAYOUT.json CASES".into());
    };
    let layout = Layout::from_json(&std::fs::read_to_string(layout)?)?;
    let bytes = std::fs::read(cases)?;
    let mut rest = bytes.as_slice();
    let address = number(&mut rest)?;
    let slots = (0..number(&mut rest)?).map(|_| number(&mut rest));
    let slots = slots.collect::<Result<Vec<u64>, _>>()?;
    let mut reader = Reader::new(layout.clone(), &slots);
    let (mut count, mut good) = (0, 0);
    while !rest.is_empty() {
        let length = usize::try_from(number(&mut rest)?)?;
        let (message, behind) = rest.split_at_checked(length).ok_or("the cases are cut")?;
        rest = behind;
        let capacity = usize::try_from(number(&mut rest)?)?;
        let [code, position, root, hash] =
            [number(&mut rest)?, number(&mut rest)?, number(&mut rest)?, number(&mut rest)?];
        let mut region = vec![0xAA; capacity];
        let made = reader.read(message, &mut region, address, Options::default());
        let (our_code, our_position) =
            made.map_or_else(|error| (u64::from(error.code.number()), error.position), |_| (0, 0));
        if (our_code, our_position) != (code, position) {
            return Err(format!(
                "case {count}: code {our_code} at {our_position}, C++ reports {code} at {position}"
            )
            .into());
        }
        if let Ok(made) = made {
            good += 1;
            if made.root != root || fnv(&region) != hash {
                return Err(format!("case {count}: the objects differ from those of C++").into());
            }
            let back =
                Graph::decode(&layout, message, Options::default())?.encode(&layout, false)?;
            let mut batches = Batches::new(layout.clone());
            batches.push(message, Options::default())?;
            let arrow = messages(&layout, &batches.finish()?, false)?;
            if back != message || arrow != [message.to_vec()] {
                return Err(format!("case {count}: the message does not come back").into());
            }
        }
        count += 1;
    }
    println!("{count} messages, {good} good: same as C++");
    Ok(())
}

fn number(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let (bytes, behind) = rest.split_first_chunk().ok_or("the cases are cut")?;
    *rest = behind;
    Ok(u64::from_le_bytes(*bytes))
}

fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
