from __future__ import annotations

import socket

import pytest

from benchmarks.engine_cost import Cost, _missed, measure
from benchmarks.fairness import Stream


@pytest.mark.parametrize("has_readers", [False, True])
def test_measure_runs_the_real_engine_on_a_device_that_only_waits(has_readers):
    cost = measure(3, decode_s=1e-4, n_tokens=24, has_readers=has_readers)
    assert 0 < cost.cpu_us < 10_000
    assert 0 < cost.ideal < 1
    assert 0 < cost.bound < 1
    assert cost.tokens_per_second == pytest.approx(3 / 1e-4 * cost.ideal, rel=0.01)


def test_missed_targets_are_named():
    good = Cost(32, False, 10.0, 12.0, 1.0, 1e4, 0.8, 0.8)
    slow = Cost(32, True, 21.0, 12.0, 1.0, 1e4, 0.8, 0.8)
    idle = Cost(128, False, 5.0, 12.0, 1.0, 1e4, 0.8, 0.8)
    assert _missed([good], 2.0) == []
    assert len(_missed([slow, idle], 2.0)) == 2
    assert len(_missed([slow, idle], 5.0)) == 1


def test_stream_counts_tokens_in_pieces_cut_anywhere():
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = Stream(server.getsockname()[1], 8, 0)
        peer, _ = server.accept()
    with peer, stream.socket:
        stream.socket.settimeout(5)
        for piece in (b'data: {"predicted_n":1', b'2,"x":1}\n', b'"predicted_n": 13}'):
            peer.sendall(piece)
            stream.read()
        assert stream.n_tokens == 13
        assert stream.n_first == 12
