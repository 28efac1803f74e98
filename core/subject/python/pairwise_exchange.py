"""Point-to-point messages in plain Python, judged by reshardcheck: an example of a subject with a process per rank.

For every target rank and every distinct source shard, the elements that both own travel in one message, row-major. All
messages of a tensor are posted at once. Run it with

    reshardcheck run 'bf16[8,8] 2@0 S(0) -> 4@2 S(1)' --subject 'proc:python3 pairwise_exchange.py'
"""

import itertools
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reshardcheck_subject


def shared_indices(source, target, dims):
    """For every dim, the global indices that both owners hold."""
    held = [set(source.indices(dim)) for dim in range(dims)]
    return [[index for index in target.indices(dim) if index in held[dim]] for dim in range(dims)]


def transfers(tensor):
    """(source owner, target owner, indices per dim, elements), the same list on every rank."""
    shards = {}
    for owner in tensor.source.owners:
        shards.setdefault(str(owner.intervals), owner)  # the first replica serves
    for target in tensor.target.owners:
        for source in shards.values():
            indices = shared_indices(source, target, len(tensor.shape))
            elements = 1
            for each in indices:
                elements *= len(each)
            if elements > 0:
                yield source, target, indices, elements


def places(tensor, local, indices):
    """The file offset of every element, row-major over the indices."""
    at = []
    for dim, wanted in enumerate(indices):
        position = {index: place for place, index in enumerate(local.owner.indices(dim))}
        at.append([position[index] * local.strides[dim] for index in wanted])
    for parts in itertools.product(*at):
        yield local.offset + sum(parts) * tensor.width_bytes


def move(session, tensor):
    memory = session.memory
    width = tensor.width_bytes
    mine = {local.side: local for local in tensor.locals}
    end = session.scratch
    sends, receives, arrivals = [], [], []
    for source, target, indices, elements in transfers(tensor):
        size = elements * width
        if source.rank == session.rank:
            for k, place in enumerate(places(tensor, mine["source"], indices)):
                memory[end + k * width : end + (k + 1) * width] = memory[place : place + width]
            sends.append((target.rank, end, size))
            end += size
        if target.rank == session.rank:
            receives.append((source.rank, end, size))
            arrivals.append((end, indices))
            end += size
    session.exchange(sends, receives)
    for begin, indices in arrivals:
        for k, place in enumerate(places(tensor, mine["target"], indices)):
            memory[place : place + width] = memory[begin + k * width : begin + (k + 1) * width]


def reshard(session, tensors):
    for tensor in tensors:
        move(session, tensor)


if __name__ == "__main__":
    reshardcheck_subject.serve(reshard, hosts="one", max_world_ranks=32)
