"""Fingerprints of sharded tensors from Python, with nothing but the standard library.

A digest that does not depend on the layout: every rank adds its shard to a State, states are added up, and the sum
gives 32 hexadecimal digits that are equal on both sides of a refit when, and only when, every bit is. See
verifier/fingerprint.h for the function and its bound.

    key = Key()                                        # or Key(16 bytes); both sides need the same
    state = key.shard(array, layout="4@0 S(0)", rank=2, shape=(4096, 4096))
    state += ...                                       # of the other ranks: 16 bytes each, in any order
    print(key.digest(state, dtype="bf16", shape=(4096, 4096)))

An array is anything with __array_interface__ (NumPy) or with data_ptr(), stride(), shape and dtype in host memory
(PyTorch). The shared library is found through RESHARDCHECK_FINGERPRINT_LIBRARY, next to this file, or by the loader.
"""

import ctypes
import ctypes.util
import os

__all__ = ["FingerprintError", "Key", "Replica", "State"]

_LIBRARY_NAME = "libreshardcheck_fingerprint.so"
_DTYPE_OF_TYPESTR = {"i1": "i8", "u1": "u8", "b1": "u8", "i2": "i16", "u2": "u16", "f2": "f16", "i4": "i32",
                     "u4": "u32", "f4": "f32", "i8": "i64", "u8": "u64", "f8": "f64"}
_DTYPE_OF_TORCH = {"int8": "i8", "uint8": "u8", "bool": "u8", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
                   "int16": "i16", "uint16": "u16", "float16": "f16", "bfloat16": "bf16", "int32": "i32",
                   "uint32": "u32", "float32": "f32", "int64": "i64", "uint64": "u64", "float64": "f64"}


class FingerprintError(Exception):
    """What the library had to say about a call it refused."""


class State(ctypes.Structure):
    """The contribution of a part of a tensor. Add states up; equal states are equal parts."""

    _fields_ = [("lane", ctypes.c_uint64 * 2)]

    def __add__(self, other):
        total = State.from_buffer_copy(self)
        _library().reshardcheck_fingerprint_merge(ctypes.byref(total), ctypes.byref(other))
        return total

    def __eq__(self, other):
        return isinstance(other, State) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __repr__(self):
        return "State.from_hex(%r)" % self.hex()

    def hex(self):
        """32 digits, for a message to another rank."""
        return "%016x%016x" % tuple(self.lane)

    @classmethod
    def from_hex(cls, text):
        if len(text) != 32:
            raise ValueError("a state has 32 hexadecimal digits")
        return cls((ctypes.c_uint64 * 2)(int(text[:16], 16), int(text[16:], 16)))


class Replica:
    """A shard's state with its place: the shard's number and the replica's place in its group (0 counts)."""

    def __init__(self, state, shard, place):
        self.state, self.shard, self.place = state, shard, place


class _Error(ctypes.Structure):
    _fields_ = [("reason", ctypes.c_char * 256)]


class _Role(ctypes.Structure):
    _fields_ = [("shard", ctypes.c_int64), ("replica", ctypes.c_int32)]


class _Shard(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p), ("dims", ctypes.c_size_t), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("layout", ctypes.c_char_p), ("rank", ctypes.c_int32), ("data", ctypes.c_void_p),
                ("strides_elements", ctypes.POINTER(ctypes.c_int64)), ("begin_element", ctypes.c_int64),
                ("end_element", ctypes.c_int64), ("threads", ctypes.c_int32)]


class Key:
    """The tables of a 128-bit key. Make one and keep it; threads may share it."""

    def __init__(self, key=bytes(16)):
        if len(key) != 16:
            raise ValueError("a key has 16 bytes")
        self._tables = _library().reshardcheck_fingerprint_key_new((ctypes.c_uint8 * 16)(*key))
        if not self._tables:
            raise MemoryError("no memory for the tables of a key")

    def __del__(self):
        if getattr(self, "_tables", None):
            _library().reshardcheck_fingerprint_key_free(self._tables)

    def shard(self, array, layout=None, rank=0, shape=None, dtype=None, elements=None, threads=1):
        """The state of a rank's part; zero for a replica that does not count, so that sums over all ranks are right.

        shape: of the whole tensor (default: the array's). layout: mesh and placements, "2x2@0 S(0),R" (default: the
        array is the whole tensor). dtype: needed where the array cannot say it, as NumPy cannot say bf16.
        elements: (begin, end), only these global elements, row-major.
        """
        return self._add(array, layout, rank, shape, dtype, elements, threads, None)

    def replica(self, array, layout=None, rank=0, shape=None, dtype=None, elements=None, threads=1):
        """As shard(), but every replica has its state, for a check of replicas against each other."""
        role = _Role()
        state = self._add(array, layout, rank, shape, dtype, elements, threads, role)
        return Replica(state, role.shard, role.replica)

    def digest(self, state, dtype, shape):
        """The digest of a complete state."""
        text = ctypes.create_string_buffer(33)
        _call("digest", self._tables, ctypes.byref(state), dtype.encode(), len(shape), _int64s(shape), text)
        return text.value.decode()

    def _add(self, array, layout, rank, shape, dtype, elements, threads, role):
        view = _View(array)
        shape = tuple(view.shape if shape is None else shape)
        if len(shape) != len(view.shape):
            raise ValueError("the array has %d dims, the tensor %d" % (len(view.shape), len(shape)))
        dtype = dtype or view.dtype
        if dtype is None:
            raise ValueError("the array does not say its dtype; pass dtype=")
        begin, end = elements or (0, 0)
        if elements and begin == end:
            return State()
        shard = _Shard(dtype.encode(), len(shape), _int64s(shape), None if layout is None else layout.encode(), rank,
                       view.address, _int64s(view.strides), begin, end, threads)
        state = State()
        _call("add_shard", self._tables, ctypes.byref(state), ctypes.byref(shard), role and ctypes.byref(role))
        return state


class _View:
    """Address, shape, strides in elements and dtype of an array in host memory. Keeps the array alive."""

    def __init__(self, array):
        self.array = array
        interface = getattr(array, "__array_interface__", None)
        if interface is not None:
            self._from_interface(interface)
        elif hasattr(array, "data_ptr"):
            self._from_pointer(array)
        else:
            raise TypeError("%s has neither __array_interface__ nor data_ptr()" % type(array).__name__)

    def _from_interface(self, interface):
        if interface.get("data") is None:
            raise TypeError("the array shares a buffer, not an address")
        byte_order, kind = interface["typestr"][0], interface["typestr"][1:]
        if byte_order == ">":
            raise TypeError("big-endian elements; their bytes are not the tensor's")
        width = int(kind[1:])
        self.address, self.shape = interface["data"][0], tuple(interface["shape"])
        self.dtype = _DTYPE_OF_TYPESTR.get(kind)
        strides = interface.get("strides")
        if strides is None:
            self.strides = _dense_strides(self.shape)
            return
        if any(stride % width for stride in strides):
            raise TypeError("strides are not multiples of the element")
        self.strides = tuple(stride // width for stride in strides)

    def _from_pointer(self, array):
        device = getattr(array, "device", None)
        if getattr(device, "type", "cpu") != "cpu":
            raise TypeError("the array is on %s; copy it to host memory first" % device)
        self.address, self.shape, self.strides = array.data_ptr(), tuple(array.shape), tuple(array.stride())
        self.dtype = _DTYPE_OF_TORCH.get(str(array.dtype).rsplit(".", 1)[-1])


def _dense_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def _int64s(values):
    return (ctypes.c_int64 * len(values))(*values)


def _call(name, *arguments):
    error = _Error()
    if getattr(_library(), "reshardcheck_fingerprint_" + name)(*arguments, ctypes.byref(error)) != 0:
        raise FingerprintError(error.reason.decode())


def _candidates():
    if os.environ.get("RESHARDCHECK_FINGERPRINT_LIBRARY"):
        yield os.environ["RESHARDCHECK_FINGERPRINT_LIBRARY"]
        return
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), _LIBRARY_NAME)
    if os.path.exists(beside):
        yield beside
    yield ctypes.util.find_library("reshardcheck_fingerprint") or _LIBRARY_NAME


def _library(loaded=[]):
    """The shared library, loaded on first use."""
    if not loaded:
        library = ctypes.CDLL(next(_candidates()))
        pointer = ctypes.c_void_p
        library.reshardcheck_fingerprint_key_new.restype = pointer
        library.reshardcheck_fingerprint_key_new.argtypes = [pointer]
        library.reshardcheck_fingerprint_key_free.argtypes = [pointer]
        library.reshardcheck_fingerprint_key_free.restype = None
        library.reshardcheck_fingerprint_merge.argtypes = [pointer, pointer]
        library.reshardcheck_fingerprint_merge.restype = None
        library.reshardcheck_fingerprint_add_shard.argtypes = [pointer, pointer, pointer, pointer, pointer]
        library.reshardcheck_fingerprint_digest.argtypes = [pointer, pointer, ctypes.c_char_p, ctypes.c_size_t, pointer,
                                                            ctypes.c_char_p, pointer]
        loaded.append(library)
    return loaded[0]
