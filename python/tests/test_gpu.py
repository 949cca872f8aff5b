# SPDX-License-Identifier: Apache-2.0
"""The engines of a GPU, with one and without; Arrow's device interface."""

import pyarrow as pa
import pytest

import arrowsmith

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
    assert "--engine auto" in said


def test_batches_speak_the_device_interface() -> None:
    batch = arrowsmith.read_json(TEXT).batches[0]
    capsules = batch.__arrow_c_device_array__()
    taken = pa.RecordBatch._import_from_c_device_capsule(*capsules)
    taken.validate(full=True)
    assert taken.equals(pa.record_batch(batch))
    assert taken.is_cpu
    with pytest.raises(NotImplementedError):
        batch.__arrow_c_device_array__(stream=1)
