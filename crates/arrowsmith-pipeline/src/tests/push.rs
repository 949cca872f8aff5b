// SPDX-License-Identifier: Apache-2.0
//! Bytes may be fed in any portions.

use arrowsmith_core::{DecodeOptions, ErrorKind, Framing, Limits, OnError, Report};
use arrowsmith_testkit::engines;

use super::{plan, record, texts};
use crate::PushDecoder;

fn decoder() -> PushDecoder {
    PushDecoder::new(&plan(), engines::cpu().as_ref(), &DecodeOptions::default()).unwrap()
}

fn add(total: &mut Report, report: Report) {
    total.records += report.records;
    total.lines += report.lines;
    total.rejects.extend(report.rejects);
}

#[test]
fn every_split_of_a_text_equals_the_whole() {
    for (name, text) in texts(6) {
        let bytes = text.as_bytes();
        let mut whole = decoder();
        let mut expected_report = whole.feed(bytes).unwrap();
        add(&mut expected_report, whole.finish().unwrap());
        let expected = whole.flush().unwrap().unwrap();
        assert_eq!(expected.num_rows(), 6, "{name}");
        assert_eq!(expected_report.records, 6, "{name}");
        for split in 0..=bytes.len() {
            let mut decoder = decoder();
            let mut report = decoder.feed(&bytes[..split]).unwrap();
            add(&mut report, decoder.feed(&bytes[split..]).unwrap());
            add(&mut report, decoder.finish().unwrap());
            assert_eq!(decoder.flush().unwrap().unwrap(), expected, "{name} at {split}");
            assert_eq!(report, expected_report, "{name} at {split}");
        }
        let mut bytewise = decoder();
        for byte in bytes {
            bytewise.feed(&[*byte]).unwrap();
        }
        bytewise.finish().unwrap();
        assert_eq!(bytewise.flush().unwrap().unwrap(), expected, "{name}");
    }
}

#[test]
fn records_are_decoded_when_they_are_complete() {
    let mut decoder = decoder();
    decoder.feed(b"{\"n\":1}\n{\"n\":2}\n{\"n\"").unwrap();
    assert_eq!((decoder.rows(), decoder.pending_bytes()), (2, 4));
    assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), 2);
    assert!(decoder.flush().unwrap().is_none());
    decoder.feed(b":3}").unwrap();
    decoder.finish().unwrap();
    assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), 1);
}

#[test]
fn after_the_end_comes_another_source() {
    let mut decoder = decoder().with_source("wire");
    for text in ["\u{FEFF}{\"n\":1}\n{\"n\":2}", "[{\"n\":3}]"] {
        decoder.feed(text.as_bytes()).unwrap();
        decoder.finish().unwrap();
    }
    assert_eq!(decoder.rows(), 3);
    decoder.feed(b"{}\n").unwrap();
    let error = decoder.feed(b"{\"n\":\"\"}\n").unwrap_err();
    let position = &error.as_data().unwrap().position;
    assert_eq!((position.record, position.line, position.offset), (1, 2, 8));
    assert_eq!(position.source.as_deref(), Some("wire"));
    assert!(decoder.feed(b"{}\n").is_err());
    assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), 4);
}

#[test]
fn positions_and_rejects_do_not_depend_on_portions() {
    let text = format!("{}\n\n{{\"n\":\"x\"}}\n{}\n", record(5), record(6));
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    for portion in 1..text.len() {
        let mut decoder = PushDecoder::new(&plan(), engines::cpu().as_ref(), &options)
            .unwrap()
            .with_framing(Framing::Lines);
        let mut report = Report::default();
        for bytes in text.as_bytes().chunks(portion) {
            add(&mut report, decoder.feed(bytes).unwrap());
        }
        add(&mut report, decoder.finish().unwrap());
        assert_eq!((report.records, report.lines, report.rejects.len()), (3, 4, 1));
        let position = &report.rejects[0].error.position;
        let offset = record(5).len() as u64 + 2 + 5;
        assert_eq!((position.record, position.line, position.offset), (1, 3, offset));
        assert_eq!(report.rejects[0].record, b"{\"n\":\"x\"}");
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let mut options = DecodeOptions::default();
    options.limits = Limits::default().with_record_bytes_max(10_000);
    let mut decoder = PushDecoder::new(&plan(), engines::cpu().as_ref(), &options).unwrap();
    decoder.feed(b"{\"n\":1}\n{\"s\":\"").unwrap();
    let mut fed = 0;
    let error = loop {
        match decoder.feed(&[b'a'; 1000]) {
            Ok(_) => fed += 1000,
            Err(error) => break error,
        }
        assert!(fed < 100_000, "nothing stops this record");
    };
    assert_eq!(error.as_data().unwrap().kind, ErrorKind::RecordTooLong);
    assert_eq!(error.as_data().unwrap().position.line, 2);
    assert_eq!(decoder.flush().unwrap().unwrap().num_rows(), 1);
}
