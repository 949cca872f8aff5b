#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the libraries that `arrowsmith bench objects` compares with, from Debian's packages, and
# `ip` for its network. Needs root. bitsery is not in Debian 12 and takes no part.
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends g++ iproute2 libboost-serialization-dev libcereal-dev \
    libprotobuf-dev protobuf-compiler libflatbuffers-dev flatbuffers-compiler libcapnp-dev capnproto >/dev/null
