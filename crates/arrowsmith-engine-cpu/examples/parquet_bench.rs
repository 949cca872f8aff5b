// SPDX-License-Identifier: Apache-2.0
//! The column decoders alone, and the `parquet` crate beside them: `parquet_bench FILE [BATCH_ROWS]
//! [ROUNDS] [ours]`. //! For work on the engine; `arrowsmith bench parquet` is what is quoted.

use std::hint::black_box;
use std::time::Instant;

use arrow_array::{Array, ArrayRef};
use arrowsmith_core::Limits;
use arrowsmith_engine_cpu::parquet::{ColumnOptions, FieldDecoder};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn bytes_of(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or(0)
}

fn ours(bytes: &Bytes, batch_rows: usize, keep: bool) -> Outcome<usize> {
    let file = File::open(bytes.clone(), &Limits::default())?;
    let plan = ReadPlan::new(&file, &ReadOptions::default())?;
    let mut total = 0;
    let mut kept = Vec::new();
    for row_group in 0..file.row_groups() {
        let rows = file.row_group_rows(row_group)?;
        let mut decoders = Vec::new();
        for column in &plan.fields {
            let options = ColumnOptions::default();
            decoders.push(FieldDecoder::new(&file, row_group, column, None, options)?);
        }
        let mut left = rows;
        while left > 0 {
            for decoder in &mut decoders {
                let array = decoder.next(batch_rows)?;
                total += bytes_of(&array);
                if keep {
                    kept.push(array)
                } else {
                    black_box(array);
                }
            }
            left -= left.min(batch_rows);
        }
    }
    black_box(&kept);
    Ok(total)
}

fn theirs(bytes: &Bytes, batch_rows: usize) -> Outcome<usize> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())?;
    let mut total = 0;
    for batch in reader.with_batch_size(batch_rows).build()? {
        total += batch?.columns().iter().map(bytes_of).sum::<usize>();
    }
    Ok(total)
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("parquet_bench FILE [BATCH_ROWS] [ROUNDS]")?;
    let batch_rows = arguments.next().map_or(Ok(65_536), |rows| rows.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let bytes = Bytes::from(std::fs::read(&path)?);
    let runs: [(&str, &dyn Fn() -> Outcome<usize>); 3] = [
        ("arrowsmith", &|| ours(&bytes, batch_rows, false)),
        ("arrowsmith, all kept", &|| ours(&bytes, batch_rows, true)),
        ("parquet crate", &|| theirs(&bytes, batch_rows.min(65_536))),
    ];
    let runs = if arguments.next().is_some() { &runs[..1] } else { &runs[..] };
    let mut best = [f64::INFINITY; 3];
    let mut total = [0; 3];
    for _ in 0..rounds {
        for (at, (_, run)) in runs.iter().enumerate() {
            let start = Instant::now();
            total[at] = run()?;
            best[at] = best[at].min(start.elapsed().as_secs_f64());
        }
    }
    print!("{path:40}");
    for (at, (name, _)) in runs.iter().enumerate() {
        let rate = total[at] as f64 / best[at] / 1e9;
        print!("  {name} {rate:.2} GB/s ({:.2}x)", best[2] / best[at]);
    }
    println!();
    Ok(())
}
