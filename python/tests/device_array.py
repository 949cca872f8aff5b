# SPDX-License-Identifier: Apache-2.0
"""A consumer of the C structure ArrowDeviceArray."""

import ctypes
from typing import Any

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


class DeviceArray(ctypes.Structure):
    """The structure of Arrow's C Device interface."""

    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    )

    length: int
    n_children: int
    offset: int
    release: int | None
    device_id: int
    device_type: int
    sync_event: int | None
    reserved: list[int]

    @classmethod
    def of(cls, capsule: object) -> "DeviceArray":
        """Return the structure in a capsule, which has to outlive it."""
        return cls.from_address(_pointer_of(capsule, b"arrow_device_array"))

    def call_release(self) -> None:
        """Call the release callback, as a consumer must do once."""
        assert self.release is not None
        callback: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release)
        callback(ctypes.addressof(self))
