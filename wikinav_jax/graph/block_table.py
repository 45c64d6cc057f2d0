"""The words of a graph: texts, article titles and section paths, in one Arrow IPC file.

The file has one row a block and three columns: `text`, and `title` and `section` as dictionary
codes. Arrow writes a dictionary once, so the `title` dictionary *is* the article table (in
article order) although its length differs from the number of blocks. Rows come in record batches
of equal size, so that block i is found by one division in a memory-mapped file of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BATCH_ROWS = 65_536  # about 45 MB of text: small enough to copy, large enough to need few batches
SECTION_SEPARATOR = " > "

_CODES = pa.dictionary(pa.int32(), pa.large_string())
_SCHEMA = pa.schema([("text", pa.large_string()), ("title", _CODES), ("section", _CODES)])


class BlockTable:
    """Texts and section paths of N blocks, and titles of A articles; memory-mapped or in memory.

    A table may be a selection of rows of a larger one: no text is copied then.
    """

    def __init__(
        self,
        batches: Sequence[pa.RecordBatch],
        titles: pa.Array,
        rows: np.ndarray | None = None,
    ):
        """Prefer `from_lists`, `open_block_table` or `select`.

        Args:
          batches: columns `text` and `section`; all but the last have the same number of rows.
          titles: large_string [A].
          rows: int64 [N], the selected rows of `batches`; None for all of them.
        """
        self._batches = list(batches)
        self._titles = titles
        self._rows = rows
        self._batch_rows = batches[0].num_rows
        self._texts = [batch.column("text") for batch in batches]
        self._sections = [batch.column("section") for batch in batches]

    @classmethod
    def from_lists(
        cls,
        texts: Sequence[str],
        titles: Sequence[str],
        sections: Sequence[str],
        article: np.ndarray,
    ) -> BlockTable:
        """Builds a table in memory.

        Args:
          texts: [N].
          titles: [A], distinct and not empty.
          sections: [N], e.g. "History > Early years"; "" in the lead.
          article: int [N], values below A.

        Raises:
          ValueError: lengths differ, a title is empty or given twice, or text is not valid Unicode.
        """
        for name, values in (("sections", sections), ("article", article)):
            if len(values) != len(texts):
                raise ValueError(f"{len(texts):,} texts but {len(values):,} {name}")
        title_array = _strings("titles", titles)
        _check_titles(titles)
        section_codes = _strings("sections", sections).dictionary_encode()
        codes = pa.array(np.asarray(article, np.int32))
        columns = [
            _strings("texts", texts),
            pa.DictionaryArray.from_arrays(codes, title_array),
            section_codes,
        ]
        table = pa.Table.from_arrays(columns, schema=_SCHEMA)
        return cls(table.to_batches(max_chunksize=BATCH_ROWS), title_array)

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        return (len(self._batches) - 1) * self._batch_rows + self._batches[-1].num_rows

    @property
    def num_articles(self) -> int:
        """A."""
        return len(self._titles)

    @property
    def titles(self) -> pa.Array:
        """Article titles, large_string [A]."""
        return self._titles

    def text(self, block: int) -> str:
        """The text of one block."""
        batch, row = self._locate(block)
        return self._texts[batch][row].as_py()

    def section(self, block: int) -> str:
        """The section path of one block, "" in the lead."""
        batch, row = self._locate(block)
        return self._sections[batch][row].as_py()

    def title(self, article: int) -> str:
        """The title of one article."""
        if not 0 <= article < len(self._titles):
            raise IndexError(
                f"article {article} does not exist: ids are 0..{self.num_articles - 1}"
            )
        return self._titles[int(article)].as_py()

    def texts(self, blocks: Sequence[int] | np.ndarray | None = None) -> list[str]:
        """The texts of these blocks, or of all."""
        return self._many("text", blocks)

    def sections(self, blocks: Sequence[int] | np.ndarray | None = None) -> list[str]:
        """The section paths of these blocks, or of all."""
        return self._many("section", blocks)

    def text_lengths(self) -> np.ndarray:
        """Characters (code points) in each text, int64 [N]."""
        return np.concatenate(
            [
                pc.utf8_length(batch.column("text")).to_numpy(zero_copy_only=False)
                for batch in self._iter_batches()
            ]
        ).astype(np.int64)

    def select(self, blocks: np.ndarray, articles: np.ndarray) -> BlockTable:
        """The table of these blocks and these articles, in that order; texts are not copied.

        Args:
          blocks: int64 [N'], block ids.
          articles: int64 [A'], article ids.
        """
        rows = blocks if self._rows is None else self._rows[blocks]
        return BlockTable(
            self._batches, self._titles.take(pa.array(articles, pa.int64())), rows.astype(np.int64)
        )

    def write(self, path: str | Path, article: np.ndarray) -> None:
        """Writes the Arrow IPC file; `article` int [N] gives the `title` column."""
        section_names, section_codes = self._unified_sections()
        start = 0
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA) as writer:
            for batch in self._iter_batches():
                stop = start + batch.num_rows
                codes = pa.array(np.asarray(article[start:stop], np.int32))
                columns = [
                    batch.column("text"),
                    pa.DictionaryArray.from_arrays(codes, self._titles),
                    pa.DictionaryArray.from_arrays(
                        pa.array(section_codes[start:stop]), section_names
                    ),
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
                start = stop

    def title_codes(self) -> np.ndarray:
        """The `title` column of an opened file, int32 [N]: its own idea of each block's article."""
        return np.concatenate(
            [batch.column("title").indices.to_numpy() for batch in self._iter_batches()]
        )

    def _locate(self, block: int) -> tuple[int, int]:
        if not 0 <= block < len(self):
            raise IndexError(f"node {block} does not exist: ids are 0..{len(self) - 1}")
        row = block if self._rows is None else self._rows[block]
        return divmod(int(row), self._batch_rows)

    def _many(self, column: str, blocks: Sequence[int] | np.ndarray | None) -> list[str]:
        if blocks is None:
            values: list[str] = []
            for batch in self._iter_batches():
                values += batch.column(column).to_pylist()
            return values
        rows = np.asarray(blocks, np.int64)
        if not len(rows):
            return []
        for block in (rows.min(), rows.max()):
            self._locate(int(block))  # raises for a block that does not exist
        if self._rows is not None:
            rows = self._rows[rows]
        order, parts = self._by_batch(rows)
        found = [self._batches[batch].column(column).take(part) for batch, part in parts]
        values = [value for part in found for value in part.to_pylist()]
        if (order[1:] > order[:-1]).all():
            return values
        undo = np.empty(len(rows), np.int64)
        undo[order] = np.arange(len(rows))
        return [values[place] for place in undo]

    def _iter_batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of BATCH_ROWS rows (the stored ones, or gathered ones for a selection)."""
        if self._rows is None:
            yield from self._batches
            return
        for start in range(0, len(self._rows), BATCH_ROWS):
            yield self._gather(self._rows[start : start + BATCH_ROWS])

    def _gather(self, rows: np.ndarray) -> pa.RecordBatch:
        order, groups = self._by_batch(rows)
        parts = [self._batches[batch].take(part) for batch, part in groups]
        undo = np.empty(len(rows), np.int64)
        undo[order] = np.arange(len(rows))
        gathered = pa.Table.from_batches(parts).take(pa.array(undo)).combine_chunks()
        return gathered.to_batches()[0]

    def _by_batch(self, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[int, pa.Array]]]:
        """An order of the rows in which those of a batch stand together, and (batch, its rows)."""
        batch_of, row_of = np.divmod(rows, self._batch_rows)
        order = np.argsort(batch_of, kind="stable")
        cuts = np.flatnonzero(np.diff(batch_of[order])) + 1
        return order, [
            (int(batch_of[group[0]]), pa.array(row_of[group])) for group in np.split(order, cuts)
        ]

    def _unified_sections(self) -> tuple[pa.Array, np.ndarray]:
        """The distinct section names in use, and int32 [N] codes into them."""
        # Name by name of each batch, not block by block: all blocks' names may not fit in memory.
        chunks = [
            batch.column("section").cast(pa.large_string()).dictionary_encode()
            for batch in self._iter_batches()
        ]
        unified = pa.chunked_array(chunks).unify_dictionaries()
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in unified.chunks])
        return unified.chunk(0).dictionary, codes


def open_block_table(path: Path) -> BlockTable:
    """Maps an Arrow IPC file that `BlockTable.write` made.

    Raises:
      ValueError: the file is truncated, not Arrow, or has other columns or batch sizes.
    """
    remedy = "build the graph again"
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path), "r"))
        batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(
            f"{path} is not a readable Arrow IPC file ({error}); it may be truncated: {remedy}"
        ) from error
    if not reader.schema.equals(_SCHEMA):
        raise ValueError(f"{path} has columns {reader.schema.names} of other types; {remedy}")
    if not batches or batches[0].num_rows == 0:
        raise ValueError(f"{path} holds no blocks; {remedy}")
    sizes = [batch.num_rows for batch in batches]
    if any(size != sizes[0] for size in sizes[:-1]) or sizes[-1] > sizes[0]:
        raise ValueError(f"{path} has record batches of unequal size {sizes[:8]}; {remedy}")
    return BlockTable(batches, batches[0].column("title").dictionary)


def _strings(name: str, values: Sequence[str]) -> pa.Array:
    try:
        array = pa.array(values, pa.large_string())
    except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _bad_string(name, values) from error
    if array.null_count:
        raise _bad_string(name, values)
    return array


def _bad_string(name: str, values: Sequence[str]) -> ValueError:
    """The error for the first value that is no string, or not valid Unicode."""
    for position, value in enumerate(values):
        if not isinstance(value, str):
            return ValueError(f"{name}[{position}] is {value!r}, not a string")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return ValueError(
                f"{name}[{position}] holds a lone surrogate ({value[:40]!r}), which is not valid "
                "Unicode; decode the source with errors='replace'"
            )
    return ValueError(f"{name} cannot be stored as text")


def _check_titles(titles: Sequence[str]) -> None:
    first: dict[str, int] = {}
    for number, title in enumerate(titles):
        if not title:
            raise ValueError(f"titles[{number}] is empty; every article needs a title")
        if title in first:
            raise ValueError(
                f"title {title!r} is given to articles {first[title]} and {number}; "
                "titles must be distinct"
            )
        first[title] = number
