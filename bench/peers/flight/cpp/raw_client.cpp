// SPDX-License-Identifier: Apache-2.0
// Reads an Arrow stream from a socket (`tcp://PORT`, `unix:///NAME`), or maps the Arrow files of a
// folder (`file://…`).
#include <arrow/ipc/reader.h>
#include <arrow/table.h>

#include <string>

#include "data.hpp"
#include "harness.hpp"
#include "socket.hpp"

arrow::Result<int> Connect(const std::string& uri) {
  if (uri.rfind("unix://", 0) == 0) {
    ARROW_ASSIGN_OR_RAISE(auto address, unix_address(std::string(1, '\0') + uri.substr(7)));
    int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return failed("connect");
    return socket;
  }
  sockaddr_in address = tcp_address(static_cast<uint16_t>(std::stoi(uri.substr(6))));
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return failed("connect");
  return socket;
}

arrow::Result<std::shared_ptr<arrow::Table>> Get(const std::string& uri) {
  if (uri.rfind("file://", 0) == 0) {
    ARROW_ASSIGN_OR_RAISE(auto data, Data::Open(uri.substr(7), true, 0, 0));
    ARROW_ASSIGN_OR_RAISE(auto reader, data->Read());
    return reader->ToTable();
  }
  ARROW_ASSIGN_OR_RAISE(int socket, Connect(uri));
  auto in = std::make_shared<SocketIn>(socket);
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchStreamReader::Open(in));
  ARROW_ASSIGN_OR_RAISE(auto table, reader->ToTable());
  ARROW_RETURN_NOT_OK(in->Close());
  return table;
}

int main() { return harness::end(harness::serve_commands(Get)); }
