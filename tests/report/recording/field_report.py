"""The allocations that field report S3 (2017-03-22) shows: its tables of classes and of stacks.

The report shows sizes with two decimals, so that the bytes here have the precision of its figures.
"""

from __future__ import annotations

from pacenote.model.recording import Recording
from support.recordings import RecordingBuilder

GIB, MIB, KIB = 2**30, 2**20, 2**10

BLOCK_TERM_STATE = "org.apache.lucene.codecs.lucene50.Lucene50PostingsFormat$IntBlockTermState"

CLASSES = (
    ("byte[]", 1_637_790, 2216.60 * GIB, "95.11 %"),
    ("int[]", 530_690, 109.96 * GIB, "4.72 %"),
    ("java.util.concurrent.ConcurrentHashMap$Node[]", 913, 2.11 * GIB, "0.09 %"),
    ("long[]", 13_707, 1.55 * GIB, "0.07 %"),
    ("java.lang.Object[]", 11_718, 264.62 * MIB, "0.01 %"),
    ("org.elasticsearch.action.bulk.BulkItemResponse[]", 750, 28.62 * MIB, "0.00 %"),
    ("org.elasticsearch.action.bulk.BulkItemRequest[]", 298, 11.37 * MIB, "0.00 %"),
    ("char[]", 14_743, 4.38 * MIB, "0.00 %"),
    ("org.apache.lucene.util.fst.FST$Arc[]", 3_808, 1.69 * MIB, "0.00 %"),
    ("org.elasticsearch.index.VersionType[]", 23, 898.80 * KIB, "0.00 %"),
    (BLOCK_TERM_STATE, 5_480, 513.75 * KIB, "0.00 %"),
    ("short[]", 9, 384.14 * KIB, "0.00 %"),
)
"""Class, objects, bytes and pressure."""

SITE = (
    "io.netty.buffer.PoolArena$HeapArena.newChunk(int, int, int)",
    "io.netty.buffer.PoolArena.allocateNormal(PooledByteBuf, int, int)",
    "io.netty.buffer.PoolArena.allocate(PoolThreadCache, PooledByteBuf, int)",
    "io.netty.buffer.PoolArena.allocate(PoolThreadCache, int, int)",
    "io.netty.buffer.PooledByteBufAllocator.newHeapBuffer(int, int)",
    "io.netty.buffer.AbstractByteBufAllocator.heapBuffer(int, int)",
    "io.netty.buffer.AbstractByteBufAllocator.heapBuffer(int)",
)
"""The method that allocates, and its callers, all with 136,320 objects, 2,130.00 GB and 96.09 %."""

READ = (
    "io.netty.buffer.AbstractByteBufAllocator.ioBuffer(int)",
    "io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator$MaxMessageHandle.allocate(ByteBufAllocator)",
    "io.netty.channel.nio.AbstractNioByteChannel$NioByteUnsafe.read()",
    "io.netty.channel.nio.NioEventLoop.processSelectedKey(SelectionKey, AbstractNioChannel)",
    "io.netty.channel.nio.NioEventLoop.processSelectedKeysPlain(Set)",
    "io.netty.channel.nio.NioEventLoop.processSelectedKeys()",
    "io.netty.channel.nio.NioEventLoop.run()",
)
"""Their callers, with 136,317 objects, 2,129.96 GB and 96.09 %."""

CHUNK = 16 * MIB
"""Bytes of a chunk of Netty: 136,320 of them are the 2,130.00 GB of the report."""


def report_s3() -> Recording:
    """Returns a recording with the allocations of the report."""
    made = RecordingBuilder()
    reads, others = 136_317, 3
    read = made.stack(*SITE, *READ)
    other = made.stack(*SITE, "org.elasticsearch.http.netty4.Netty4HttpChannel.sendResponse(RestResponse)")
    thread = "elasticsearch[es-node][http_server_worker]"
    made.allocate("outside_tlab", ("byte[]", thread), read, reads, reads * CHUNK)
    made.allocate("outside_tlab", ("byte[]", thread), other, others, others * CHUNK)
    for name, count, size, _ in CLASSES:
        rest, rest_size = count, round(size)
        if name == "byte[]":
            rest, rest_size = count - reads - others, rest_size - (reads + others) * CHUNK
        stack = made.stack(f"example.Allocates{len(made.stacks)}.run()")
        made.allocate("outside_tlab", (name, "elasticsearch[es-node][bulk][T#1]"), stack, rest, rest_size)
    return made.build()
