"""Which devices there are, and which one takes the work."""

from __future__ import annotations

from dataclasses import dataclass

from ._library import function

_devices = function("devices")
_why_no_driver = function("why_no_driver", "kind")
_use_device = function("use_device", "name")
_current_device = function("current_device")


@dataclass(frozen=True)
class DeviceInfo:
    """A device: what it is called and how large it is."""

    #: What :func:`use_device` takes: ``cpu``, ``cuda:0``, ``hip:0``, ``virtual:gfx942``.
    id: str
    name: str
    #: ``avx512``, ``sm_90``, ``gfx942``.
    architecture: str
    #: SMs, compute units; hardware threads of a CPU.
    multiprocessors: int
    memory_bytes: int
    #: Where its tensors live; those of a virtual device are on the CPU.
    tensors: str


def devices() -> list[DeviceInfo]:
    """The devices of this process: the CPU, then those whose drivers are installed.

    Opens the drivers, but no device.
    """
    return [DeviceInfo(*fields) for fields in _devices("devices")]


def why_no_driver(kind: str) -> str:
    """Why a kind of device (``cuda``, ``hip``, ``virtual``) has no driver here; empty if it has."""
    return str(_why_no_driver("why_no_driver", kind))


def use_device(name: str) -> DeviceInfo:
    """Chooses the device that tensors of the host go to: ``cpu`` or ``virtual:...``.

    Tensors on a GPU are always worked on there; ``cuda:0`` and ``hip:0`` are opened, and tensors of
    the host stay with the CPU. For the whole process, and not while operations run. Raises
    ``ValueError`` for an unknown name or a number out of range, ``RuntimeError`` if there is no
    driver.
    """
    return DeviceInfo(*_use_device("use_device", name))


def current_device() -> DeviceInfo:
    """What :func:`use_device` chose last; the CPU from the start."""
    return DeviceInfo(*_current_device("current_device"))
