"""Writes annotations of this machine to the metrics store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pacenote.errors import StoreError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.cli.console import Console
    from pacenote.metrics_store.client import StoreClient
    from pacenote.store.annotations import Annotation


def add_to_store(annotations: Sequence[Annotation], client: StoreClient | None, console: Console) -> None:
    """Writes annotations that are stored here to the metrics store, if there is one, and closes the
    connection; a failure is a warning.
    """
    if client is None:
        return
    from pacenote.metrics_store.store_annotations import StoreAnnotations

    try:
        stored = StoreAnnotations(client)
        for annotation in annotations:
            stored.add(annotation)
    except StoreError as error:
        what = "the annotation is" if len(annotations) == 1 else "annotations are"
        console.warning(
            f"{what} only on this machine: {error.message}; `pacenote export RACE --to-store` "
            "also writes annotations that the store lacks"
        )
    finally:
        client.close()
