"""Messages from the server to the open browser tabs."""

from __future__ import annotations

import logging
from typing import Any

from ..core.report import Report
from . import recorder


def send_report(node_id: Any, report: Report) -> None:
    """Shows a report on its node now: before an error (the host sends no output then) or while a long decode runs.

    Silent where no server runs (tests, scripts) or the browser is gone; a report must never break a run.
    """
    try:
        from server import PromptServer

        server = getattr(PromptServer, "instance", None)
        # Without a client the host would send it to every browser; it sends its own events to none then.
        client = getattr(server, "client_id", None)
        if server is not None and client is not None and node_id is not None:
            kind = recorder.class_of(str(node_id))
            payload = {"node": str(node_id), "type": kind, "report": report.as_json()}
            server.send_sync("headroom.report", payload, client)
    except Exception:
        logging.debug("Headroom: a report could not be sent", exc_info=True)
