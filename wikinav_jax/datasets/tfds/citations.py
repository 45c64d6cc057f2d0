"""Who to cite for the knowledge graphs."""

from __future__ import annotations

_KEMP = """\
@inproceedings{kemp2006learning,
  title={Learning Systems of Concepts with an Infinite Relational Model},
  author={Kemp, Charles and Tenenbaum, Joshua B. and Griffiths, Thomas L. and Yamada, Takeshi
    and Ueda, Naonori},
  booktitle={Proceedings of the 21st National Conference on Artificial Intelligence},
  pages={381--388},
  year={2006}
}"""
_CODEX = """\
@inproceedings{safavi2020codex,
  title={{CoDEx}: A Comprehensive Knowledge Graph Completion Benchmark},
  author={Safavi, Tara and Koutra, Danai},
  booktitle={Proceedings of the 2020 Conference on Empirical Methods in Natural Language
    Processing},
  pages={8328--8350},
  year={2020}
}"""

# BibTeX, by the names of `knowledge_graphs.SOURCES`.
CITATIONS = {
    "fb15k237": """\
@inproceedings{toutanova2015observed,
  title={Observed Versus Latent Features for Knowledge Base and Text Inference},
  author={Toutanova, Kristina and Chen, Danqi},
  booktitle={Proceedings of the 3rd Workshop on Continuous Vector Space Models and their
    Compositionality},
  pages={57--66},
  year={2015}
}""",
    "wn18rr": """\
@inproceedings{dettmers2018convolutional,
  title={Convolutional 2D Knowledge Graph Embeddings},
  author={Dettmers, Tim and Minervini, Pasquale and Stenetorp, Pontus and Riedel, Sebastian},
  booktitle={Proceedings of the 32nd AAAI Conference on Artificial Intelligence},
  pages={1811--1818},
  year={2018}
}""",
    "codex_s": _CODEX,
    "codex_m": _CODEX,
    "nations": _KEMP,
    "umls": _KEMP,
    "kinship": _KEMP,
    "countries": """\
@inproceedings{bouchard2015approximate,
  title={On Approximate Reasoning Capabilities of Low-Rank Vector Spaces},
  author={Bouchard, Guillaume and Singh, Sameer and Trouillon, Th{\\'e}o},
  booktitle={AAAI Spring Symposium on Knowledge Representation and Reasoning},
  year={2015}
}""",
    "hetionet": """\
@article{himmelstein2017systematic,
  title={Systematic Integration of Biomedical Knowledge Prioritizes Drugs for Repurposing},
  author={Himmelstein, Daniel Scott and Lizee, Antoine and Hessler, Christine and Brueggeman,
    Leo and Chen, Sabrina L. and Hadley, Dexter and Green, Ari and Khankhanian, Pouya and
    Baranzini, Sergio E.},
  journal={eLife},
  volume={6},
  pages={e26726},
  year={2017}
}""",
}
