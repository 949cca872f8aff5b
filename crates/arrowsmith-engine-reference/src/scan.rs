// SPDX-License-Identifier: Apache-2.0
//! A scan of a chunk before arrow-json decodes it: depth, and the commas between the records of an
//! array.

/// What the scan found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Offset of the first bracket that is deeper than the limit.
    pub(crate) too_deep: Option<usize>,
    /// Offsets of the commas outside all brackets and strings.
    pub(crate) commas: Vec<usize>,
    /// Counts outside strings: `{`, `[`, `,`, and what may be `null`.
    pub(crate) braces: usize,
    pub(crate) brackets: usize,
    pub(crate) separators: usize,
    pub(crate) nulls: usize,
}

/// Scans `data`; the result for text that is not JSON does not matter, since arrow-json then
/// rejects it.
pub(crate) fn scan(data: &[u8], depth_max: usize) -> Scan {
    let mut found = Scan::default();
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (offset, &byte) in data.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > depth_max {
                    found.too_deep = Some(offset);
                    return found;
                }
                let kind = if byte == b'{' { &mut found.braces } else { &mut found.brackets };
                *kind += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => {
                found.separators += 1;
                if depth == 0 {
                    found.commas.push(offset);
                }
            }
            b'n' => found.nulls += 1,
            _ => {}
        }
    }
    found
}
