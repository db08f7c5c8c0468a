"""Writes runs as tables of Parquet files, for DuckDB, Spark and other readers (docs/dataset.md).

    python3 -m inline_prof.dataset FOLDER... -o DIR [--run NAME] [--machine MACHINE]

prof-analyze reads the profiles and hands columns over, which pyarrow writes; with duckdb alone it
writes CSV, which DuckDB turns into Parquet; with neither the dataset is CSV."""

import argparse
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

    def path_of(self, table, run, host, part, ending=".parquet"):
        folder = os.path.join(table, "run=" + run, "host=" + host)
        place = os.path.join(folder, part + ending)
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


def _refuse_other(dataset, versions_of):
    """Raises DatasetError if the dataset has files of another kind or version: readers take all files of a table together."""
    for folder, _, names in os.walk(os.path.join(dataset, "run")):
        for name in sorted(names):
            file = os.path.join(folder, name)
            if not name.endswith(".parquet"):
                raise DatasetError("%s: %s is there, and a dataset has files of one kind; expected another folder for "
                                   "Parquet" % (dataset, file))
            for version in versions_of(file):
                if version == SCHEMA_VERSION:
                    return
                raise DatasetError("%s: a dataset of version %s (%s), and this inline_prof writes version %d; expected "
                                   "another folder" % (dataset, version, file, SCHEMA_VERSION))


def _exactly(stream, size):
    data = stream.read(size)
    if len(data) != size:
        raise DatasetError("prof-analyze: its output ends within a table")
    return data


def _frames(stream):
    """(header, buffers of all columns) of each table that prof-analyze prints."""
    while True:
        line = stream.readline()
        if not line:
            raise DatasetError("prof-analyze: its output ends before its last table")
        header = json.loads(line)
        if not header["table"]:
            return
        yield header, _exactly(stream, sum(sum(column["sizes"]) for column in header["columns"]))


def _arrow_table(pa, header, data):
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
    pq = __import__("pyarrow.parquet", fromlist=["_"])
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


# These columns count up: their differences are small.
_COUNTING = {"number", "event_index", "iteration", "start_index", "end_index"}


def _is_repeated(column):
    # The clock of event pairs is coarse: a file's samples share some thousand values.
    return column["name"] == "measured_ms" or (column["type"] not in ("double", "float")
                                               and column["name"] not in _COUNTING)


def _write_by_pyarrow(pa, stream, staging):
    pq = __import__("pyarrow.parquet", fromlist=["_"])
    for header, data in _frames(stream):
        columns = header["columns"]
        encodings = {column["name"]: "DELTA_BINARY_PACKED" for column in columns if column["name"] in _COUNTING}
        pq.write_table(_arrow_table(pa, header, data),
                       staging.path_of(header["table"], header["run"], header["host"], header["part"]),
                       compression="zstd", compression_level=5, row_group_size=_ROWS_OF_A_GROUP,
                       store_schema=False, write_statistics=False,  # one file is of one rank: nothing to skip in it
                       use_dictionary=[column["name"] for column in columns
                                       if _is_repeated(column) and column["type"] != "bool"],
                       column_encoding=encodings or None)


def _write_by_duckdb(duckdb, command, staging):
    types = {"int64": "BIGINT", "int32": "INTEGER", "string": "VARCHAR"}
    csv = os.path.join(staging.folder, "csv")
    _run(command + ["--format", "csv", "-o", csv])
    connection = duckdb.connect()
    for folder, _, files in os.walk(csv):
        for name in files:
            source = os.path.join(folder, name)
            table, run, host, part = os.path.relpath(source, csv).split(os.sep)
            columns = {column: types.get(kind, kind.upper()) for column, kind in schema()[table].items()}
            target = staging.path_of(table, run[len("run="):], host[len("host="):], part[:-len(".csv")])
            connection.execute(
                "COPY (SELECT * FROM read_csv(?, header = true, columns = %r, quote = '\"', escape = '\"', "
                "allow_quoted_nulls = false, hive_partitioning = false)) TO '%s' (FORMAT parquet, COMPRESSION zstd)"
                % (columns, target.replace("'", "''")), [source])
    shutil.rmtree(csv)


def _run(command):
    done = subprocess.run(command, stderr=subprocess.PIPE, env=_environment(), check=False)
    if done.returncode != 0:
        raise DatasetError(done.stderr.decode("utf-8", "replace").strip() or
                           "%s: exit status %d" % (command[0], done.returncode))


def _environment():
    # The analyzer is a program of its own: it is not measured.
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}


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
    pa = _import("pyarrow") if engine in (None, "pyarrow") else None
    duckdb = _import("duckdb") if pa is None and engine in (None, "duckdb") else None
    if engine in ("pyarrow", "duckdb") and pa is None and duckdb is None:
        raise DatasetError("%s is not installed" % engine)
    if pa is None and duckdb is None:
        _run(command + ["--format", "csv", "-o", output])
        return "csv"
    try:
        _refuse_other(output, _versions_by_pyarrow if pa is not None else _versions_by_duckdb)
        with _Staging(output) as staging:
            if pa is not None:
                _stream(pa, command, staging)
            else:
                _write_by_duckdb(duckdb, command, staging)
            staging.publish()
    except OSError as error:
        raise DatasetError("%s: %s" % (error.filename or output, error.strerror or error)) from error
    return "pyarrow" if pa is not None else "duckdb"


def _stream(pa, command, staging):
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(command + ["--format", "stream"], stdout=subprocess.PIPE, stderr=complaints,
                                 env=_environment(), bufsize=1 << 20)
        try:
            _write_by_pyarrow(pa, child.stdout, staging)
        except DatasetError as error:
            if not str(error).startswith("prof-analyze: its output ends"):
                raise
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
    parser.add_argument("--engine", choices=["pyarrow", "duckdb", "csv"], help="default: the first that there is")
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
