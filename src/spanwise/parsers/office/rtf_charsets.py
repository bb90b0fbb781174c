"""Character sets of RTF, by the numbers that it has for them."""

from __future__ import annotations

import codecs
import re

__all__ = ["codec_of_charset", "codec_of_page", "join_surrogates"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_CHARSETS = {
    0: "cp1252", 2: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab",
    134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255",
    178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
}  # fmt: skip
_PAGES = {10000: "mac_roman", 10007: "mac_cyrillic", 10029: "mac_latin2", 936: "gbk", 950: "big5"}


def codec_of_charset(number: int) -> str | None:
    """Return the codec of a font's character set; None for that of the document."""
    return _CHARSETS.get(number)


def codec_of_page(number: int) -> str:
    """Return the codec of a code page; that of Western Europe for one that is not known."""
    name = _PAGES.get(number, "utf-8" if number == 65001 else f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def join_surrogates(text: str) -> str:
    """Return a text whose characters beyond the first plane are whole; RTF writes each as two."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
