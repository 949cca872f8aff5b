# SPDX-License-Identifier: Apache-2.0
"""The GPU engines, on machines with and without a GPU; Arrow's device interface on the host."""

import ctypes

import pyarrow as pa
import pytest

import arrowsmith
from device_array import DeviceArray

TEXT = b'{"name":"ada","age":36}\n{"name":null,"age":7}\n'


def test_auto_reads_wherever_it_is() -> None:
    table = arrowsmith.read_json(TEXT, engine="auto")
    assert pa.table(table).to_pylist() == [{"name": "ada", "age": 36}, {"name": None, "age": 7}]


def test_gpu_reads_or_says_what_is_missing() -> None:
    try:
        table = arrowsmith.read_json(TEXT, engine="gpu")
    except arrowsmith.ConfigError as error:
        said = str(error)
    else:
        assert table.num_rows == 2
        return
    assert "engine gpu" in said
    assert 'engine="auto"' in said


def test_batches_speak_the_device_interface() -> None:
    batch = arrowsmith.read_json(TEXT).batches[0]
    assert batch.device == "cpu"
    assert batch.to_host() is batch
    capsules = batch.__arrow_c_device_array__()
    taken = pa.RecordBatch._import_from_c_device_capsule(*capsules)
    taken.validate(full=True)
    assert taken.equals(pa.record_batch(batch))
    assert taken.is_cpu
    with pytest.raises(NotImplementedError):
        batch.__arrow_c_device_array__(stream=1)


def test_the_structure_is_that_of_the_interface() -> None:
    batch = arrowsmith.read_json(TEXT).batches[0]
    _, capsule = batch.__arrow_c_device_array__()
    array = DeviceArray.of(capsule)
    assert ctypes.sizeof(array) == 128
    assert (array.length, array.n_children, array.offset) == (2, 2, 0)
    assert (array.device_type, array.device_id, array.sync_event) == (1, -1, None)
    assert list(array.reserved) == [0, 0, 0]
    assert array.release
