"""Text to vectors: tokenizers, encoders and feature tables."""
