// SPDX-License-Identifier: Apache-2.0
// Arrow streams without Flight: each connection is sent one Arrow stream, over TCP or a Unix
// socket.
#include <arrow/compute/initialize.h>
#include <arrow/ipc/writer.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include "data.hpp"
#include "harness.hpp"
#include "socket.hpp"

arrow::Status Send(const Data& data, int socket) {
  SocketOut out(socket);
  ARROW_ASSIGN_OR_RAISE(auto reader, data.Read());
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(&out, data.schema()));
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (!batch) break;
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return out.Close();
}

arrow::Result<int> Listen(const std::string& transport, std::string* uri) {
  if (transport == "unix") {
    // In the abstract space, so that no file is left behind.
    std::string name = "/arrowsmith-bench-" + std::to_string(::getpid());
    ARROW_ASSIGN_OR_RAISE(auto address, unix_address(std::string(1, '\0') + name));
    int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return failed("bind");
    *uri = "unix://" + name;
    return ::listen(listener, 8) == 0 ? arrow::Result<int>(listener) : failed("listen");
  }
  sockaddr_in address = tcp_address(0);
  socklen_t size = sizeof address;
  int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0) return failed("bind");
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) return failed("getsockname");
  *uri = "tcp://" + std::to_string(ntohs(address.sin_port));
  return ::listen(listener, 8) == 0 ? arrow::Result<int>(listener) : failed("listen");
}

arrow::Status Run(const harness::Options& options) {
  ARROW_RETURN_NOT_OK(arrow::compute::Initialize());
  ARROW_ASSIGN_OR_RAISE(auto data, Data::Open(options.data, options.memory, options.batch_rows, options.read_ahead));
  std::string uri;
  ARROW_ASSIGN_OR_RAISE(int listener, Listen(options.transport, &uri));
  std::thread([&data, listener] {
    while (true) {
      int socket = ::accept(listener, nullptr, nullptr);
      if (socket < 0) continue;
      auto status = Send(*data, socket);
      if (!status.ok()) std::cerr << status.ToString() << std::endl;
    }
  }).detach();
  harness::ready(uri);
  harness::wait_for_end();
  std::_Exit(0);
}

int main(int argc, char** argv) { return harness::end(Run(harness::parse(argc, argv))); }
