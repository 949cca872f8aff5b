// SPDX-License-Identifier: Apache-2.0
// Round trips of messages between two network namespaces, as in the paper's Table 5 and Figs. 14 to
// 19.
//
//   net serve raw|udp|tcp reflect|paper|arrowsmith
//       on interface `as0` or on port 7411 of all addresses; until killed
//   net ping raw|udp|tcp reflect BYTES IN_FLIGHT COUNT ADDRESS
//       a round sends IN_FLIGHT messages and gets all of them back
//   net ping udp|tcp objects OPERATIONS 1 COUNT ADDRESS
//       sends the tree of OPERATIONS operations, gets its value back
//
// `ping` prints one line of JSON: the percentiles 0 to 100 of the rounds' times in microseconds,
// and whether all came back right.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "codec.hpp"
#include "expr.hpp"
#include "paper.hpp"

namespace {

constexpr int port = 7411;
constexpr std::uint16_t ethertype = 0x88b5;  // for local experiments
constexpr std::size_t header_bytes = 14;
constexpr std::size_t capacity = 1 << 16;

[[noreturn]] void fail(const char *what) {
    std::perror(what);
    std::exit(1);
}

// The server's action on a message; its answer replaces it.
struct Work {
    std::string kind;
    void *region = std::aligned_alloc(64, capacity);
    paper::Serializer serializer;

    std::size_t answer(std::uint8_t *message, std::size_t bytes) {
        if (kind == "reflect") return bytes;
        int value = 0;
        if (kind == "paper") {
            value = serializer.deserialize(reinterpret_cast<const char *>(message))->evaluate();
            serializer.release();
        } else {
            Node *root = nullptr;
            if (!expr::read(message, bytes, {region, capacity}, root).ok()) fail("a message is not good");
            value = root->evaluate();
        }
        std::memcpy(message, &value, sizeof value);
        return sizeof value;
    }
};

int raw_socket(sockaddr_ll &address) {
    const int fd = socket(AF_PACKET, SOCK_RAW, htons(ethertype));
    if (fd < 0) fail("socket");
    address = {};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ethertype);
    address.sll_ifindex = static_cast<int>(if_nametoindex("as0"));
    if (bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) fail("bind");
    return fd;
}

void serve_raw(Work &work) {
    sockaddr_ll address;
    const int fd = raw_socket(address);
    std::uint8_t frame[2048];
    for (;;) {
        const ssize_t got = recv(fd, frame, sizeof frame, 0);
        if (got < static_cast<ssize_t>(header_bytes)) continue;
        for (int i = 0; i < 6; i++) std::swap(frame[i], frame[6 + i]);
        const std::size_t bytes = work.answer(frame + header_bytes, static_cast<std::size_t>(got) - header_bytes);
        if (send(fd, frame, header_bytes + bytes, 0) < 0) fail("send");
    }
}

sockaddr_in inet(const char *text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1) fail("address");
    return address;
}

void serve_udp(Work &work) {
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in here = inet("0.0.0.0");
    if (bind(fd, reinterpret_cast<sockaddr *>(&here), sizeof here) != 0) fail("bind");
    std::vector<std::uint8_t> message(capacity);
    for (;;) {
        sockaddr_in from{};
        socklen_t length = sizeof from;
        const ssize_t got = recvfrom(fd, message.data(), message.size(), 0, reinterpret_cast<sockaddr *>(&from), &length);
        if (got < 0) fail("recvfrom");
        const std::size_t bytes = work.answer(message.data(), static_cast<std::size_t>(got));
        if (sendto(fd, message.data(), bytes, 0, reinterpret_cast<sockaddr *>(&from), length) < 0) fail("sendto");
    }
}

void send_all(int fd, const std::uint8_t *data, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);
        if (sent <= 0) fail("send");
        data += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
}

bool receive_all(int fd, std::uint8_t *data, std::size_t bytes) {
    while (bytes > 0) {
        const ssize_t got = recv(fd, data, bytes, 0);
        if (got <= 0) return false;
        data += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

// A message over TCP is preceded by its length: 4 bytes.
void send_message(int fd, std::vector<std::uint8_t> &buffer, const std::uint8_t *data, std::size_t bytes) {
    buffer.resize(4 + bytes);
    const auto length = static_cast<std::uint32_t>(bytes);
    std::memcpy(buffer.data(), &length, 4);
    std::memcpy(buffer.data() + 4, data, bytes);
    send_all(fd, buffer.data(), buffer.size());
}

ssize_t receive_message(int fd, std::uint8_t *data, std::size_t room) {
    std::uint32_t length = 0;
    if (!receive_all(fd, reinterpret_cast<std::uint8_t *>(&length), 4) || length > room) return -1;
    return receive_all(fd, data, length) ? static_cast<ssize_t>(length) : -1;
}

void no_delay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void serve_tcp(Work &work) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in here = inet("0.0.0.0");
    if (bind(fd, reinterpret_cast<sockaddr *>(&here), sizeof here) != 0 || listen(fd, 4) != 0) fail("listen");
    std::vector<std::uint8_t> message(capacity), buffer;
    for (;;) {
        const int peer = accept(fd, nullptr, nullptr);
        if (peer < 0) fail("accept");
        no_delay(peer);
        for (;;) {
            const ssize_t got = receive_message(peer, message.data(), message.size());
            if (got < 0) break;
            const std::size_t bytes = work.answer(message.data(), static_cast<std::size_t>(got));
            send_message(peer, buffer, message.data(), bytes);
        }
        close(peer);
    }
}

// One side of a conversation: sends messages, receives answers.
struct Line {
    std::string kind;
    int fd = -1;
    sockaddr_ll link{};
    std::vector<std::uint8_t> buffer;

    Line(const std::string &kind, const char *address) : kind(kind) {
        if (kind == "raw") {
            fd = raw_socket(link);
            buffer.assign(header_bytes, 0xff);
            // Broadcast on the link, which has only one other end.
            ifreq request{};
            std::strcpy(request.ifr_name, "as0");
            if (ioctl(fd, SIOCGIFHWADDR, &request) != 0) fail("ioctl");
            std::memcpy(buffer.data() + 6, request.ifr_hwaddr.sa_data, 6);
            const std::uint16_t type = htons(ethertype);
            std::memcpy(buffer.data() + 12, &type, 2);
        } else {
            fd = socket(AF_INET, kind == "udp" ? SOCK_DGRAM : SOCK_STREAM, 0);
            const sockaddr_in to = inet(address);
            if (connect(fd, reinterpret_cast<const sockaddr *>(&to), sizeof to) != 0) fail("connect");
            if (kind == "tcp") no_delay(fd);
        }
        const timeval patience{2, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }

    void put(const std::vector<std::uint8_t> &message) {
        if (kind == "raw") {
            buffer.resize(header_bytes);
            buffer.insert(buffer.end(), message.begin(), message.end());
            if (send(fd, buffer.data(), buffer.size(), 0) < 0) fail("send");
        } else if (kind == "udp") {
            if (send(fd, message.data(), message.size(), 0) < 0) fail("send");
        } else {
            send_message(fd, buffer, message.data(), message.size());
        }
    }

    ssize_t get(std::uint8_t *data, std::size_t room) {
        if (kind == "tcp") return receive_message(fd, data, room);
        ssize_t got = recv(fd, data, room, 0);
        if (kind != "raw" || got < 0) return got;
        got -= header_bytes;
        std::memmove(data, data + header_bytes, static_cast<std::size_t>(got));
        return got;
    }
};

int ping(char **argv) {
    const std::string what = argv[3];
    const int size = std::atoi(argv[4]), in_flight = std::atoi(argv[5]), count = std::atoi(argv[6]);
    Line line(argv[2], argv[7]);
    std::vector<std::uint8_t> message, answer(capacity);
    int value = 0;
    if (what == "objects") {
        message = bench::message(size);
        value = bench::expected(size);
    } else {
        for (int i = 0; i < size; i++) message.push_back(static_cast<std::uint8_t>(i * 13 + 1));
    }
    std::vector<double> us;
    bool right = true;
    for (int round = -count / 10; round < count && right; round++) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < in_flight; i++) line.put(message);
        for (int i = 0; i < in_flight; i++) {
            const ssize_t got = line.get(answer.data(), answer.size());
            if (what == "objects") {
                right &= got >= 4 && std::memcmp(answer.data(), &value, 4) == 0;
            } else {
                right &= got >= size && std::memcmp(answer.data(), message.data(), message.size()) == 0;
            }
        }
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        if (round >= 0) us.push_back(took.count());
    }
    std::sort(us.begin(), us.end());
    std::printf("{\"valid\":%s,\"percentiles_us\":[", right ? "true" : "false");
    for (int p = 0; p <= 100 && !us.empty(); p++) {
        std::printf("%s%.2f", p ? "," : "", us[std::min(us.size() - 1, us.size() * static_cast<std::size_t>(p) / 100)]);
    }
    std::printf("]}\n");
    return right ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    const std::string mode = argc > 2 ? argv[2] : "";
    if (argc == 4 && std::string(argv[1]) == "serve") {
        Work work;
        work.kind = argv[3];
        if (mode == "raw") serve_raw(work);
        if (mode == "udp") serve_udp(work);
        if (mode == "tcp") serve_tcp(work);
    }
    if (argc == 8 && std::string(argv[1]) == "ping") return ping(argv);
    std::fprintf(stderr, "usage: net serve|ping …, see the source\n");
    return 2;
}
