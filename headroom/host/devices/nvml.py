"""The one door to NVML: every call goes through ``Nvml.ask``, which starts it, starts it again, decodes and explains.

Through NVIDIA's own binding, the package ``nvidia-ml-py`` (it is imported as ``pynvml``). Several packages fight over
that name; one that lacks a function costs the fields that need it.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

NEEDED = ("nvmlInit", "nvmlShutdown", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "NVMLError")
RETRY_SECONDS = 5.0
"""Between two attempts to start NVML where it does not start: a driver may be loaded later."""

REASONS = {
    1: "NVML had stopped",
    2: "the driver no longer knows this card",
    3: "this card does not tell",
    4: "not permitted here",
    6: "the driver finds nothing of that kind",
    9: "the NVIDIA driver is not loaded",
    12: "there is no NVIDIA driver here",
    13: "the NVIDIA driver is too old to tell",
    15: "the driver has lost the card",
    16: "the card must be reset",
    18: "NVML: driver/library version mismatch: the driver was updated, restart the machine",
    999: "the driver answers with an unknown error",
}
"""By NVML's return codes (nvml.h, nvmlReturn_t)."""
NOT_SUPPORTED, NOT_FOUND, FUNCTION_MISSING = 3, 6, 13
ALWAYS_LOST = {1, 15}
"""After these every handle is worthless."""
UNKNOWN = 999
LOST_IF_VITAL = {2, 9, 16, UNKNOWN}
"""As an answer to a question that every card can answer; as one to a sensor it means only that sensor."""
TAKEN_AWAY = (
    "NVML: Unknown Error; in a container that is a GPU taken away, as systemctl daemon-reload does: "
    "restart the container"
)


class Refused(Exception):
    """NVML did not answer; ``reason`` is for people, ``code`` its return code (None: it was not NVML that refused)."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.code = reason, code

    @property
    def missing(self) -> bool:
        """The driver or the binding has no such function: an older one may do."""
        return self.code == FUNCTION_MISSING

    def again(self) -> Refused:
        """The same to be raised. One that is kept must not be: it would keep the error that was being handled then,
        and with its frames the tensors of a failed node."""
        return Refused(self.reason, self.code)


class Nvml:
    """A running NVML. To be used from one thread."""

    def __init__(self) -> None:
        self._api: Any = None
        self._lost = False
        self._refused: Refused | None = None
        self._retry_at = 0.0
        self.starts = 0
        """How often it was started; handles of an earlier start are worthless."""

    def open(self) -> None:
        """Starts NVML where it is not running, and again after a loss; before every round of questions.

        Raises:
            Refused: no package, no driver, or one that does not answer.
        """
        if self._lost:
            self._close()
        if self._api is not None:
            return
        if self._refused is not None and time.monotonic() < self._retry_at:
            raise self._refused.again()
        try:
            api = _library()
            _call(api.nvmlInit)
        except Refused as refused:
            self._refused, self._retry_at = _vital(refused), time.monotonic() + RETRY_SECONDS
            raise self._refused.again() from None
        self._api, self._refused = api, None
        self.starts += 1

    def ask(self, name: str, *arguments: Any, vital: bool = False) -> Any:
        """What the function ``name`` of the binding returns.

        Args:
            vital: every card answers this; where it fails, NVML is started again before the next round.

        Raises:
            Refused: with the reason.
        """
        function = getattr(self._api, name, None)
        if function is None:
            raise Refused("the installed pynvml has no such function; nvidia-ml-py has", FUNCTION_MISSING)
        try:
            return _call(function, *arguments)
        except Refused as refused:
            self._lost |= refused.code in ALWAYS_LOST or (vital and refused.code in LOST_IF_VITAL)
            if vital:
                raise _vital(refused) from None
            raise

    def _close(self) -> None:
        api, self._api, self._lost = self._api, None, False
        try:
            _call(api.nvmlShutdown)
        except Refused:
            # A library that is already down is what is wanted.
            return


def _vital(refused: Refused) -> Refused:
    """The same, with what an unknown error means where everything depends on the answer (container-toolkit #48)."""
    return Refused(TAKEN_AWAY, UNKNOWN) if refused.code == UNKNOWN else refused.again()


def _library() -> Any:
    try:
        with warnings.catch_warnings():
            # The deprecated package of the same name warns when it is imported (Crystools #238).
            warnings.simplefilter("ignore")
            import pynvml
    except ImportError:
        raise Refused("the Python package nvidia-ml-py is not installed") from None
    except Exception as error:
        raise Refused(f"the Python package pynvml cannot be loaded: {error}") from error
    if any(not hasattr(pynvml, name) for name in NEEDED):
        raise Refused(
            "another package named pynvml stands in place of nvidia-ml-py: pip uninstall pynvml nvidia-ml-py, "
            "then pip install nvidia-ml-py"
        )
    return pynvml


def _call(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except UnicodeDecodeError as error:
        # A name that is not UTF-8: WSL with the drivers 555.85 and 555.99 (gpustat #170, nvitop #127).
        return bytes(error.object).decode("utf-8", "replace")
    except TypeError as error:
        raise Refused("the installed pynvml is older than nvidia-ml-py and asks otherwise", FUNCTION_MISSING) from error
    except Exception as error:
        code = getattr(error, "value", None)
        if isinstance(code, int):
            raise Refused(REASONS.get(code, f"NVML: {error}"), code) from error
        raise Refused(f"the binding to NVML failed: {type(error).__name__}: {error}") from error
