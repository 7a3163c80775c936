"""Which documents of a bulk task each of its clients sends, as the driver divides them
(`crates/driver/src/operation/bulk.rs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pacenote.model.work import BulkWork, IngestDocuments
from pacenote.units import format_count, format_rate

_ROUNDING = 1e-12
"""Relative excess of a share of bulks that is due to the binary representation of a percentage."""

_MAX_SIZE_CHANGE = 0.05
"""Largest change of the mean number of documents of a bulk that is not worth a word, as a fraction of it."""


def client_documents(work: BulkWork, client: int, clients: int) -> list[int]:
    """Returns how many documents a client sends of each file, in its order: a bulk never has documents of two
    files.
    """
    shares = [_range(work.files[at].documents, client, clients) for at in _reading_order(work, client)]
    if isinstance(work.limit, IngestDocuments):
        left = _range(work.limit.documents, client, clients)
    else:
        bulks = bulks_of(shares, work.bulk_size) * work.limit.share
        left = documents_in_bulks(shares, math.ceil(bulks - bulks * _ROUNDING), work.bulk_size)
    limited = []
    for documents in shares:
        limited.append(min(documents, left))
        left -= limited[-1]
    return limited


def _reading_order(work: BulkWork, client: int) -> list[int]:
    """Returns the positions of the files in the order in which a client reads them: it begins with another
    corpus than the client before it, and takes a file of each in turn.
    """
    corpora = sorted({file.corpus for file in work.files})
    first = client % max(1, len(corpora))
    taken = dict.fromkeys(corpora, 0)
    order = []
    for at, file in enumerate(work.files):
        turn = (corpora.index(file.corpus) - first) % len(corpora)
        order.append((taken[file.corpus], turn, at))
        taken[file.corpus] += 1
    return [at for _, _, at in sorted(order)]


def _range(documents: int, client: int, clients: int) -> int:
    """Returns how many of the documents of a file are those of a client."""
    share = documents / clients
    return round(share * (client + 1)) - round(share * client)


def count_bulks(documents: int, bulk_size: int) -> int:
    """Returns the number of bulks that documents of one file fill, the last of which may have fewer."""
    return -(-documents // bulk_size)


def documents_per_bulk(work: BulkWork, clients: int, iterations: int | None = None) -> float:
    """Returns how many documents a bulk has in the mean, over all that the clients of a task send once or
    over the first `iterations` of each: `bulk_size` or less, because the last bulk of each client and file
    has the rest of its documents. Of a task that starts again at its end, it is that of all. It is
    `bulk_size` if a number of documents is not known.
    """
    documents = bulks = 0
    if work.looped:
        iterations = None
    if all(file.documents for file in work.files):
        for client in range(clients):
            parts = client_documents(work, client, clients)
            own = bulks_of(parts, work.bulk_size)
            sent = own if iterations is None else min(own, iterations)
            documents += documents_in_bulks(parts, sent, work.bulk_size)
            bulks += sent
    return documents / bulks if bulks else work.bulk_size


def changed_bulk_size(work: BulkWork, clients: int, in_track: int) -> str:
    """Returns how many documents the bulks of a task have with so many clients, and with those of the track,
    if these numbers differ by more than they may; empty if not. Each client has its own range of every file,
    so that more clients send shorter bulks.
    """
    mean, expected = documents_per_bulk(work, clients), documents_per_bulk(work, in_track)
    if abs(mean - expected) <= _MAX_SIZE_CHANGE * expected:
        return ""
    return (
        f"bulks of {format_rate(mean)} documents in the mean with {format_count(clients, 'client')} instead "
        f"of {format_rate(expected)} with {in_track:,}"
    )


def bulks_of(parts: Sequence[int], bulk_size: int) -> int:
    """Returns the number of bulks that the documents of these parts, each of one file, fill."""
    return sum(count_bulks(documents, bulk_size) for documents in parts)


def largest_bulk(parts: Sequence[int], bulk_size: int) -> int:
    """Returns the number of documents in the largest bulk of these parts."""
    return min(bulk_size, max(parts, default=0))


def bulks_in_turns(bulks: Sequence[int], total: int) -> list[int]:
    """Returns how many bulks each client sends if clients with these numbers of bulks share `total`
    iterations in turns, as in an open loop whose replies take about equally long: the turns of a client that
    has sent all its bulks are left to the others.
    """
    shares = [0] * len(bulks)
    for done, client in enumerate(sorted(range(len(bulks)), key=bulks.__getitem__)):
        shares[client] = min(bulks[client], total // (len(bulks) - done))
        total -= shares[client]
    return shares


def documents_in_bulks(parts: Sequence[int], bulks: int, bulk_size: int) -> int:
    """Returns the number of documents in the first bulks of these parts."""
    sent = 0
    for documents in parts:
        sent += min(documents, bulks * bulk_size)
        bulks = max(0, bulks - count_bulks(documents, bulk_size))
    return sent
