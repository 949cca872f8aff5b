#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what `arrowsmith bench objects` compares with, from Debian's packages, and `ip` for its network. Needs root.
# bitsery is in no Debian 12 package and takes no part.
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends g++ iproute2 libboost-serialization-dev libcereal-dev \
    libprotobuf-dev protobuf-compiler libflatbuffers-dev flatbuffers-compiler libcapnp-dev capnproto >/dev/null
