"""Process subjects that go wrong in one way each, named by the first argument, and do everything else right.

Most host all ranks and move element by element. They go wrong on tensors with more than 4 elements only, so that a case
can be found on which they are right.
"""

import itertools
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../core/subject/python"))

import reshardcheck_subject


def places(tensor, local):
    """(global index, file offset) of every element of a local tensor."""
    dims = [list(enumerate(local.owner.indices(dim))) for dim in range(len(tensor.shape))]
    for element in itertools.product(*dims):
        elements = sum(position * stride for (position, _), stride in zip(element, local.strides))
        yield tuple(index for _, index in element), local.offset + elements * tensor.width_bytes


def deliver(tensor):
    width = tensor.width_bytes
    whole = {}
    for local in tensor.sources():
        for index, place in places(tensor, local):
            whole[index] = local.memory[place : place + width]
    for local in tensor.targets():
        for index, place in places(tensor, local):
            local.memory[place : place + width] = whole[index]


def is_large(tensor):
    elements = 1
    for extent in tensor.shape:
        elements *= extent
    return elements > 4


def flip(memory, place):
    memory[place] ^= 1


def go_wrong(how, session, tensor):
    """Before the tensor is delivered."""
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "exit":
        os._exit(3)
    elif how == "hang":
        time.sleep(600)
    elif how == "garbage":
        session._channel._output.write("Segmentation \x07fault in " + "x" * 5000 + "\n")
        session._channel._output.flush()
    elif how == "endless":
        while True:
            session._channel._output.write("x" * 65536)
    elif how == "refuse":
        raise reshardcheck_subject.Unsupported("not so many elements")
    elif how == "raise":
        raise ValueError("no such\nshard")
    elif how == "network":
        session.barrier()


def disturb(how, session, tensor):
    """After it."""
    source, target = tensor.sources()[0], tensor.targets()[0]
    if how == "wrong":
        flip(target.memory, target.offset)
    elif how == "source":
        flip(source.memory, source.offset)
    elif how == "before":
        flip(target.memory, target.offset - 1)
    elif how == "past":
        flip(target.memory, target.offset + target.bytes)
    elif how == "cut":
        os.truncate(session._file[0], 0)


def host_all(how):
    def reshard(session, tensors):
        for tensor in tensors:
            if is_large(tensor):
                go_wrong(how, session, tensor)
            deliver(tensor)
            if is_large(tensor):
                disturb(how, session, tensor)

    return reshard


WISHES = {
    "beyond": {"send": {"to": 1, "offset": 0, "bytes": 1 << 40}},
    "negative": {"send": {"to": 1, "offset": -8, "bytes": 8}},
    "overflow": {"receive": {"from": 1, "offset": (1 << 63) - 1, "bytes": (1 << 63) - 1}},
    "wide": {"send": {"to": 1 << 40, "offset": 0, "bytes": 1}},
    "nobody": {"send": {"to": 99, "offset": 0, "bytes": 1}},
    "greedy": {"exchange": [{"receive": {"from": 1, "offset": 0, "bytes": 64}}] * 100000},
    "alone": {"receive": {"from": 0, "offset": 0, "bytes": 1}},
}


def host_one(how):
    def reshard(session, tensors):
        if how == "insist":
            while True:
                session.exchange()
        session._communicate(WISHES[how])

    return reshard


def read_and_go_wrong_in_close(channel, read=reshardcheck_subject._Channel.read):
    request = read(channel)
    if request is not None and "close" in request:
        if way == "exit_in_close":
            os._exit(5)
        answer = {
            "error_in_close": {"error": "it does not close"},
            "refuse_in_close": {"unsupported": "closing"},
            "garbage_in_close": "closed",
        }
        channel.write(answer[way])
        return read(channel)
    return request


def read_and_die_when_closed(channel, read=reshardcheck_subject._Channel.read):
    request = read(channel)
    if request is not None and "close" in request:
        channel.write({"done": True})
        os._exit(0)
    return request


if __name__ == "__main__":
    way = sys.argv[1]
    if way == "mute":
        time.sleep(600)
    elif way == "no_hello":
        print("Hello, world")
    elif way == "dies_early":
        sys.exit(7)
    elif way in WISHES or way == "insist":
        reshardcheck_subject.serve(host_one(way), hosts="one")
    elif way == "narrow":
        reshardcheck_subject.serve(host_all(way), hosts="all", rules=["chunk"], max_dims=1, idle_ranks=False)
    elif way.endswith("_in_close"):
        reshardcheck_subject._Channel.read = read_and_go_wrong_in_close
        reshardcheck_subject.serve(host_all(way), hosts="all")
    elif way == "dies_when_closed":
        reshardcheck_subject._Channel.read = read_and_die_when_closed
        reshardcheck_subject.serve(host_all(way), hosts="all")
    else:
        reshardcheck_subject.serve(host_all(way), hosts="all")
