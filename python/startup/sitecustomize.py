"""Python runs this before a program that prof-run has started with INLINE_PROF_TORCH=1.

It hides itself, hooks PyTorch once the program imports it, and runs the sitecustomize that Python would have found
without it.
"""


def _start():
    import os
    import sys

    here = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [place for place in sys.path
                   if not place or os.path.realpath(place) != here]
    if os.environ.get("INLINE_PROF_TORCH") == "1":
        try:
            sys.path.insert(0, os.path.dirname(here))
            try:
                import inline_prof.importing
            finally:
                sys.path.remove(os.path.dirname(here))
            inline_prof.importing.hook_torch_when_imported()
        except Exception as error:  # the program comes first
            try:
                sys.stderr.write("inline_prof: no module names: %s\n" % (error,))
            except Exception:
                pass


def _run_the_users():
    import importlib.machinery
    import importlib.util
    import sys

    spec = importlib.machinery.PathFinder.find_spec(__name__, sys.path)
    if spec is None or spec.loader is None:
        # site expects this error if there is no sitecustomize.
        raise ImportError("No module named %r" % __name__, name=__name__)
    module = importlib.util.module_from_spec(spec)
    sys.modules[__name__] = module
    spec.loader.exec_module(module)


_start()
_run_the_users()
