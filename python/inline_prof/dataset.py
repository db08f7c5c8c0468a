"""Writes runs as tables of Parquet files, for DuckDB, Spark and other readers (docs/dataset.md).

    python3 -m inline_prof.dataset FOLDER... -o DIR [--run NAME] [--machine MACHINE]

prof-analyze reads the profiles and hands tables over: columns, which pyarrow writes; with duckdb alone
CSV, which DuckDB turns into Parquet; with neither the dataset is that CSV."""

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from . import reports

SCHEMA_VERSION = 1

# Rows of a row group: enough for its dictionaries, few enough for a reader's memory.
_ROWS_OF_A_GROUP = 1 << 20


class DatasetError(Exception):
    """The dataset was not written, and the files there are unchanged; the text says why."""


def _import(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


class _Staging:
    """Collects files in a hidden folder of the dataset, so that a failure half-way leaves the dataset as it was."""

    def __init__(self, dataset):
        self.dataset = dataset
        os.makedirs(dataset, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix=".writing.", dir=dataset)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path_of(self, header, ending):
        table = header["table"]
        folder = os.path.join(table, "run=" + header["run"], "host=" + header["host"])
        place = os.path.join(folder, header["part"] + ending)
        os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        for root in (self.dataset, self.folder):
            if not os.path.lexists(os.path.join(root, place)):
                continue
            of_run = os.path.join(self.dataset, "run", os.path.relpath(place, table))
            is_finished = table in ("run", "finding") or root == self.folder or os.path.lexists(of_run)
            raise DatasetError("%s: stands already, %s" % (
                os.path.join(self.dataset, place),
                "and what stands is never rewritten; expected another --run" if is_finished else
                "without a row in the table run: the writing of it was cut off; remove it"))
        return os.path.join(self.folder, place)

    def publish(self):
        # The table `run` comes last: what has no row there is not finished.
        for table in sorted(os.listdir(self.folder), key=lambda table: table == "run"):
            for folder, _, names in os.walk(os.path.join(self.folder, table)):
                target = os.path.join(self.dataset, os.path.relpath(folder, self.folder))
                os.makedirs(target, exist_ok=True)
                for name in names:
                    # Unlike rename(), this does not replace what another process has put there meanwhile.
                    os.link(os.path.join(folder, name), os.path.join(target, name))


def _refuse_other(dataset, ending, versions_of):
    """Raises DatasetError if the dataset has files of another kind or version: readers take all files of a table together."""
    for folder, _, names in os.walk(os.path.join(dataset, "run")):
        for name in sorted(names):
            file = os.path.join(folder, name)
            if not name.endswith(ending):
                raise DatasetError("%s: %s is there, and a dataset has files of one kind; expected another folder for %s"
                                   % (dataset, file, "CSV" if ending == ".csv" else "Parquet"))
            for version in versions_of(file):
                if str(version) == str(SCHEMA_VERSION):
                    return
                raise DatasetError("%s: a dataset of version %s (%s), and this inline_prof writes version %d; expected "
                                   "another folder" % (dataset, version, file, SCHEMA_VERSION))


def _exactly(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise DatasetError("prof-analyze: its output ends within a table")
    return data


def _frames(stream):
    """(header, rows) of each table that prof-analyze prints."""
    while True:
        line = stream.readline()
        if not line:
            raise DatasetError("prof-analyze: its output ends before its last table")
        header = json.loads(line)
        if not header["table"]:
            return
        yield header, _exactly(stream, header["bytes"])


def _arrow_table(header, data):
    pa = _import("pyarrow")
    kinds = {"int64": pa.int64(), "int32": pa.int32(), "double": pa.float64(), "float": pa.float32(),
             "string": pa.string()}
    rows, data, begin = header["rows"], pa.py_buffer(data), 0
    arrays, fields = [], []
    for column in header["columns"]:
        buffers = []
        for size in column["sizes"]:
            buffers.append(data.slice(begin, size))
            begin += size
        if not column["nulls"]:
            buffers[0] = None
        if column["type"] == "bool":  # a byte each; Arrow has bits
            array = pa.Array.from_buffers(pa.int8(), rows, buffers).cast(pa.bool_())
        else:
            array = pa.Array.from_buffers(kinds[column["type"]], rows, buffers)
        arrays.append(array)
        fields.append(pa.field(column["name"], array.type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, {"inline_prof_dataset": str(SCHEMA_VERSION)}))


def _versions_by_pyarrow(file):
    pq = _import("pyarrow.parquet")
    try:
        return pq.ParquetFile(file).read(columns=["version"]).column(0).to_pylist()
    except Exception as error:  # pyarrow's own, of many kinds
        raise DatasetError("%s: %s" % (file, error)) from error


def _versions_by_duckdb(file):
    duckdb = _import("duckdb")
    try:
        rows = duckdb.connect().execute("SELECT version FROM read_parquet(?)", [file]).fetchall()
    except duckdb.Error as error:
        raise DatasetError("%s: %s" % (file, error)) from error
    return [row[0] for row in rows]


def _versions_of_csv(file):
    with open(file, newline="", encoding="utf-8") as text:
        return [row["version"] for row in csv.DictReader(text)]


# These columns count up: their differences are small.
_COUNTING = {"number", "event_index", "iteration", "start_index", "end_index"}


def _is_repeated(column):
    # The clock of event pairs is coarse: a file's samples share some thousand values.
    return column["name"] == "measured_ms" or (column["type"] not in ("double", "float")
                                               and column["name"] not in _COUNTING)


def _write_by_pyarrow(header, data, target):
    columns = header["columns"]
    encodings = {column["name"]: "DELTA_BINARY_PACKED" for column in columns if column["name"] in _COUNTING}
    _import("pyarrow.parquet").write_table(
        _arrow_table(header, data), target, compression="zstd", compression_level=5, row_group_size=_ROWS_OF_A_GROUP,
        store_schema=False, write_statistics=False,  # one file is of one rank: nothing to skip in it
        use_dictionary=[column["name"] for column in columns if _is_repeated(column) and column["type"] != "bool"],
        column_encoding=encodings or None)


def _write_by_duckdb(header, data, target):
    types = {"int64": "BIGINT", "int32": "INTEGER", "string": "VARCHAR"}
    columns = {column["name"]: types.get(column["type"], column["type"].upper()) for column in header["columns"]}
    with tempfile.NamedTemporaryFile(suffix=".csv") as source:
        source.write(data)
        source.flush()
        _import("duckdb").connect().execute(
            "COPY (SELECT * FROM read_csv(?, header = true, columns = %r, quote = '\"', escape = '\"', "
            "allow_quoted_nulls = false, hive_partitioning = false)) TO '%s' (FORMAT parquet, COMPRESSION zstd)"
            % (columns, target.replace("'", "''")), [source.name])


def _write_csv(_, data, target):
    with open(target, "wb") as file:
        file.write(data)


# By their names: the format to ask prof-analyze for, the ending of files, and how to write and to read one.
_ENGINES = {"pyarrow": ("stream", ".parquet", _write_by_pyarrow, _versions_by_pyarrow),
            "duckdb": ("csv_stream", ".parquet", _write_by_duckdb, _versions_by_duckdb),
            "csv": ("csv_stream", ".csv", _write_csv, _versions_of_csv)}


def write(folders, output, run=None, machine=None, analyzer=None, engine=None):
    """Writes the runs in `folders` as tables below `output`.  Returns the engine used: "pyarrow", "duckdb" or "csv", the first
    that is installed unless `engine` names one.  Raises DatasetError."""
    analyzer = analyzer or reports.find_analyzer()
    if analyzer is None:
        raise DatasetError("prof-analyze is neither beside libinline_prof.so nor on PATH")
    command = [analyzer, "dataset", *map(os.fspath, folders)]
    if run is not None:
        command += ["--run", run]
    if machine is not None:
        command += ["--machine", os.fspath(machine)]
    output = os.fspath(output)
    installed = [name for name in _ENGINES if engine in (None, name) and (name == "csv" or _import(name))]
    if not installed:
        raise DatasetError("%s is not installed" % engine)
    stream, ending, write_table, versions_of = _ENGINES[installed[0]]
    try:
        _refuse_other(output, ending, versions_of)
        with _Staging(output) as staging:
            for header, data in _tables(command + ["--format", stream]):
                write_table(header, data, staging.path_of(header, ending))
            staging.publish()
    except OSError as error:
        raise DatasetError("%s: %s" % (error.filename or output, error.strerror or error)) from error
    return installed[0]


def _tables(command):
    """The frames that the command prints.  Where they end early, what it says of that is the error."""
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, env=reports.unmeasured(), bufsize=1 << 20)
        try:
            yield from _frames(child.stdout)
        except DatasetError as error:
            child.stdout.close()
            child.wait()
            complaints.seek(0)
            words = complaints.read().decode("utf-8", "replace").strip()
            raise DatasetError(words or "%s: exit status %d" % (error, child.returncode)) from error
        finally:
            child.stdout.close()
            if child.poll() is None:
                child.terminate()
            child.wait()


def schema():
    """Returns {table: {column: type}} as in docs/schemas/dataset.csv, without the folders `run` and `host`."""
    with open(os.path.join(os.path.dirname(__file__), "dataset_schema.json"), encoding="utf-8") as file:
        return json.load(file)["tables"]


def main(words=None):
    parser = argparse.ArgumentParser(prog="python3 -m inline_prof.dataset", description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="folders of runs, or with --run the files of one")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the dataset; what stands there stays")
    parser.add_argument("--run", help="name of the run; default: that of its folder")
    parser.add_argument("--machine", help="machine to predict for; default: what each file says")
    parser.add_argument("--engine", choices=list(_ENGINES), help="default: the first that there is")
    parser.add_argument("--analyzer", help="prof-analyze; default: beside the package, or on PATH")
    given = parser.parse_args(words)
    try:
        used = write(given.folders, given.output, given.run, given.machine, given.analyzer, given.engine)
    except DatasetError as error:
        print("prof-analyze: %s" % error if not str(error).startswith("prof-analyze") else str(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    if used == "csv" and given.engine is None:
        print("dataset: neither pyarrow nor duckdb is installed: CSV instead of Parquet", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
