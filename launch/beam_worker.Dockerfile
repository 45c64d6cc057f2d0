# The container of Beam's workers for launch/build_wiki_beam.sh --image=IMAGE. Python and Beam must
# be of the same versions as on the machine that launches:
#   docker build -f launch/beam_worker.Dockerfile --build-arg PYTHON=3.11 --build-arg BEAM=2.77.0 \
#     -t IMAGE . && docker push IMAGE
ARG PYTHON=3.11
ARG BEAM=2.77.0
FROM apache/beam_python${PYTHON}_sdk:${BEAM}
ARG BEAM
COPY . /opt/wikinav_jax
RUN pip install --no-cache-dir "/opt/wikinav_jax[dataflow]" "apache-beam[gcp]==${BEAM}"
