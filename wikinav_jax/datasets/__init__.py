"""Raw public formats to LinkedTextGraph. Never imports jax."""
