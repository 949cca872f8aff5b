# SPDX-License-Identifier: Apache-2.0
"""Batches that stay on the device: their content, their owners, their release.

The kernels run on the CPU here, whose memory every consumer can read, if the package was built
with them: python/setup.sh --features shim.
"""

import gc
import io
import itertools
import json
from collections.abc import Callable, Iterator

import nanoarrow.device
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith
from arrowsmith import _lib
from conftest import record
from device_array import DeviceArray

Live = Callable[[], int]


def lines(first: int, rows: int) -> bytes:
    return "".join(json.dumps(record(row)) + "\n" for row in range(first, first + rows)).encode()


TEXT = lines(0, 40)


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """Return the number of device allocations; at the end there must be none."""
    count: Live | None = getattr(_lib, "_shim_live", None)
    if count is None:
        pytest.skip("built without the feature shim, as python/setup.sh --features shim has it")
    monkeypatch.setenv("ARROWSMITH_GPU_TESTS", "shim")
    yield count
    gc.collect()
    assert count() == 0


def one(text: bytes = TEXT) -> arrowsmith.Batch:
    (batch,) = arrowsmith.read_json(text, engine="gpu", on_device=True).batches
    return batch


def expected(text: bytes = TEXT) -> pa.RecordBatch:
    return pa.record_batch(arrowsmith.read_json(text).batches[0])


def addresses(batch: pa.RecordBatch) -> list[int]:
    buffers = [buffer for column in batch.columns for buffer in column.buffers()]
    return [buffer.address for buffer in buffers if buffer is not None]


def test_a_consumer_takes_the_memory(live: Live) -> None:
    batch = one()
    assert live() == 1
    taken = pa.record_batch(batch)
    again = pa.record_batch(batch)
    taken.validate(full=True)
    assert taken.equals(expected())
    assert addresses(taken) == addresses(again)
    assert live() == 1
    assert pa.schema(batch.schema) == taken.schema
    assert batch.num_rows == 40
    del batch, again
    assert live() == 1
    assert taken["user"][7].as_py() == {"age": 7, "city": None}


def test_nanoarrow_takes_it(live: Live) -> None:
    batch = one()
    taken = nanoarrow.device.c_device_array(batch)
    assert (int(taken.device_type_id), taken.device_id) == (1, 0)
    assert taken.array.length == 40
    assert taken.array.n_children == 6
    del batch
    assert live() == 1


def test_the_host_gets_a_copy_if_it_asks_for_one(live: Live) -> None:
    batch = one()
    copy = batch.to_host()
    assert pa.record_batch(copy).equals(expected())
    assert not set(addresses(pa.record_batch(copy))) & set(addresses(pa.record_batch(batch)))
    with pytest.raises(NotImplementedError, match="to_host"):
        batch.__arrow_c_array__()
    table = arrowsmith.read_json(TEXT, engine="gpu", on_device=True)
    with pytest.raises(NotImplementedError, match="to_host"):
        pa.table(table)
    with (
        arrowsmith.open_json(TEXT, engine="gpu", on_device=True) as reader,
        pytest.raises(NotImplementedError, match="to_host"),
    ):
        pa.RecordBatchReader.from_stream(reader)
    del batch, table
    gc.collect()
    assert live() == 0


@pytest.mark.parametrize("order", list(itertools.permutations(["batch", "schema", "array"])))
def test_nobody_takes_the_capsules(live: Live, order: tuple[str, ...]) -> None:
    batch = one()
    schema, array = batch.__arrow_c_device_array__()
    held = {"batch": batch, "schema": schema, "array": array}
    del batch, schema, array
    for name in order:
        assert live() == ("batch" in held or "array" in held)
        del held[name]
    assert live() == 0


def test_capsules_are_taken_once_and_outlive_everything(live: Live) -> None:
    capsules = one().__arrow_c_device_array__()
    gc.collect()
    assert live() == 1
    taken = pa.RecordBatch._import_from_c_device_capsule(*capsules)
    with pytest.raises(pa.ArrowInvalid, match="released"):
        pa.RecordBatch._import_from_c_device_capsule(*capsules)
    del capsules
    assert taken.equals(expected())
    assert live() == 1


def test_c_releases_an_array_once(live: Live) -> None:
    schema, capsule = one().__arrow_c_device_array__()
    array = DeviceArray.of(capsule)
    assert (array.length, array.device_type, array.device_id) == (40, 1, 0)
    assert live() == 1
    array.call_release()
    assert live() == 0
    assert array.release is None
    # The rest of it must not be released a second time.
    del array, capsule, schema


def test_threads_keep_the_order(live: Live) -> None:
    sources = [lines(first, 9) for first in range(0, 90, 9)]
    with arrowsmith.open_json(sources, engine="gpu", on_device=True, threads=3) as reader:
        batches = [pa.record_batch(batch) for batch in reader]
        assert (len(batches), reader.num_rows) == (10, 90)
    found = pa.Table.from_batches(batches)
    assert found.equals(pa.table(arrowsmith.read_json(lines(0, 90))))
    assert live() == 10


def test_rejects_and_errors_are_those_of_every_engine(live: Live) -> None:
    text = b'{"a":1}\n{"a":"x"}\n{"a":3}\n'
    rejects: list[arrowsmith.Reject] = []
    table = arrowsmith.read_json(
        text, "a: int64", engine="gpu", on_device=True, on_error="skip", rejects=rejects
    )
    rows = [value for batch in table.batches for value in pa.record_batch(batch)["a"].to_pylist()]
    assert rows == [1, 3]
    assert (table.num_rows, table.num_rejects) == (2, 1)
    assert (rejects[0]["line"], rejects[0]["text"]) == (2, b'{"a":"x"}')
    reader = arrowsmith.open_json(text, "a: int64", engine="gpu", on_device=True)
    assert pa.record_batch(next(reader))["a"].to_pylist() == [1]
    with pytest.raises(arrowsmith.DataError) as raised:
        next(reader)
    assert (raised.value.line, raised.value.path) == (2, "a")
    del table, reader
    gc.collect()
    assert live() == 0


def test_what_nobody_reads_is_given_back(live: Live) -> None:
    sources = [lines(first, 9) for first in range(0, 90, 9)]
    reader = arrowsmith.open_json(sources, engine="gpu", on_device=True, threads=2)
    batch = next(reader)
    reader.close()
    assert live() == 1
    assert batch.num_rows == 9


def test_parquet_stays(live: Live) -> None:
    table = pa.table(arrowsmith.read_json(TEXT))
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=25)
    with arrowsmith.open_parquet(file.getvalue(), engine="gpu", on_device=True) as reader:
        batches = [pa.record_batch(batch) for batch in reader]
        assert reader.num_rows == 40
    assert [batch.num_rows for batch in batches] == [25, 15]
    found = pa.Table.from_batches(batches)
    found.validate(full=True)
    assert found.equals(pq.read_table(file))
    assert live() == 2
    part = arrowsmith.read_parquet(
        [file.getvalue()], columns=["id"], row_groups=[1], engine="gpu", on_device=True
    )
    assert pa.record_batch(part.batches[0])["id"].to_pylist() == list(range(25, 40))
    with pytest.raises(arrowsmith.FileError):
        arrowsmith.read_parquet(file.getvalue()[:-9], engine="gpu", on_device=True)


def test_memory_of_the_device_is_bounded(live: Live) -> None:
    with pytest.raises(arrowsmith.ConfigError, match="larger than memory_bytes_max of the device"):
        arrowsmith.read_parquet(_text_file(), engine="gpu", on_device=True, gpu_memory_bytes_max=1)
    # Batches on the host are then decoded by the CPU.
    read = arrowsmith.read_parquet(_text_file(), engine="gpu", gpu_memory_bytes_max=1)
    assert pa.table(read)["a"].to_pylist() == ["x", "y"]
    read = arrowsmith.read_json(TEXT, engine="gpu", gpu_memory_bytes_max=1 << 20)
    assert pa.table(read).equals(pa.table(arrowsmith.read_json(TEXT)))
    assert live() == 0


def test_files_have_to_be_alike(live: Live) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2]}), first)
    pq.write_table(pa.table({"b": [1]}), second)
    sources = [first.getvalue(), first.getvalue(), second.getvalue()]
    reader = arrowsmith.open_parquet(sources, engine="gpu", on_device=True)
    assert [next(reader).num_rows, next(reader).num_rows] == [2, 2]
    with pytest.raises(arrowsmith.ConfigError, match="first file"):
        next(reader)
    reader.close()
    with pytest.raises(arrowsmith.ConfigError, match="views do not stay"):
        arrowsmith.read_parquet(_text_file(), strings="view", engine="gpu", on_device=True)
    assert live() == 0


def _text_file() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": ["x", "y"]}), file)
    return file.getvalue()


def test_what_cannot_be_heeded_is_refused() -> None:
    sizes = ({"batch_rows": 10}, {"batch_bytes": 10}, {"engine": "cpu"})
    refused = (*sizes, {"skip": 1}, {"filter": "a > 1"}, {"file_column": "f"})
    for options in refused:
        with pytest.raises(arrowsmith.ConfigError, match=next(iter(options)).split("=")[0]):
            arrowsmith.read_json(TEXT, on_device=True, **{"engine": "auto", **options})  # type: ignore[arg-type]
    wishes = ({"filter": "a > 1"}, {"limit": 1}, {"batch_rows": 1}, {"partitions": "a: int64"})
    for wish in wishes:
        with pytest.raises(arrowsmith.ConfigError, match=next(iter(wish))):
            arrowsmith.read_parquet(b"", on_device=True, engine="auto", **wish)


def test_auto_without_a_gpu_is_the_host() -> None:
    table = arrowsmith.read_json(TEXT, engine="auto", on_device=True)
    if all(batch.device == "cpu" for batch in table.batches):
        assert pa.table(table).num_rows == 40
