"""A program of examples/pytorch as it is, with names put around its model: python3 examples.py gpt|dlrm [ARGUMENT]..."""

import importlib.util
import pathlib
import sys

import names

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/pytorch"
MODELS = {"gpt": "Gpt", "dlrm": "Dlrm"}


def load(name):
    spec = importlib.util.spec_from_file_location("example_" + name, EXAMPLES / (name + ".py"))
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def named(model_class):
    def made(*arguments):
        model = model_class(*arguments)
        names.put_around(model)
        return model

    return made


if __name__ == "__main__":
    if sys.argv[1:2] not in ([name] for name in MODELS):
        sys.exit(__doc__)
    example, model_name = load(sys.argv[1]), MODELS[sys.argv[1]]
    setattr(example, model_name, named(getattr(example, model_name)))
    sys.exit(example.main(sys.argv[2:]))
