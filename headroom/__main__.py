"""``python -m headroom ...``; ``python headroom ...`` too, which gives this file no package to import from.

The second form also works with ``-I``: the embedded Python of ComfyUI's portable build ignores the current folder.
"""

from __future__ import annotations

import sys
from types import ModuleType


def _main() -> int:
    if __package__:
        from .cli import main

        return main()
    return _as_package("headroom_cli").main()


def _as_package(name: str) -> ModuleType:
    """This folder as a package under a name of its own, and its ``cli``; nothing is added to sys.path."""
    import importlib
    import importlib.util
    from pathlib import Path

    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return importlib.import_module(f"{name}.cli")


if __name__ == "__main__":
    sys.exit(_main())
