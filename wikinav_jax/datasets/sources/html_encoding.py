"""Bytes of HTML to text, in the encoding that they are in rather than say they are."""

from __future__ import annotations

import codecs
import re

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]+)")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_html(source: bytes) -> tuple[str, bool]:
    """The text of an HTML file, and whether it is well-formed in the encoding it was read in.

    The byte order mark decides, then what the page declares, then UTF-8; what is none of these is
    read as windows-1252, as browsers do.
    """
    for mark, encoding in _MARKS:
        if source.startswith(mark):
            text = source[len(mark) :].decode(encoding, "replace")
            return text, "\ufffd" not in text
    head = source[:4096]
    declared = _CHARSET.search(head) or _XML_ENCODING.match(head.lstrip())
    names = [declared[1].decode("ascii")] if declared else []
    for encoding in [*names, "utf-8"]:
        if encoding.lower().startswith(("utf-16", "utf-32")):
            continue  # it could not have been read so far
        try:
            return source.decode(encoding), True
        except (LookupError, UnicodeDecodeError):
            continue
    return source.decode("windows-1252", "replace"), False
