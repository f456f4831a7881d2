# SPDX-License-Identifier: Apache-2.0
"""Tests of OME-Zarr, against zarr-python and ome-zarr. Servers on this machine have the http:// and s3:// stores."""

import functools
import http.server
import json
import os
import shutil
import threading
import time

import numpy as np
import pytest
import tifffile

import convolume

pytest.importorskip("tensorstore")
zarr = pytest.importorskip("zarr")


def small(random, shape=(2, 3, 5, 60, 70), dtype=np.uint16):
    values = random.integers(0, 200, shape)
    return values.astype(dtype)


def written(path, values, axes, datasets, scales, zarr_format=3, units="micrometer", extra=None, codec="zstd",
            translations=None, sharded=False):
    """Writes an OME-Zarr image by zarr-python. `values` is a list of arrays, one for each level."""
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    for name, level in zip(datasets, values):
        chunks = tuple(min(n, 16) for n in level.shape)
        options = {"shards": tuple(2 * n for n in chunks)} if sharded else {}
        codecs = {"zstd": zarr.codecs.ZstdCodec(), "gzip": zarr.codecs.GzipCodec(), "blosc": zarr.codecs.BloscCodec(),
                  "none": None}
        if zarr_format == 2:
            numcodecs = pytest.importorskip("numcodecs")
            codecs = {"zstd": numcodecs.Zstd(), "gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc(), "none": None}
        group.create_array(name, shape=level.shape, chunks=chunks, dtype=level.dtype, compressors=codecs[codec],
                           **options)[...] = level
    kinds = {"t": "time", "c": "channel"}
    entries = [{"name": a, "type": kinds.get(a, "space"), **({} if a in "tc" else {"unit": units})} for a in axes]
    transforms = [[{"type": "scale", "scale": scale}] for scale in scales]
    for one, shift in zip(transforms, translations or []):
        one.append({"type": "translation", "translation": shift})
    multiscales = [{"axes": entries, "name": "x", "version": "0.4",
                    "datasets": [{"path": name, "coordinateTransformations": one}
                                 for name, one in zip(datasets, transforms)]}]
    ome = {"multiscales": multiscales, **(extra or {})}
    group.attrs.update({"ome": {"version": "0.5", **ome}} if zarr_format == 3 else ome)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("compression", ["none", "zstd", "gzip", "blosc"])
def test_written_for_others(tmp_path, random, zarr_format, compression):
    image = small(random)
    path = tmp_path / "a.ome.zarr"
    convolume.save(path, convolume.Image.of_array(image, axes="TCZYX", spacing=(0.5, 0.1, 0.2)), chunks=(2, 16, 32),
                   shards=(4, 32, 64) if zarr_format == 3 else None, zarr_format=zarr_format, compression=compression,
                   levels=3)
    group = zarr.open_group(path, mode="r")
    np.testing.assert_array_equal(group["0"][...], image)
    # z is sampled coarsely and is reduced later. The first level halves y alone, as x is coarser (0.1 and 0.2).
    assert group["1"].shape == (2, 3, 5, 30, 70) and group["2"].shape == (2, 3, 5, 15, 35)
    mean = image.reshape(2, 3, 5, 30, 2, 70).mean(4)
    assert np.abs(group["1"][...] - mean).max() <= 0.5
    read = convolume.open(path)
    np.testing.assert_array_equal(np.asarray(read), image)
    assert read.axes == "TCZYX" and read.spacing == pytest.approx((0.5, 0.1, 0.2))
    coarse = convolume.open(f"{path}/1")
    assert coarse.spacing == pytest.approx((0.5, 0.2, 0.2)) and coarse.translation == pytest.approx((0, 0.05, 0))
    np.testing.assert_array_equal(np.asarray(coarse), np.asarray(convolume.open(path, level=1)))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64",
                                   "complex64"])
def test_types(tmp_path, random, dtype):
    image = random.normal(50, 20, (3, 20, 21)).astype(dtype)
    convolume.save(tmp_path / "a.zarr", image)
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "a.zarr", mode="r")["0"][...], image)
    assert convolume.open(tmp_path / "a.zarr").dtype == np.dtype(dtype)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_metadata_as_ome_wants_them(tmp_path, random, zarr_format):
    models = pytest.importorskip("ome_zarr_models")
    path = str(tmp_path / "a.zarr")
    image = convolume.Image.of_array(small(random), axes="TCZYX", spacing=(0.5, 0.1, 0.1),
                                     channel_names=["DAPI", "GFP", "x"])
    convolume.save(path, image, zarr_format=zarr_format, levels=2)
    opened = models.open_ome_zarr(zarr.open_group(path, mode="r"))
    assert type(opened).__module__.split(".")[1] == ("v05" if zarr_format == 3 else "v04")
    reader = pytest.importorskip("ome_zarr.reader")
    io = pytest.importorskip("ome_zarr.io")
    node = next(iter(reader.Reader(io.parse_url(path))()))
    assert node.metadata["channel_names"] == ["DAPI", "GFP", "x"]
    assert [one["name"] for one in node.metadata["axes"]] == list("tczyx")
    assert [level.shape for level in node.data] == [(2, 3, 5, 60, 70), (2, 3, 5, 30, 35)]
    assert convolume.open(path).channel_names == ["DAPI", "GFP", "x"]


@pytest.mark.parametrize("zarr_format,sharded", [(2, False), (3, False), (3, True)])
@pytest.mark.parametrize("codec", ["none", "zstd", "gzip", "blosc"])
def test_read_from_others(tmp_path, random, zarr_format, sharded, codec):
    image = small(random, (3, 20, 40, 50))
    omero = {"omero": {"channels": [{"label": n, "color": c, "window": {"min": 0, "max": 9, "start": 0, "end": 9}}
                                    for n, c in (("a", "FF0000"), ("b", "00FF00"), ("c", "0000FF"))]}}
    written(tmp_path / "a.zarr", [image, image[:, :, ::2, ::2]], "czyx", ["s0", "s1"],
            [[1, 300, 100, 100], [1, 300, 200, 200]], zarr_format, "nanometer", omero, codec,
            [[0, 0, 10, 20], [0, 0, 60, 70]], sharded)
    read = convolume.open(tmp_path / "a.zarr")
    assert read.axes == "CZYX" and read.shape == image.shape and read.channel_names == ["a", "b", "c"]
    assert read.spacing == pytest.approx((0.3, 0.1, 0.1)) and read.translation == pytest.approx((0, 0.01, 0.02))
    np.testing.assert_array_equal(np.asarray(read), image)
    np.testing.assert_array_equal(read[1, 3:9, ::-2, 5], image[1, 3:9, ::-2, 5])
    np.testing.assert_array_equal(convolume.open(tmp_path / "a.zarr" / "s1")[:], image[:, :, ::2, ::2])
    convolume.save(tmp_path / "b.zarr", read)
    ome = zarr.open_group(tmp_path / "b.zarr", mode="r").attrs["ome"]
    assert [one["color"] for one in ome["omero"]["channels"]] == ["FF0000", "00FF00", "0000FF"]
    assert convolume.open(tmp_path / "b.zarr").translation == pytest.approx((0, 0.01, 0.02))


def test_channel_colors_go_between_formats(tmp_path, random):
    image = small(random, (4, 2, 20, 30))
    channels = [{"label": "a", "color": "FF8000"}, {"label": "b", "color": "00ff00"}, {"label": "c"},
                {"label": "d", "color": "none"}]
    written(tmp_path / "a.zarr", [image], "czyx", ["0"], [[1, 1, 1, 1]], extra={"omero": {"channels": channels}})
    convolume.save(tmp_path / "b.ome.tif", convolume.open(tmp_path / "a.zarr"))
    xml = tifffile.TiffFile(tmp_path / "b.ome.tif").ome_metadata
    described = tifffile.xml2dict(xml)["OME"]["Image"]["Pixels"]["Channel"]
    # A color is red, green, blue and alpha, the highest byte first, as a signed number.
    assert [one.get("Color", 0) % 2**32 for one in described] == [0xFF8000FF, 0x00FF00FF, 0, 0]
    convolume.save(tmp_path / "c.zarr", convolume.open(tmp_path / "b.ome.tif"))
    ome = zarr.open_group(tmp_path / "c.zarr", mode="r").attrs["ome"]
    assert [one["color"] for one in ome["omero"]["channels"]] == ["FF8000", "00FF00", "FFFFFF", "FFFFFF"]
    several = convolume.open(tmp_path / "b.ome.tif")
    convolume.save(tmp_path / "one.zarr", several[0], like=several)
    assert "omero" not in zarr.open_group(tmp_path / "one.zarr", mode="r").attrs["ome"]


def test_other_orders_types_and_arrays(tmp_path, random):
    image = small(random, (4, 3, 20, 30))
    written(tmp_path / "a.zarr", [image], "zcyx", ["0"], [[2, 1, 1, 1]], extra={})
    np.testing.assert_array_equal(np.asarray(convolume.open(tmp_path / "a.zarr")), image.transpose(1, 0, 2, 3))
    for dtype, read_as in (("float16", "float32"), ("bool", "uint8"), ("uint64", "float64"), ("int64", "float64")):
        zarr.create_array(tmp_path / dtype, data=(image[0] > 50).astype(dtype), chunks=(2, 8, 8))
        read = convolume.open(tmp_path / dtype)
        assert read.dtype == read_as and read.axes == "ZYX"
        np.testing.assert_array_equal(np.asarray(read), image[0] > 50)
    zarr.create_array(tmp_path / "named", data=image[0], chunks=(2, 8, 8), dimension_names=("t", "y", "x"))
    assert convolume.open(tmp_path / "named").axes == "TYX"
    assert convolume.open(tmp_path / "named", axes="CYX").axes == "CYX"
    with pytest.raises(ValueError, match="do not fit"):
        convolume.open(tmp_path / "named", axes="YX")


def test_dask(tmp_path, random):
    pytest.importorskip("dask.array")
    image = small(random, (6, 40, 50))
    convolume.save(tmp_path / "a.zarr", image)
    lazy = convolume.open(tmp_path / "a.zarr").to_dask(chunks=(2, 20, 20))
    assert int(lazy[1:5].sum().compute()) == int(image[1:5].sum())


def test_labels_and_plates(tmp_path, random):
    image = small(random, (4, 20, 30))
    path = tmp_path / "a.zarr"
    convolume.save(path, image)
    labels = zarr.open_group(path / "labels", mode="w", zarr_format=3)
    labels.attrs["ome"] = {"version": "0.5", "labels": ["cells"]}
    written(path / "labels" / "cells", [image // 50], "zyx", ["0"], [[1, 1, 1]])
    node = json.loads((path / "zarr.json").read_text())
    node["attributes"]["mine"] = 7
    (path / "zarr.json").write_text(json.dumps(node))
    before = {str(p): p.read_bytes() for p in (path / "labels").rglob("*") if p.is_file()}
    convolume.save(path, image + 1, overwrite=True)
    assert {str(p): p.read_bytes() for p in (path / "labels").rglob("*") if p.is_file()} == before
    np.testing.assert_array_equal(np.asarray(convolume.open(path)), image + 1)
    np.testing.assert_array_equal(np.asarray(convolume.open(path / "labels" / "cells")), image // 50)
    assert zarr.open_group(path, mode="r").attrs["mine"] == 7
    with pytest.raises(ValueError, match="labels/cells"):
        convolume.open(path / "labels")

    plate = tmp_path / "p.zarr"
    zarr.open_group(plate, mode="w", zarr_format=3).attrs["ome"] = {"plate": {"wells": [{"path": "B/03"}]}}
    zarr.open_group(plate / "B" / "03", mode="w", zarr_format=3).attrs["ome"] = {"well": {"images": [{"path": "0"}]}}
    written(plate / "B" / "03" / "0", [image], "zyx", ["0"], [[1, 1, 1]])
    with pytest.raises(ValueError, match="is a plate.*p.zarr/B/03/0"):
        convolume.open(plate)
    with pytest.raises(ValueError, match="is a well.*p.zarr/B/03/0"):
        convolume.open(plate / "B" / "03")
    np.testing.assert_array_equal(np.asarray(convolume.open(plate / "B" / "03" / "0")), image)
    with pytest.raises(FileExistsError, match="a plate"):
        convolume.save(plate, image, overwrite=True)


def test_nothing_is_left_behind(tmp_path, random):
    image = small(random, (4, 20, 30))
    convolume.save(tmp_path / "a.zarr", image)
    with pytest.raises(FileExistsError):
        convolume.save(tmp_path / "a.zarr", image)
    with pytest.raises(ValueError, match="version 3"):
        convolume.save(tmp_path / "a.zarr", image, overwrite=True, zarr_format=2)
    with pytest.raises(convolume.CannotCreate, match="create it first"):
        convolume.save(tmp_path / "none" / "a.zarr", image)
    with pytest.raises(ValueError, match="whole chunks"):
        convolume.save(tmp_path / "b.zarr", image, chunks=(2, 8, 8), shards=(3, 8, 8))
    with pytest.raises(ValueError, match="no OME-Zarr"):
        convolume.save(tmp_path / "b.tif", image, levels=2)
    (tmp_path / "c.zarr").mkdir()
    (tmp_path / "c.zarr" / "precious.txt").write_text("x")
    with pytest.raises(FileExistsError, match="no Zarr group"):
        convolume.save(tmp_path / "c.zarr", image, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "c.zarr"]


def test_wrong_metadata(tmp_path, random):
    image = small(random, (4, 20, 30))
    with pytest.raises(FileNotFoundError):
        convolume.open(tmp_path / "none.zarr")

    def changed(name, change, inner="zarr.json"):
        path = tmp_path / name
        convolume.save(path, image, levels=2)
        document = json.loads((path / inner).read_text())
        change(document)
        (path / inner).write_text(json.dumps(document))
        return path

    def ome(document):
        return document["attributes"]["ome"]

    cases = [(lambda d: ome(d)["multiscales"][0].pop("datasets"), "zarr.json", "do not describe"),
             (lambda d: ome(d)["multiscales"].clear(), "zarr.json", "do not describe"),
             (lambda d: ome(d)["multiscales"][0]["datasets"].clear(), "zarr.json", "no array"),
             (lambda d: ome(d)["multiscales"][0]["axes"].pop(), "zarr.json", "axes|describe"),
             (lambda d: ome(d)["multiscales"][0]["axes"][0].update(name="q"), "zarr.json", "none of t, c, z, y, x"),
             (lambda d: ome(d)["multiscales"][0]["datasets"][0].update(path="9"), "zarr.json", "not there"),
             (lambda d: ome(d).clear(), "zarr.json", "without OME metadata"),
             (lambda d: d.update(node_type="x"), "zarr.json", "node_type"),
             (lambda d: d.update(data_type="q7"), "0/zarr.json", "a.*zarr/0"),
             (lambda d: d.update(shape=[4, 20]), "0/zarr.json", "zarr/0"),
             (lambda d: d["codecs"].append({"name": "what"}), "0/zarr.json", "zarr/0")]
    for number, (change, inner, message) in enumerate(cases):
        path = changed(f"a{number}.zarr", change, inner)
        with pytest.raises(ValueError, match=message) as caught:
            convolume.open(path)
        assert "\n" not in str(caught.value)
    (tmp_path / "a0.zarr" / "zarr.json").write_text('{"zarr_format": 3')
    with pytest.raises(ValueError, match="no JSON"):
        convolume.open(tmp_path / "a0.zarr")


def shard_files(path):
    return sorted(file for file in path.rglob("*") if file.is_file() and file.parts[-5:-4] != ("labels",)
                  and file.name.isdigit())


def test_damaged_and_missing_chunks(tmp_path, random):
    image = small(random, (4, 40, 40))
    convolume.save(tmp_path / "a.zarr", image, chunks=(2, 20, 20), shards=(4, 20, 40), levels=1)
    first, second = shard_files(tmp_path / "a.zarr")
    data = first.read_bytes()
    for damage in (data[:len(data) // 2], data[:10], data[:-5], b"", data[:40] + b"\xff" * 40 + data[80:]):
        first.write_bytes(damage)
        with pytest.raises((ValueError, OSError), match="zarr/0"):
            convolume.open(tmp_path / "a.zarr")[:, :20]
        np.testing.assert_array_equal(convolume.open(tmp_path / "a.zarr")[:, 20:], image[:, 20:])
    first.unlink()
    assert not convolume.open(tmp_path / "a.zarr")[:, :20].any()
    with pytest.raises(OSError):
        convolume.open(tmp_path / "a.zarr", missing="error")[:, :20]


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder by HTTP, with injected faults."""

    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        self.fault = lambda path: None
        self.requests = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests += 1
        fault = self.server.fault(self.path)
        if isinstance(fault, int):
            self.send_error(fault)
        elif fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b"x" * 10)
            self.close_connection = True
        else:
            time.sleep(fault or 0)
            super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    one = Server(str(tmp_path))
    yield one
    one.shutdown()
    one.server_close()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_http(tmp_path, random, server, zarr_format):
    image = small(random, (4, 40, 40))
    convolume.save(tmp_path / "a.zarr", image, zarr_format=zarr_format, chunks=(2, 20, 20), levels=2)
    read = convolume.open(f"{server.url}/a.zarr")
    np.testing.assert_array_equal(np.asarray(read), image)
    assert convolume.open(f"{server.url}/a.zarr/1").shape == convolume.open(tmp_path / "a.zarr", level=1).shape
    with pytest.raises(FileNotFoundError):
        convolume.open(f"{server.url}/none.zarr")
    with pytest.raises(ValueError, match="read only"):
        convolume.save(f"{server.url}/b.zarr", image)


@pytest.fixture
def impatient(monkeypatch):
    """Requests to stores are repeated for one second, not for ten."""
    from convolume import _zarr_store
    monkeypatch.setattr(_zarr_store, "_RETRIES", {"max_retries": 3, "initial_delay": "100ms", "max_delay": "200ms"})
    monkeypatch.setattr(_zarr_store, "_context", None)


def test_http_that_fails(tmp_path, random, server, impatient):
    image = small(random, (4, 40, 40))
    convolume.save(tmp_path / "a.zarr", image, chunks=(2, 20, 20), shards=(4, 40, 40), levels=1)
    read = convolume.open(f"{server.url}/a.zarr")
    server.fault = lambda path: 403 if "/c/" in path else None
    with pytest.raises(OSError, match="a.zarr/0"):
        np.asarray(read)
    server.fault = lambda path: 0.3
    np.testing.assert_array_equal(np.asarray(read), image)
    failing = iter([500, 503])
    server.fault = lambda path: next(failing, None) if "/c/" in path else None
    np.testing.assert_array_equal(np.asarray(read), image)  # the request was repeated
    server.fault = lambda path: "cut" if "/c/" in path else None
    begin = time.time()
    with pytest.raises((OSError, ValueError), match="a.zarr/0"):
        np.asarray(read)
    assert time.time() - begin < 10
    server.fault = lambda path: None
    np.testing.assert_array_equal(np.asarray(read), image)


def test_unreachable(impatient):
    begin = time.time()
    with pytest.raises(OSError, match="127.0.0.1:9"):
        convolume.open("http://127.0.0.1:9/a.zarr")
    assert time.time() - begin < 10


def test_a_store_that_goes_away_is_not_an_empty_image(tmp_path, random):
    convolume.save(tmp_path / "a.zarr", np.ones((4, 40, 40), np.uint8))
    image = convolume.open(tmp_path / "a.zarr")
    shutil.rmtree(tmp_path / "a.zarr")
    with pytest.raises((RuntimeError, OSError), match="gone"):
        convolume.process(image, tmp_path / "b.zarr", "convolve", kernel=np.ones((1, 3, 3)), device="cpu")
    assert not shard_files(tmp_path / "b.zarr")


@pytest.fixture
def s3(monkeypatch):
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
    client.create_bucket(Bucket="bucket")
    yield client
    server.stop()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_s3(random, s3, zarr_format):
    image = small(random, (4, 40, 40))
    url = f"s3://bucket/folder{zarr_format}/a.zarr"
    convolume.save(url, image, zarr_format=zarr_format, chunks=(2, 20, 20), levels=2)
    np.testing.assert_array_equal(np.asarray(convolume.open(url)), image)
    with pytest.raises(FileExistsError):
        convolume.save(url, image)
    convolume.save(url, image + 1, zarr_format=zarr_format, overwrite=True)
    np.testing.assert_array_equal(np.asarray(convolume.open(url)), image + 1)
    with pytest.raises(convolume.InvalidArgument, match="is one of the inputs"):
        convolume.save(f"{url}/", convolume.open(url), zarr_format=zarr_format, overwrite=True)
    np.testing.assert_array_equal(np.asarray(convolume.open(url)), image + 1)
    with pytest.raises(convolume.InvalidArgument, match="is one of the inputs"):
        convolume.process(url, url, "convolve", kernel=np.ones((3, 3, 3)), overwrite=True, device="cpu")
    np.testing.assert_array_equal(np.asarray(convolume.open(url)), image + 1)
    kernel = np.ones((3, 3, 3))
    out = f"s3://bucket/folder{zarr_format}/b.zarr"
    report = convolume.process(url, out, "convolve", kernel=kernel, chunks=(2, 20, 20), shards=(2, 20, 40),
                               block=(2, 40, 40), device="cpu")
    assert report.done == 2
    np.testing.assert_allclose(np.asarray(convolume.open(out)), convolume.convolve(image + 1, kernel, device="cpu"),
                               rtol=1e-5)
    assert convolume.process_status(out)["done"] == 2
    report = convolume.process(url, out, "convolve", kernel=kernel, resume=True, device="cpu")
    assert report.complete_before == 2 and report.done == 0
    with pytest.raises(OSError):
        convolume.save("s3://nobucket/a.zarr", image)


def test_without_the_package(monkeypatch, tmp_path):
    from convolume import _errors

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(_errors.importlib, "import_module", absent)
    with pytest.raises(RuntimeError, match=r"pip install tensorstore"):
        convolume.open(tmp_path / "a.zarr")


def test_chunks_end_with_the_image(tmp_path):
    image = np.arange(840, dtype=np.uint16).reshape(12, 10, 7)
    convolume.save(tmp_path / "a.zarr", image, chunks=[10**9] * 3)
    convolume.save(tmp_path / "b.zarr", image, chunks=(5, 20, 3), shards=(20, 40, 9))
    for name, grid in ("a", [12, 10, 7]), ("b", [15, 10, 9]):
        stored = json.loads((tmp_path / f"{name}.zarr/0/zarr.json").read_text())
        assert stored["chunk_grid"]["configuration"]["chunk_shape"] == grid
        np.testing.assert_array_equal(convolume.open(tmp_path / f"{name}.zarr"), image)
