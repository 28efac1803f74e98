"""Gather and broadcast in NumPy, judged by reshardcheck: an example of a subject that hosts all ranks.

Every tensor is put together whole from the local source tensors, each target takes its part. Both come from the interval
lists alone, so every split rule works. Run it with

    reshardcheck fuzz --subject 'proc:python3 numpy_gather_broadcast.py'
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy
import reshardcheck_subject


def view(tensor, local):
    """The local tensor without its padding, as an array of unsigned integers that hold its bits."""
    strides = [stride * tensor.width_bytes for stride in local.strides]
    dtype = "u%d" % tensor.width_bytes
    whole = numpy.ndarray(local.shape, dtype, local.memory, local.offset, strides)
    return whole[tuple(slice(len(indices)) for indices in owned(local)) + (...,)]


def owned(local):
    """For every dim, the global indices that the rank holds, in local order."""
    none = numpy.arange(0)
    return [
        numpy.concatenate([none] + [numpy.arange(begin, end) for begin, end in intervals])
        for intervals in local.owner.intervals
    ]


def reshard(session, tensors):
    for tensor in tensors:
        whole = numpy.zeros(tensor.shape, "u%d" % tensor.width_bytes)
        for local in tensor.sources():
            whole[numpy.ix_(*owned(local))] = view(tensor, local)
        for local in tensor.targets():
            view(tensor, local)[...] = whole[numpy.ix_(*owned(local))]


if __name__ == "__main__":
    reshardcheck_subject.serve(reshard, hosts="all")
