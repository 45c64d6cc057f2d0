"""A small corpus in the layout of Wikispeedia's archives. Every word of it is invented."""

from __future__ import annotations

import tarfile
import textwrap
import zipfile
from pathlib import Path

from wikinav_jax.datasets.wikispeedia_files import GRAPH, TEXTS

FOOTER = """\
   Retrieved from " http://en.wikipedia.org/wiki/{name}"
   This reference article is mainly selected from the English Wikipedia
   with only minor checks and changes.
"""


def page(heading: str, body: str, name: str = "Page", subjects: str = "Islands; Trade") -> str:
    """The text of an article file around a body that is laid out already."""
    subject_line = textwrap.fill(
        f"2007 Schools Wikipedia Selection. Related subjects: {subjects}", 76
    )
    return f"   #copyright\n\n{heading}\n\n{subject_line}\n\n{body}\n{FOOTER.format(name=name)}"


def paragraph(text: str) -> str:
    """Wrapped and indented as the text browser did it."""
    return textwrap.fill(
        text, 74, initial_indent="   ", subsequent_indent="   ", break_on_hyphens=False
    )


VELLIA = page(
    "Vellia",
    f"""\
                Republic of Vellia
   Flag of Vellia
   Capital              Port Oram
   Currency             Oram shell
     - Total            4,210 km²

{
        paragraph(
            "Vellia is an island country in the Grey Sea. Its capital is Port Oram, and its "
            "largest export is tin. The Vellians ( from an old word for wind) have traded with "
            "Sarnt since the age of sail."
        )
    }

History

{
        paragraph(
            "The first boats came from Sarnt. Tin mining began near Port Oram, where Queen "
            "Isaura II built the harbour."
        )
    }
   The harbor of Port Oram at dusk, painted by an unknown hand in the year
   of the great storm.
   Enlarge
   The harbour of Port Oram at dusk, painted by an unknown hand in the
   year of the great storm.

Neighbours

     * Sarnt, across the strait
     * The Grey Sea, on all
       other sides
""",
    name="Vellia",
)

PORT_ORAM = page(
    "Port Oram",
    paragraph(
        "Port Oram is the capital of Vellia. Ships from Sarnt call every week, and tins of fish "
        "are its pride. Isaura II was born here."
    ),
    name="Port_Oram",
)

SARNT = page(
    "Sarnt",
    f"""\
{paragraph("Sarnt is a kingdom on the shore of the Grey Sea. The Sarntish call it the Hearth.")}

Crew

Primary crew

{paragraph("The crew of a Sarntish ship has a cook from Vellia.")}
""",
    name="Sarnt",
)

TIN = page("Tin (metal)", paragraph("Tin is a soft metal. It melts at a low heat."), name="Tin")
SEA = page("Grey Sea", paragraph("The Grey Sea is cold. Vellia and Sarnt lie in it."), name="Sea")
ISAURA = page(
    "Isaura II of Vellia",
    paragraph("Isaura II of Vellia was a queen who loved harbours. She ruled from Port Oram."),
    name="Isaura",
)
ETRANGE = page(
    "Île Étrange",
    paragraph("Île Étrange (Arabic: جزيرة غريبة) is an island that nobody has seen."),
    name="%C3%8Ele",
)
DONATION = "   [1x1.gif] [1x1.gif]\n\nMake a Donation\n\n   Your donation and details:\n"

TEXT_OF = {
    "%C3%8Ele_%C3%89trange": ETRANGE,
    "Donation": DONATION,
    "Grey_Sea": SEA,
    "Isaura_II_of_Vellia": ISAURA,
    "Port_Oram": PORT_ORAM,
    "Sarnt": SARNT,
    "Tin_%28metal%29": TIN,
    "Vellia": VELLIA,
}
LINKS = (
    ("%C3%8Ele_%C3%89trange", "Grey_Sea"),  # stands nowhere in the text
    ("Donation", "Vellia"),
    ("Grey_Sea", "Sarnt"),
    ("Grey_Sea", "Vellia"),
    ("Isaura_II_of_Vellia", "Port_Oram"),
    ("Port_Oram", "Isaura_II_of_Vellia"),
    ("Port_Oram", "Sarnt"),
    ("Port_Oram", "Vellia"),
    ("Sarnt", "Grey_Sea"),
    ("Sarnt", "Vellia"),
    ("Vellia", "Grey_Sea"),
    ("Vellia", "Isaura_II_of_Vellia"),
    ("Vellia", "Port_Oram"),
    ("Vellia", "Sarnt"),
    ("Vellia", "Tin_%28metal%29"),
)


def write_folders(root: Path) -> Path:
    """The unpacked layout: `plaintext_articles/` and `wikispeedia_paths-and-graph/`."""
    graph, texts = root / GRAPH.folder, root / TEXTS.folder
    graph.mkdir(parents=True)
    texts.mkdir()
    for name, text in TEXT_OF.items():
        (texts / f"{name}.txt").write_text(text, encoding="utf-8")
    comment = "# The list of all things.\n# FORMAT:   names\n\n"
    articles = "".join(f"{name}\n" for name in TEXT_OF)
    (graph / "articles.tsv").write_text(comment + articles, encoding="utf-8")
    links = "".join(f"{source}\t{target}\n" for source, target in LINKS)
    (graph / "links.tsv").write_text(comment + links, encoding="utf-8")
    return root


def write_archives(root: Path, suffix: str, stems: tuple[str, str]) -> Path:
    """Archives (texts, graph) called `stems` + `suffix`."""
    folders = write_folders(root.with_name(root.name + "-unpacked"))
    root.mkdir(parents=True)
    for stem, part in zip(stems, (TEXTS, GRAPH), strict=True):
        pack(folders / part.folder, root / (stem + suffix))
    return root


def pack(folder: Path, archive: Path) -> None:
    """Packs a folder under its own name."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(folder.iterdir()):
                file.write(path, f"{folder.name}/{path.name}")
        return
    with tarfile.open(archive, f"w:{archive.suffix[1:]}") as tar:
        tar.add(folder, folder.name)
