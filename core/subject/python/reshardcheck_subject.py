"""The Python side of a process subject: write one function, get it judged.

Standard library only. An adapter is one file:

    import reshardcheck_subject

    def reshard(session, tensors):
        for tensor in tensors:
            for local in tensor.targets():          # the local target tensors that this process hosts
                ...                                 # fill local.memory[local.offset ...] from tensor.sources()

    reshardcheck_subject.serve(reshard, hosts="all", rules=["chunk", "even"], max_dims=2)

and runs as

    reshardcheck fuzz --subject 'proc:python3 my_adapter.py'

hosts="all": one process gets the local tensors of all ranks and moves them as it likes (a simulator, a single
controller, a bare planner). hosts="one": a process per rank gets that rank's local tensors, and talks to the others
through session.send(), receive(), exchange() and barrier(). The remaining keywords of serve() say what the subject
takes (see core/subject/abi.h); what is left out is no limit. Raise Unsupported to refuse a case; any other exception is
reported as the subject's own error. print() goes to standard error, so that it does not disturb the conversation.

Dtypes are widths and bit patterns: view bf16, f8e4m3 and f8e5m2 as unsigned integers of width_bytes.
"""

import json
import mmap
import os
import sys


class Unsupported(Exception):
    """The subject does not take this case; raise it before anything is written."""


class CommunicationError(Exception):
    """A message or a barrier failed; its text is the reason, such as "deadlock"."""


class Owner:
    """What one rank holds of a tensor on one side: local_shape, and for every dim the intervals [begin, end) of global
    indices, in local order. Padding has no intervals: it is the tail of local_shape."""

    def __init__(self, fields):
        self.rank = fields["rank"]
        self.local_shape = fields["local_shape"]
        self.intervals = fields["intervals"]

    def indices(self, dim):
        """The global indices of a dim, in local order."""
        return [index for begin, end in self.intervals[dim] for index in range(begin, end)]


class Layout:
    """One side of a tensor: mesh extents, one placement text per mesh axis, and the owners in mesh order."""

    def __init__(self, fields):
        self.mesh = fields["mesh"]
        self.placements = fields["placements"]
        self.owners = [Owner(owner) for owner in fields["ranks"]]
        self._by_rank = {owner.rank: owner for owner in self.owners}

    def owner(self, rank):
        """What the rank holds, or None."""
        return self._by_rank.get(rank)


class Local:
    """A local tensor in the mapped file `memory`: local index 0 is at `offset` bytes, strides count elements. The
    buffer reaches over `bytes` bytes; write targets only, and nothing around them."""

    def __init__(self, fields, owner, memory):
        self.rank = fields["rank"]
        self.side = fields["side"]
        self.offset = fields["offset"]
        self.bytes = fields["bytes"]
        self.shape = fields["shape"]
        self.strides = fields["strides"]
        self.owner = owner
        self.memory = memory


class Tensor:
    """A tensor of the batch: its name, dtype, width_bytes, global shape and path, both layouts, and the local tensors
    that this process hosts."""

    def __init__(self, fields, layouts, memory):
        self.name = fields["name"]
        self.dtype = fields["dtype"]
        self.width_bytes = fields["width_bytes"]
        self.shape = fields["shape"]
        self.path = fields["path"]
        self.source = layouts[fields["source"]]
        self.target = layouts[fields["target"]]
        self.locals = []
        for local in fields["locals"]:
            layout = self.source if local["side"] == "source" else self.target
            self.locals.append(Local(local, layout.owner(local["rank"]), memory))

    def sources(self):
        return [local for local in self.locals if local.side == "source"]

    def targets(self):
        return [local for local in self.locals if local.side == "target"]


class Session:
    """From open to close, which is one case: keep caches here. `rank` is None where the process hosts all ranks.

    Messages are bytes of the file `memory`, at an offset; bytes [scratch, scratch + scratch_bytes) are there to put
    them together. Between two ranks they arrive in the order in which they were sent. A send returns when its receive
    has taken it, so two ranks that both send first wait for ever: use exchange()."""

    def __init__(self, channel, fields):
        self.rank = fields.get("rank")
        self.world_ranks = fields["world_ranks"]
        self.domain_ranks = fields["domain_ranks"]
        self.domain_anchor = fields["domain_anchor"]
        self.chunk_bytes = fields["chunk_bytes"]
        self.memory = None
        self.scratch = 0
        self.scratch_bytes = 0
        self._channel = channel
        self._layouts = {}
        self._file = None

    def send(self, to, offset, size):
        self._communicate({"send": {"to": to, "offset": offset, "bytes": size}})

    def receive(self, sender, offset, size):
        self._communicate({"receive": {"from": sender, "offset": offset, "bytes": size}})

    def exchange(self, sends=(), receives=()):
        """All messages at once: (peer, offset, size) each."""
        wishes = [{"send": {"to": to, "offset": offset, "bytes": size}} for to, offset, size in sends]
        wishes += [{"receive": {"from": sender, "offset": offset, "bytes": size}} for sender, offset, size in receives]
        self._communicate({"exchange": wishes})

    def barrier(self):
        self._communicate({"barrier": {}})

    def _communicate(self, wish):
        self._channel.write(wish)
        reply = self._channel.read()
        if reply is None or not reply.get("ok"):
            raise CommunicationError("the harness is gone" if reply is None else reply.get("failed"))

    def _tensors(self, fields):
        wanted = (fields["file"], fields["file_bytes"])
        if self._file != wanted:
            descriptor = os.open(fields["file"], os.O_RDWR)
            try:
                self.memory = mmap.mmap(descriptor, fields["file_bytes"]) if fields["file_bytes"] > 0 else bytearray()
            finally:
                os.close(descriptor)
            self._file = wanted
        self.scratch = fields["scratch"]["offset"]
        self.scratch_bytes = fields["scratch"]["bytes"]
        for layout in fields["layouts"]:
            self._layouts[layout["number"]] = Layout(layout)
        return [Tensor(tensor, self._layouts, self.memory) for tensor in fields["tensors"]]


class _Channel:
    """JSON lines on what were standard input and output; they are nobody else's from now on."""

    def __init__(self):
        self._input = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def read(self):
        line = self._input.readline()
        return json.loads(line) if line else None

    def write(self, value):
        self._output.write(json.dumps(value, separators=(",", ":")) + "\n")
        self._output.flush()


def serve(reshard, hosts="one", **capabilities):
    """Says hello and answers requests until the harness is gone. `reshard(session, tensors)` is called once per batch."""
    channel = _Channel()
    try:
        channel.write({"hello": {"abi": 1, "hosts": hosts, "capabilities": capabilities}})
        _answer_requests(channel, reshard)
    except BrokenPipeError:
        os._exit(0)  # the harness is gone, and what has not been written has no reader


def _answer_requests(channel, reshard):
    session = None
    while True:
        request = channel.read()
        if request is None:
            return
        try:
            if "open" in request:
                session = Session(channel, request["open"])
            elif "reshard" in request:
                reshard(session, session._tensors(request["reshard"]))
            elif "close" in request:
                session = None
            answer = {"done": True}
        except Unsupported as refusal:
            answer = {"unsupported": str(refusal)}
        except BrokenPipeError:
            raise
        except Exception as error:  # whatever the subject raises is its own error
            answer = {"error": "%s: %s" % (type(error).__name__, error)}
        channel.write(answer)


if __name__ == "__main__":
    sys.exit("this is a module; see its first lines for how to write a subject with it")
