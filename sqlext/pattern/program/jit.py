"""The options that kernels are compiled with, and the folder that keeps their machine code for later processes.

Unless `_nrt` is False, Numba counts a reference to every array at each call and at each access to a named tuple, and a
row costs 300 ns instead of 4. The price is that `compiled` kernels cannot allocate memory: the caller passes the arrays
that they fill.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile

from sqlext.host_folder import own_folder

_BESIDE_SOURCES = "__pycache__"
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False}
_NOT_FROM_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _nothing() -> None:
    pass


def keep_machine_code() -> None:
    """Keep machine code beside the sources, or in the user's cache, or otherwise in a temporary folder.

    Numba does not load at all where it can write neither beside the sources nor in the home folder, as in many
    containers. Where it cannot write beside the sources, it does not read there either. Therefore the machine code that
    `sqlext warm` has left there is copied.
    """
    try:
        nothing = njit(cache=True)(_nothing)
    except RuntimeError:
        numba.config.CACHE_DIR = own_folder("sqlext-numba")  # type: ignore[attr-defined]
        nothing = njit(cache=True)(_nothing)
    if nothing is _nothing:  # NUMBA_DISABLE_JIT is set
        return
    folder = Path(nothing.stats.cache_path or "")
    if folder.name != _BESIDE_SOURCES:
        _copy_machine_code(folder.parent)


def _copy_machine_code(cache: Path) -> None:
    """Copy the machine code beside the sources into Numba's cache, for folders that have none there yet."""
    for compiled_beside in {path.parent for path in Path(__file__).parents[1].glob(f"**/{_BESIDE_SOURCES}/*.nbi")}:
        sources = compiled_beside.parent
        target = cache / f"{sources.name}_{hashlib.sha1(str(sources).encode()).hexdigest()}"  # as Numba names it
        if not target.is_dir() or not any(target.iterdir()):
            draft = Path(tempfile.mkdtemp(dir=cache))
            for path in compiled_beside.glob("*.nb[ci]"):
                shutil.copyfile(path, draft / path.name)
            try:
                draft.rename(target)
            except OSError:  # another worker was faster
                shutil.rmtree(draft)


keep_machine_code()


class _Index(IndexDataCacheFile):
    """An index of Numba's cache. An index of a former release may name classes that have moved; then it is empty."""

    def _load_index(self) -> dict:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}


def _cached(**options: Any) -> Callable[[Callable], Any]:
    decorate = njit(cache=True, **options)

    def kernel(function: Callable) -> Any:
        dispatcher = decorate(function)
        if dispatcher is not function:  # NUMBA_DISABLE_JIT is not set
            dispatcher._cache._cache_file.__class__ = _Index
        return dispatcher

    return kernel


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view, as Arrow's arrays are: kernels are compiled, and loaded, for each type of array, and to Numba a
    writable array has another type."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def writable(array: np.ndarray) -> np.ndarray:
    """The same as a writable array of int64, which is a copy if it has to be."""
    return np.require(array, np.int64, ["C", "A", "W"])


compiled = _cached(**_OPTIONS)
allocating = _cached(nogil=True)  # for kernels that are called a few times for a block, not for each row
# A call for each row would copy the shapes of a dozen arrays, so these kernels become part of their caller. Numba does
# that for `inlined`, which compiles quickly where the kernel is small. LLVM does it for `internal`, which compiles
# quickly where the kernel is large and made `threads` 20 to 50 % faster; Python cannot call such kernels.
inlined = _cached(inline="always", **_OPTIONS)
internal = njit(forceinline=True, error_model="numpy", **_NOT_FROM_PYTHON, **_OPTIONS)
