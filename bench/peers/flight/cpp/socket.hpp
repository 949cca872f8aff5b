// SPDX-License-Identifier: Apache-2.0
// Streams of Arrow over a plain socket, TCP or Unix.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

inline arrow::Status failed(const char* what) { return arrow::Status::IOError(what, ": ", std::strerror(errno)); }

class SocketOut : public arrow::io::OutputStream {
 public:
  explicit SocketOut(int socket) : socket_(socket) {}
  ~SocketOut() override { (void)Close(); }
  arrow::Status Write(const void* data, int64_t size) override {
    auto bytes = static_cast<const char*>(data);
    for (int64_t done = 0; done < size;) {
      ssize_t sent = ::send(socket_, bytes + done, static_cast<size_t>(size - done), MSG_NOSIGNAL);
      if (sent < 0) return failed("send");
      done += sent;
    }
    written_ += size;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    if (!closed_) ::close(socket_);
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return written_; }

 private:
  int socket_;
  bool closed_ = false;
  int64_t written_ = 0;
};

class SocketIn : public arrow::io::InputStream {
 public:
  explicit SocketIn(int socket) : socket_(socket) {}
  ~SocketIn() override { (void)Close(); }
  arrow::Result<int64_t> Read(int64_t size, void* out) override {
    int64_t done = 0;
    while (done < size) {
      ssize_t got = ::recv(socket_, static_cast<char*>(out) + done, static_cast<size_t>(size - done), MSG_WAITALL);
      if (got < 0) return failed("recv");
      if (got == 0) break;
      done += got;
    }
    read_ += done;
    return done;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer, arrow::AllocateResizableBuffer(size));
    ARROW_ASSIGN_OR_RAISE(int64_t got, Read(size, buffer->mutable_data()));
    if (got < size) ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Status Close() override {
    if (!closed_) ::close(socket_);
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return read_; }

 private:
  int socket_;
  bool closed_ = false;
  int64_t read_ = 0;
};

inline sockaddr_in tcp_address(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

inline arrow::Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return arrow::Status::Invalid("too long: ", path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}
