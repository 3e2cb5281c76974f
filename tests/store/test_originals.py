"""The stored bytes of files: parts, prefixes of turns, and images."""

import base64
import json
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccgrep.errors import CorruptError
from ccgrep.model import Message, ObjectId, Text, ToolCall, ToolResult, Turn
from ccgrep.store.objects import Frame, decode, make_frame, unpack_frame
from ccgrep.store.originals import Original, pack_part, unpack_part

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4


def pack(data: bytes, *turns: Turn, is_json: bool = True) -> tuple[ObjectId, dict[ObjectId, bytes]]:
    frames = [make_frame("turn", turn) for turn in turns]
    packed = pack_part(data, [(frame.id, unpack_frame(frame)) for frame in frames], is_json)
    contents = {frame.id: unpack_frame(frame) for frame in (*frames, *packed.frames)}
    assert packed.part.size == len(data)
    return packed.part.id, contents


TEXT = st.text(max_size=40)
TURN = st.builds(
    lambda prompt, answer, output: Turn(
        prompt=prompt,
        steps=(Message((Text(answer), ToolCall("Bash", {"command": prompt}, ToolResult(output)))),),
    ),
    TEXT,
    TEXT,
    TEXT,
)
MEDIA = st.builds(
    lambda start, rest, quote: quote + base64.b64encode(start + rest * 100) + b'"',
    st.sampled_from([PNG[:8], b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF-1"]),
    st.binary(min_size=1, max_size=20),
    st.sampled_from([b'"', b'"data:image/png;base64,', b"", b","]),
)


@given(
    st.lists(st.one_of(st.binary(max_size=60), MEDIA)), st.lists(TURN, max_size=3), st.booleans()
)
def test_any_bytes_are_unpacked_as_they_were(
    pieces: list[bytes], turns: list[Turn], is_json: bool
) -> None:
    data = b"".join(pieces)
    id, contents = pack(data, *turns, is_json=is_json)
    assert unpack_part(id, contents.__getitem__) == data


def test_text_of_a_turn_is_not_stored_again() -> None:
    lines = "\n".join(f'{number} "{number * 7919 % 10007}" \\ ä' for number in range(2000))
    turn = Turn(prompt=lines)
    data = json.dumps({"message": {"content": lines}}, ensure_ascii=False).encode()
    id, contents = pack(data, turn)
    alone, alone_contents = pack(data)
    assert len(decode(contents[id], Original).data) < 200
    assert len(decode(alone_contents[alone], Original).data) > 5000


def test_image_is_one_blob_named_by_its_sha256() -> None:
    text = base64.b64encode(PNG)
    data = b'{"a":"' + text + b'","b":"data:image/png;base64,' + text + b'"}\n'
    frames = pack_part(data, []).frames
    blobs = {frame.id for frame in frames if frame.kind == "blob"}
    assert [unpack_frame(frame) for frame in frames if frame.kind == "blob"] == [PNG, PNG]
    assert {id.hex() for id in blobs} == {sha256(PNG).hexdigest()}


def test_image_of_a_few_bytes_is_a_blob_too() -> None:
    small = PNG[:40]
    data = b'{"type":"base64","data":"%b"}' % base64.b64encode(small)
    blob, _ = pack_part(data, []).frames
    assert unpack_frame(blob) == small


def test_image_is_found_before_and_after_the_name_of_its_encoding() -> None:
    text = base64.b64encode(PNG)
    lines = [b'{"data":"%b","type":"base64"}', b'{"type":"base64","data":"%b"}', b'{"data":"%b"}']
    data = b"\n".join(line % text for line in lines)
    frames = pack_part(data, []).frames
    assert [frame.kind for frame in frames] == ["blob", "blob", "original"]
    contents = {frame.id: unpack_frame(frame) for frame in frames}
    assert unpack_part(frames[-1].id, contents.__getitem__) == data


def test_escapes_of_the_prefix_never_change() -> None:
    """Stored parts depend on these bytes: a change would make every one of them unreadable."""
    text = '"\\/\b\f\n\r\t\x00\x1f\x7f é\u2028😀'
    expected = '["\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f é\u2028😀"]'
    assert msgspec.json.encode([text]) == expected.encode()


@pytest.mark.parametrize("name", ["turn", "blob"])
def test_other_content_of_a_turn_or_blob_is_reported(name: str) -> None:
    turn = Turn(prompt="a prompt that the part repeats, word for word")
    data = (
        b'{"p":"a prompt that the part repeats, word for word","type":"base64","d":"%b"}'
        % base64.b64encode(PNG)
    )
    id, contents = pack(data, turn)
    other = make_frame("turn", Turn(prompt="something else that is as long as the other"))
    damaged = dict(contents)
    for key, content in contents.items():
        is_blob = content == PNG
        if key != id and is_blob == (name == "blob"):
            damaged[key] = content[:-1] + b"x" if is_blob else unpack_frame(other)
    with pytest.raises(CorruptError, match="damaged"):
        unpack_part(id, damaged.__getitem__)


def test_hostile_media_takes_linear_time() -> None:
    data = b";base64,/9j/" * 200_000
    frames: list[Frame] = pack_part(data, []).frames
    assert [frame.kind for frame in frames] == ["original"]
