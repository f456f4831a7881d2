# SPDX-License-Identifier: Apache-2.0
"""Files of signals, compared with what other libraries read and write."""

import json
import pickle
import wave

import numpy as np
import pytest

import convolume

h5py = pytest.importorskip("h5py")
wavfile = pytest.importorskip("scipy.io.wavfile")


def has_wav(folder):
    try:
        convolume.save_signal(folder / "try.wav", np.zeros(9), sampling_rate=8000)
    except convolume.Unavailable:
        return False
    return True


def test_wav_as_scipy_and_wave_read_it(tmp_path):
    if not has_wav(tmp_path):
        pytest.skip("this build has no libsndfile")
    sound = np.random.default_rng(1).integers(-32768, 32767, (2, 5000)).astype(np.int16)
    wavfile.write(tmp_path / "scipy.wav", 44100, sound.T)
    signal = convolume.open_signal(tmp_path / "scipy.wav")
    assert (signal.shape, signal.dtype, signal.sampling_rate) == ((2, 5000), np.float32, 44100)
    assert np.array_equal(signal, sound / np.float32(32768))
    assert np.array_equal(signal[1, 7:100:3], sound[1, 7:100:3] / np.float32(32768))
    convolume.save_signal(tmp_path / "ours.wav", signal, dtype=np.int16)
    with wave.open(str(tmp_path / "ours.wav")) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (44100, 2, 2)
        assert file.readframes(5000) == sound.T.tobytes()
    convolume.save_signal(tmp_path / "float.wav", sound[0] / 32768, sampling_rate=8000)
    rate, samples = wavfile.read(tmp_path / "float.wav")
    assert rate == 8000 and samples.dtype == np.float32 and np.array_equal(samples, sound[0] / np.float32(32768))
    with pytest.raises(convolume.InvalidArgument, match="divide it by full scale"):
        convolume.save_signal(tmp_path / "no.wav", sound, sampling_rate=8000)
    with pytest.raises(convolume.InvalidArgument, match=r"\(sampling_rate\)"):
        convolume.save_signal(tmp_path / "no.wav", sound / 32768)
    with pytest.warns(convolume.ConvolumeWarning, match="above the range of int16"):
        convolume.save_signal(tmp_path / "loud.wav", [0.5, 2.0], sampling_rate=8000, dtype="int16")


@pytest.mark.parametrize("ending, dtype", [("i16", "<i2"), ("u8", "u1"), ("f32", "<f4"), ("f64", "<f8"),
                                           ("c64", "<c8")])
def test_raw_samples_as_numpy_reads_them(tmp_path, ending, dtype):
    values = np.random.default_rng(2).integers(0, 100, (3, 400)).astype(dtype)
    values.tofile(tmp_path / f"planar.{ending}")
    (tmp_path / f"frames.{ending}").write_bytes(b"header" + np.ascontiguousarray(values.T).tobytes())
    for name, options in (("planar", {"layout": "planar"}), ("frames", {"layout": "interleaved", "header": 6})):
        signal = convolume.open_signal(tmp_path / f"{name}.{ending}", signals=3, sampling_rate=10, **options)
        assert signal.shape == (3, 400) and signal.sampling_rate == 10
        assert np.array_equal(signal, values) and np.array_equal(signal[2, 100:50:-7], values[2, 100:50:-7])
        assert signal[1, 17] == values[1, 17] and np.array_equal(signal[[0, 2]], values[[0, 2]])
        assert np.array_equal(pickle.loads(pickle.dumps(signal))[:, :9], values[:, :9])
    with pytest.raises(convolume.InvalidArgument, match=r"planar.*interleaved.*\(layout\)"):
        convolume.open_signal(tmp_path / f"planar.{ending}", signals=3)
    if not np.issubdtype(values.dtype, np.unsignedinteger):
        convolume.save_signal(tmp_path / f"again.{ending}", values)
        assert np.array_equal(np.fromfile(tmp_path / f"again.{ending}", dtype), values.ravel())


def test_pairs_of_integers_in_either_byte_order(tmp_path):
    pairs = np.random.default_rng(3).integers(-2000, 2000, 600).astype(">i2")
    pairs.tofile(tmp_path / "iq.dat")
    signal = convolume.open_signal(tmp_path / "iq.dat", dtype="ci16", byte_order="big")
    assert signal.dtype == np.complex64 and np.array_equal(signal, pairs[::2] + 1j * pairs[1::2])
    convolume.save_signal(tmp_path / "iq.raw", signal, dtype="ci16")
    assert np.array_equal(np.fromfile(tmp_path / "iq.raw", "<i2"), pairs)


@pytest.mark.parametrize("name", ["a.npy", "a.h5", "a.h5:/group/x"])
def test_times_and_frequencies(tmp_path, name):
    path = f"{tmp_path}/{name}"
    values = np.random.default_rng(4).random((2, 3, 50))
    convolume.save_signal(path, values, sampling_rate=2e6, start=-0.5, center_frequencies=[-1e3, 0, 1e3])
    if name.endswith("npy"):
        facts = json.loads((tmp_path / "a.npy.json").read_text())
        assert np.array_equal(np.load(path), values)
        assert (facts["sampling_rate_hz"], facts["start_s"]) == (2e6, -0.5)
        assert facts["center_frequencies_hz"] == [-1e3, 0, 1e3]
    else:
        with h5py.File(tmp_path / "a.h5") as file:
            dataset = file[name.partition(":")[2] or "data"]
            assert np.array_equal(dataset, values) and dataset.attrs["sampling_rate_hz"] == [2e6]
            assert list(dataset.attrs["center_frequencies_hz"]) == [-1e3, 0, 1e3] and dataset.attrs["start_s"] == [-0.5]
    signal = convolume.open_signal(path)
    assert np.array_equal(signal, values) and signal.start == -0.5
    assert list(signal.center_frequencies) == [-1e3, 0, 1e3]
    part = signal[1, 1:, 10::5]
    assert (part.shape, part.sampling_rate, part.start) == ((2, 8), 4e5, -0.5 + 10 / 2e6)
    assert list(part.center_frequencies) == [0, 1e3] and np.array_equal(part.times, part.start + np.arange(8) / 4e5)
    convolume.save_signal(path, part, overwrite=True)
    again = convolume.open_signal(path)
    assert np.array_equal(again, values[1, 1:, 10::5]) and (again.start, again.sampling_rate) == (part.start, 4e5)
    with pytest.raises(convolume.OutputExists):
        convolume.save_signal(path, part)
    assert signal[..., ::-1].sampling_rate is None


def test_integers_keep_their_type(tmp_path):
    for dtype in (np.int16, np.uint8, np.int32):
        values = np.array([[0, 100, 7], [5, 1, 2]], dtype)
        convolume.save_signal(tmp_path / "a.npy", values, overwrite=True)
        assert np.load(tmp_path / "a.npy").dtype == dtype and np.array_equal(np.load(tmp_path / "a.npy"), values)
        assert convolume.open_signal(tmp_path / "a.npy").dtype == dtype
    assert not (tmp_path / "a.npy.json").exists()


def test_arrays_of_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(5).random((4, 20))
    array = xarray.DataArray(values, dims=("f", "t"), coords={
        "t": ("t", 7 + np.arange(20) * 0.5, {"units": "ms"}), "f": ("f", [0.0, 1, 2, 3], {"units": "kHz"})})
    convolume.save_signal(tmp_path / "a.h5", array)
    signal = convolume.open_signal(tmp_path / "a.h5")
    assert signal.sampling_rate == pytest.approx(2000) and signal.start == pytest.approx(0.007)
    assert list(signal.center_frequencies) == [0, 1000, 2000, 3000]
    back = signal.to_xarray()
    assert back.dims == ("frequency", "time") and back.time.attrs["units"] == "s"
    np.testing.assert_allclose(back.time, array.t / 1000)
    # Coordinates without a unit say nothing of seconds.
    assert convolume.Signal.of_array(array.assign_coords(t=np.arange(20.0))).sampling_rate is None
    days = array.assign_coords(t=np.datetime64("2026-11-30", "ns") + np.arange(20) * np.timedelta64(250, "ms"))
    assert convolume.Signal.of_array(days).sampling_rate == 4
    assert convolume.Signal.of_array(days).start == np.datetime64("2026-11-30", "s").astype(int)


@pytest.mark.parametrize("options, words", [
    ({"sampling_rate": 0}, "above 0"), ({"sampling_rate": float("nan")}, "above 0"),
    ({"sampling_rate": 1, "start": float("inf")}, "finite"),
    ({"sampling_rate": 1, "center_frequencies": [1, 2]}, "2 center frequencies"), ({"dtype": "int99"}, "int99"),
    ({"dtype": 1.5}, "dtype is 1.5")])
def test_refused_facts(tmp_path, options, words):
    with pytest.raises(convolume.InvalidArgument, match=words):
        convolume.save_signal(tmp_path / "a.npy", np.ones((3, 10)), **options)
    assert not list(tmp_path.iterdir())


def test_refused_files(tmp_path):
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(convolume.BadData, match="cut.npy"):
        convolume.open_signal(tmp_path / "cut.npy")
    with pytest.raises(FileNotFoundError):
        convolume.open_signal(tmp_path / "none.wav")
    (tmp_path / "a.dat").write_bytes(b"12345678")
    with pytest.raises(convolume.BadData, match=r"\(dtype\)"):
        convolume.open_signal(tmp_path / "a.dat")
    for wrong in ({"layout": "diagonal"}, {"byte_order": "middle"}, {"dtype": "f33"}):
        with pytest.raises(convolume.InvalidArgument):
            convolume.open_signal(tmp_path / "a.dat", **{"dtype": "u8", **wrong})
    with pytest.raises(convolume.InvalidArgument, match="signals"):
        convolume.open_signal(tmp_path / "a.dat", dtype="u8", signals="two")
