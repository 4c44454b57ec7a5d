"""Reading HTTP/2 as frames (RFC 9113 section 4): nothing here keeps a state that hostile frames could upset."""

from __future__ import annotations

import hpack
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, RstStreamFrame

from proxy.client import Reply, Wire

RESET = "reset"
GOAWAY = "goaway"


def read_stream(wire: Wire, stream: int) -> Reply:
    """The answer on one stream, until it ends. A reset stream, a GOAWAY and a close have status 0 and say which in `reason`."""
    decoder, headers, body = hpack.Decoder(), dict[str, str](), b""
    while True:
        frame = _frame(wire)
        if isinstance(frame, HeadersFrame):
            fields = {str(name): str(value) for name, value in decoder.decode(frame.data)}
            headers = fields if frame.stream_id == stream else headers
        elif isinstance(frame, GoAwayFrame) and frame.error_code:
            return Reply(0, GOAWAY, {"error": str(frame.error_code)}, b"")
        elif isinstance(frame, RstStreamFrame) and frame.stream_id == stream and not headers:
            return Reply(0, RESET, {"error": str(frame.error_code)}, b"")
        elif isinstance(frame, DataFrame) and frame.stream_id == stream:
            body += frame.data
        if frame.stream_id == stream and "END_STREAM" in frame.flags and headers:
            return Reply(int(headers[":status"]), "", headers, body)


def _frame(wire: Wire) -> Frame:
    """The next frame. Raises EOFError at the end of the connection."""
    frame, length = Frame.parse_frame_header(memoryview(wire.exactly(9)))
    frame.parse_body(memoryview(wire.exactly(length)))
    return frame
