"""Worker process of an ingest: `python -m spanwise.ingest.worker_process`.

It is started by `process_workers`, and answers requests on its standard streams (`worker_frames`)
until its input ends.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO

from spanwise.loading import fast_imports

with fast_imports():
    from spanwise.ingest.worker_frames import decode_request, encode_prepared
    from spanwise.ingest.workers import prepare
    from spanwise.parsers.process.protocol import Header, read_frame, write_frame
    from spanwise.parsers.process.streams import take_streams

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Answer requests until the input ends."""
    requests, answers = take_streams()
    write_frame(answers, header={"ready": True}, payload=b"")
    packs = ""
    for header, payload in _frames(requests):
        request = decode_request(header, payload, known_packs=packs)
        packs = request.packs
        reply, arrays = encode_prepared(prepare(request), known_packs=packs)
        write_frame(answers, header=reply, payload=arrays)
        # Free the memory of a large document while waiting.
        del header, payload, request, reply, arrays


def _frames(requests: BinaryIO) -> Iterator[tuple[Header, bytes]]:
    """Yield the requests, which are read on a thread, so that the owner never waits to send one.

    The process ends at once when its input ends.
    """
    waiting: SimpleQueue[tuple[Header, bytes]] = SimpleQueue()

    def read() -> None:
        while (frame := read_frame(requests)) is not None:
            waiting.put(frame)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield waiting.get()


if __name__ == "__main__":
    main()
