"""The Python module against the shared library: layouts agree, differences show, mistakes are named.

Arrays are stand-ins with __array_interface__ or data_ptr(), because the module needs neither NumPy nor PyTorch.
"""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "verifier", "python"))
import reshardcheck_fingerprint as fingerprint  # noqa: E402

ROWS, COLUMNS = 8, 6


class Array:
    """A strided view of 16-bit elements, as NumPy describes one."""

    def __init__(self, buffer, first, shape, strides=None, typestr="<u2"):
        address = ctypes.addressof(buffer) + 2 * first
        self._buffer = buffer
        self.__array_interface__ = {"data": (address, True), "shape": shape, "typestr": typestr, "version": 3,
                                    "strides": strides and tuple(2 * stride for stride in strides)}


class Tensor:
    """What PyTorch calls a tensor, as far as the module looks."""

    def __init__(self, buffer, shape, strides):
        self._buffer, self.shape, self._strides, self.dtype = buffer, shape, strides, "torch.bfloat16"

    def data_ptr(self):
        return ctypes.addressof(self._buffer)

    def stride(self):
        return self._strides


def elements():
    return (ctypes.c_uint16 * (ROWS * COLUMNS))(*range(1, ROWS * COLUMNS + 1))


class FingerprintTest(unittest.TestCase):
    def setUp(self):
        self.key = fingerprint.Key(bytes(range(16)))
        self.buffer = elements()
        self.whole = self.key.shard(Array(self.buffer, 0, (ROWS, COLUMNS)))

    def sum_of(self, layout, shards):
        total = fingerprint.State()
        for rank, array in enumerate(shards):
            total += self.key.shard(array, layout=layout, rank=rank, shape=(ROWS, COLUMNS))
        return total

    def test_rows_and_columns_and_replicas_add_up_to_the_whole(self):
        rows = [Array(self.buffer, rank * 2 * COLUMNS, (2, COLUMNS)) for rank in range(4)]
        columns = [Array(self.buffer, rank * 3, (ROWS, 3), (COLUMNS, 1)) for rank in range(2)]
        self.assertEqual(self.sum_of("4@0 S(0)", rows), self.whole)
        self.assertEqual(self.sum_of("2@0 S(1)", columns), self.whole)
        self.assertEqual(self.sum_of("2x2@0 S(1),R", [column for column in columns for _ in range(2)]), self.whole)

    def test_a_tensor_that_says_bf16_has_the_digest_of_bf16(self):
        state = self.key.shard(Tensor(self.buffer, (ROWS, COLUMNS), (COLUMNS, 1)))
        self.assertEqual(state, self.whole)
        shape = (ROWS, COLUMNS)
        self.assertNotEqual(self.key.digest(state, "bf16", shape), self.key.digest(state, "u16", shape))
        self.assertEqual(len(self.key.digest(state, "bf16", shape)), 32)

    def test_one_changed_bit_and_another_key_change_the_state(self):
        self.buffer[17] ^= 0x100
        self.assertNotEqual(self.key.shard(Array(self.buffer, 0, (ROWS, COLUMNS))), self.whole)
        self.buffer[17] ^= 0x100
        self.assertNotEqual(fingerprint.Key().shard(Array(self.buffer, 0, (ROWS, COLUMNS))), self.whole)

    def test_ranges_of_elements_add_up(self):
        array = Array(self.buffer, 0, (ROWS, COLUMNS))
        parts = [self.key.shard(array, elements=span) for span in ((0, 11), (11, 11), (11, 48))]
        self.assertEqual(parts[0] + parts[1] + parts[2], self.whole)

    def test_a_replica_says_which_it_is(self):
        array = Array(self.buffer, 3, (ROWS, 3), (COLUMNS, 1))
        replica = self.key.replica(array, layout="2x2@0 S(1),R", rank=3, shape=(ROWS, COLUMNS))
        self.assertEqual((replica.shard, replica.place), (1, 1))
        self.assertNotEqual(replica.state, fingerprint.State())

    def test_states_travel_as_text(self):
        self.assertEqual(fingerprint.State.from_hex(self.whole.hex()), self.whole)

    def test_mistakes_are_named(self):
        array = Array(self.buffer, 0, (ROWS, COLUMNS))
        with self.assertRaisesRegex(fingerprint.FingerprintError, "dim 4 does not exist"):
            self.key.shard(array, layout="2@0 S(4)")
        with self.assertRaisesRegex(fingerprint.FingerprintError, "unknown dtype"):
            self.key.shard(array, dtype="bf17")
        with self.assertRaisesRegex(TypeError, "big-endian"):
            self.key.shard(Array(self.buffer, 0, (ROWS, COLUMNS), None, ">u2"))
        with self.assertRaisesRegex(ValueError, "pass dtype="):
            self.key.shard(Array(self.buffer, 0, (ROWS, COLUMNS), None, "|V2"))
        with self.assertRaisesRegex(TypeError, "neither"):
            self.key.shard([1, 2, 3])


if __name__ == "__main__":
    unittest.main()
